"""What these pages need beside the extensions that others maintain."""
