"""The token of a service: read from a file or the environment, and never shown."""

import os
from pathlib import Path

from driftpeak._core.errors import DriftpeakError
from driftpeak._core.files import open_regular

VARIABLE = "DRIFTPEAK_TOKEN"
SHORTEST, LONGEST = 16, 1_000
MAKE = "make one with `openssl rand -hex 32`"


def read_token(path: Path | None) -> str | None:
    """The token in a file, or else in the environment; None if there is none.

    Raises:
        DriftpeakError: a file that cannot be read, or a token that is too short or cannot stand in
            a header. The token is in no message.
    """
    if path is None:
        found, where = os.environ.get(VARIABLE), f"${VARIABLE}"
    else:
        where = f"token file {path}"
        try:
            with open_regular(path) as file:
                found = file.read(LONGEST + 100).decode("ascii")
        except OSError as error:
            raise DriftpeakError(f"{where} cannot be read: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise DriftpeakError(f"{where} holds more than ASCII characters: {MAKE}") from None
    if found is None:
        return None
    found = found.strip()
    if not SHORTEST <= len(found) <= LONGEST:
        raise DriftpeakError(
            f"{where} must hold a token of {SHORTEST} to {LONGEST} characters, and holds "
            f"{len(found)}: {MAKE}"
        )
    if not found.isascii() or not found.isprintable() or " " in found:
        raise DriftpeakError(f"{where} must hold printable ASCII characters without blanks: {MAKE}")
    return found
