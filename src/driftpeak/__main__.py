"""`python -m driftpeak` is the command line."""

from driftpeak.cli.app import main

main()
