"""Studies: events, state and storage."""
