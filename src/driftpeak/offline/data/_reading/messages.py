"""Parts of messages: quoted names and shortened lists."""

from collections.abc import Sequence


def quoted(text: str) -> str:
    """Return the text in quotes, on one line and shortened."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def listed(texts: Sequence[str], most: int = 5) -> str:
    """Return the first few texts, separated by commas."""
    return ", ".join(texts[:most]) + (", ..." if len(texts) > most else "")
