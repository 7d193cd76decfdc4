"""The token of a service, which is read from a file or the environment and never displayed."""

import os
from pathlib import Path

from driftpeak._core.errors import DriftpeakError
from driftpeak._core.files import open_regular

VARIABLE = "DRIFTPEAK_TOKEN"
SHORTEST, LONGEST = 16, 1_000
MAKE = "make one with `openssl rand -hex 32`"


def read_token(path: Path | None) -> str | None:
    """Return the token from a file, or else from the environment; None if there is none.

    Raises:
        DriftpeakError: the file cannot be read, or the token is too short or contains characters
            that a header cannot have. No message contains the token.
    """
    if path is None:
        token, where = os.environ.get(VARIABLE), f"${VARIABLE}"
    else:
        where = f"token file {path}"
        try:
            with open_regular(path) as file:
                token = file.read(LONGEST + 100).decode("ascii")
        except OSError as error:
            raise DriftpeakError(f"{where} cannot be read: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise DriftpeakError(f"{where} must contain ASCII characters only: {MAKE}") from None
    if token is None:
        return None
    token = token.strip()
    if not SHORTEST <= len(token) <= LONGEST:
        raise DriftpeakError(
            f"{where} must contain a token of {SHORTEST} to {LONGEST} characters; got "
            f"{len(token)} characters: {MAKE}"
        )
    if not token.isascii() or not token.isprintable() or " " in token:
        raise DriftpeakError(
            f"{where} must contain printable ASCII characters without blanks: {MAKE}"
        )
    return token
