"""Tournament of all policies in all environments."""
