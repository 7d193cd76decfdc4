"""Display of database addresses without passwords."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus, unquote

from driftpeak.live._study.storage.store import in_line

if TYPE_CHECKING:
    import sqlalchemy as sa

HIDDEN = "***"


class Secrets:
    """The secret parts of an address, which must not be displayed."""

    def __init__(self, url: "sa.URL") -> None:
        values = [url.password, *_texts(url.query)]
        written = {
            form
            for value in values
            if value
            for form in (str(value), quote(str(value)), quote_plus(str(value)), unquote(str(value)))
        }
        self._written = sorted(written, key=len, reverse=True)

    def hidden(self, text: str) -> str:
        """Return the text with secrets replaced by `***`."""
        for secret in self._written:
            text = text.replace(secret, HIDDEN)
        return text


def shown(url: "sa.URL") -> str:
    """Return an address without user, password and options."""
    host = url.host or ""
    port = "" if url.port is None else f":{url.port}"
    return in_line(f"{url.get_backend_name()}://{host}{port}/{url.database or ''}")


def looks_like_address(text: str) -> bool:
    """Return whether a path may be the misspelt address of a database, with a password."""
    scheme = re.match(
        r"\s*[a-z][a-z0-9+.-]+:/|\s*(postgres|mysql|maria|sqlite|oracle|mssql)\w*[:/+]/", text, re.I
    )
    return scheme is not None or re.search(r":[^/]*@", text) is not None


def _texts(query: object) -> Iterator[str]:
    for value in getattr(query, "values", tuple)():
        yield from (value,) if isinstance(value, str) else value
