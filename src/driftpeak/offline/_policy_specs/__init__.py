"""Construction of policies, widths and environments from names, as on the command line."""
