"""A study: its events, its state, its storage."""
