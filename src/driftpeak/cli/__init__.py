"""The command line: thin; parses, calls, prints."""
