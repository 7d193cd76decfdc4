"""Valid names of studies: they are safe in an address, a file name and a page."""

import re

NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"
WORDS = "1 to 100 letters, digits, '.', '_' and '-' (ASCII), the first a letter or a digit"


def is_name(text: str) -> bool:
    """Return whether a study of this name can be served."""
    return re.fullmatch(NAME, text) is not None and not text.endswith("\n")
