"""Files that are whole or not there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from driftpeak.errors import DriftpeakError


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Another name beside `path` to write to; the file takes its own when the block ends well.

    Raises:
        DriftpeakError: writing failed; nothing is left behind, and what was there stays.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(path)
    except OSError as error:
        raise DriftpeakError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
