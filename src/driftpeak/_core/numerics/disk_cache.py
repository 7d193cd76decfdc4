"""What is always the same but slow to come by: kept in a folder, if a program names one.

The command line does, since every call of it is a process of its own. Nothing is kept otherwise.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

_folder: Path | None = None
_CHECKSUM = 32  # bytes before the content


def keep_in(folder: Path | None) -> None:
    """Keep things in this folder from now on; None: keep nothing."""
    global _folder
    _folder = folder


def folder() -> Path | None:
    """Where things are kept; None: nowhere."""
    return _folder


def is_on() -> bool:
    """Whether anything is kept."""
    return _folder is not None


def read(name: str) -> bytes | None:
    """What is kept under a name that says all it depends on; None if it is not there whole."""
    if _folder is not None:
        with suppress(OSError):
            whole = (_folder / name).read_bytes()
            content = whole[_CHECKSUM:]
            if whole[:_CHECKSUM] == hashlib.sha256(content).digest():
                return content
    return None


def write(name: str, content: bytes) -> None:
    """Keep it, as a whole or not at all."""
    if _folder is not None:
        part = _folder / f"{name}.{os.getpid()}.part"
        with suppress(OSError):
            part.write_bytes(hashlib.sha256(content).digest() + content)
            part.replace(_folder / name)
