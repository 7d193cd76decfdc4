"""The command line, a thin layer that parses options, calls the library and prints results."""
