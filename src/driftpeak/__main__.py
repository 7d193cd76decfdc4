"""The command line, as `python -m driftpeak`."""

from driftpeak.cli.app import main

main()
