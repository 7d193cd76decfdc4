"""The command line, as `driftpeak` and as `python -m driftpeak`."""

import sys

from driftpeak._core.extras import EXTRAS


def main() -> None:
    """Run the command line; without its packages, print how to install them."""
    try:
        from driftpeak.cli.app import main as run
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        sys.exit(f"driftpeak: {error}")
    run()


if __name__ == "__main__":
    main()
