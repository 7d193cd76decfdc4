"""`python -m driftpeak` is the command line."""

from driftpeak.cli import main

main()
