"""Parts of messages: names in quotes, lists that stay short."""

from collections.abc import Sequence


def quoted(text: str) -> str:
    """The text in quotes, on one line and not too long."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def listed(texts: Sequence[str], most: int = 5) -> str:
    """The first few, separated by commas."""
    return ", ".join(texts[:most]) + (", ..." if len(texts) > most else "")
