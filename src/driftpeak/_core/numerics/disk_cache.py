"""A cache on disk for reproducible results that are slow to compute, if a folder is set.

The command line sets a folder, because each command is a process of its own. By default there is
no cache.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

_folder: Path | None = None
_CHECKSUM = 32  # bytes before the content


def keep_in(folder: Path | None) -> None:
    """Use this folder as the cache from now on; None switches the cache off."""
    global _folder
    _folder = folder


def folder() -> Path | None:
    """Return the cache folder; None if the cache is off."""
    return _folder


def is_on() -> bool:
    """Return whether the cache is on."""
    return _folder is not None


def read(name: str) -> bytes | None:
    """Return the entry of this name; None if it is missing or damaged.

    Arguments:
        name: must identify everything that the content depends on.
    """
    if _folder is not None:
        with suppress(OSError):
            whole = (_folder / name).read_bytes()
            content = whole[_CHECKSUM:]
            if whole[:_CHECKSUM] == hashlib.sha256(content).digest():
                return content
    return None


def write(name: str, content: bytes) -> None:
    """Store an entry atomically; failures are ignored."""
    if _folder is not None:
        part = _folder / f"{name}.{os.getpid()}.part"
        with suppress(OSError):
            part.write_bytes(hashlib.sha256(content).digest() + content)
            part.replace(_folder / name)
