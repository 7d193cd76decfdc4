"""A study in a file to which lines are added: first its description, then one line per event.

Every line is a JSON object that ends with a checksum of itself and of all lines before it. Beside
the file lie FILE.lock, empty, and FILE.snapshot, which may be deleted.
"""

import errno
import json
import os
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

from driftpeak.errors import DriftpeakError, DriftpeakWarning
from driftpeak.live.storage.store import Position, Store

POLL = 0.002  # seconds between two attempts to get the lock
BEGIN = b'{"study":'
TAIL = len(b',"check":"01234567"}')


class Journal(Store):
    """A study in an append-only file. A position is (events, bytes, checksum)."""

    def __init__(self, path: Path, name: str | None, timeout: float) -> None:
        self.path, self.name, self.timeout = path, name, timeout
        self.where = f"journal {path}"
        self._lock = FileLock(f"{path}.lock", timeout=timeout, poll_interval=POLL)

    @contextmanager
    def locked(self) -> Iterator[None]:
        try:
            if not self.path.parent.is_dir():  # the lock would make it
                raise FileNotFoundError(errno.ENOENT, "there is no such folder")
            self._lock.acquire()
        except Timeout:
            raise DriftpeakError(
                f"{self.where} is locked: another process has held it for {self.timeout:g} s"
            ) from None
        except OSError as error:
            raise self._failed("cannot be locked", error) from None
        try:
            yield
        finally:
            self._lock.release()

    def describe(self) -> dict[str, Any] | None:
        if not self.path.exists():
            return None  # and no lock file is left behind
        with self.locked():
            found = self._first_line()
        if found is None:
            return None
        description: dict[str, Any] = found[0]["study"]
        stored = description["name"]
        if self.name not in (None, stored):
            raise DriftpeakError(
                f"{self.where} holds study {stored!r}, not {self.name!r}; a journal holds one "
                "study: give another file, or an sqlite:/// storage"
            )
        self.name = stored
        return description

    def create(self, description: dict[str, Any]) -> None:
        self.name = description["name"]
        line, _ = _write_line({"study": description}, 0)
        self._write(0, line)
        _sync_folder(self.path.parent)

    def start(self) -> Position:
        found = self._first_line()
        if found is None:
            raise DriftpeakError(f"{self.where} has lost its study: something else has changed it")
        return found[1]

    def read(self, position: Position) -> Iterator[tuple[Position, dict[str, Any]]]:
        count, offset, check = position
        try:
            with self.path.open("rb") as file:
                if file.seek(0, os.SEEK_END) < offset:
                    raise self._corrupt(count, offset, "it has become shorter")
                file.seek(offset)
                for line in file:
                    found = _read_line(line, check)
                    if found is None and not line.endswith(b"\n"):
                        self._drop_torn(offset, len(line))
                        return
                    if found is None:
                        raise self._corrupt(count + 1, offset, "its checksum is wrong")
                    event, check = found
                    count, offset = count + 1, offset + len(line)
                    yield (count, offset, check), event
        except OSError as error:
            raise self._failed("cannot be read", error) from None

    def append(self, position: Position, events: list[dict[str, Any]]) -> Position:
        count, offset, check = position
        lines = []
        for event in events:
            line, check = _write_line(event, check)
            lines.append(line)
        block = b"".join(lines)
        self._write(offset, block)
        return count + len(events), offset + len(block), check

    def holds(self, position: Position) -> bool:
        _, offset, check = position
        with self.path.open("rb") as file:
            if file.seek(0, os.SEEK_END) < offset:
                return False
            file.seek(max(offset - TAIL - 1, 0))
            return file.read(TAIL + 1) == _tail(check) + b"\n"

    def snapshot(self) -> bytes | None:
        try:
            return self._beside(".snapshot").read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._failed("cannot be read", error) from None

    def keep(self, snapshot: bytes) -> None:
        fresh = self._beside(f".snapshot.{os.getpid()}")
        try:
            with fresh.open("wb") as file:
                file.write(snapshot)
                _sync(file)
            fresh.replace(self._beside(".snapshot"))
        except OSError as error:
            fresh.unlink(missing_ok=True)
            raise self._failed("cannot be written", error) from None

    def _beside(self, ending: str) -> Path:
        return self.path.with_name(self.path.name + ending)

    def _first_line(self) -> tuple[dict[str, Any], Position] | None:
        """The description and the position behind it; None where there is none yet."""
        if self.path.exists() and not self.path.is_file():
            raise self._foreign()  # a folder, or a device without an end
        try:
            with self.path.open("rb") as file:
                line = file.readline()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._failed("cannot be read", error) from None
        found = _read_line(line, 0)
        if found is not None and "study" in found[0]:
            return found[0], (0, len(line), found[1])
        if not line.endswith(b"\n") and (line.startswith(BEGIN) or BEGIN.startswith(line)):
            if line:
                self._drop_torn(0, len(line))
            return None  # whoever began it did not come to the end
        if line.startswith(BEGIN):
            raise self._corrupt(0, 0, "its checksum is wrong")
        raise self._foreign()

    def _drop_torn(self, offset: int, length: int) -> None:
        """Drop a last line that was never finished, and so never acknowledged to anybody."""
        warnings.warn(
            f"{self.where} ended in an unfinished line, written when a program was stopped: its "
            f"{length} bytes from byte {offset} were dropped; nothing that was confirmed is lost",
            DriftpeakWarning,
            stacklevel=2,
        )
        with self.path.open("r+b") as file:
            file.truncate(offset)
            _sync(file)

    def _write(self, offset: int, block: bytes) -> None:
        """Write behind `offset`, the end of the file, all or nothing."""
        try:
            with open(
                os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666), "r+b", buffering=0
            ) as file:
                file.seek(offset)
                try:
                    written = 0
                    while written < len(block):
                        written += file.write(block[written:])
                    _sync(file)
                except BaseException:
                    file.truncate(offset)
                    raise
        except OSError as error:
            raise self._failed("cannot be written, and nothing has changed", error) from None

    def _foreign(self) -> DriftpeakError:
        return DriftpeakError(f"{self.path} is no journal of driftpeak: give another file")

    def _corrupt(self, count: int, offset: int, why: str) -> DriftpeakError:
        return DriftpeakError(
            f"{self.where} is corrupt at event {count}, byte {offset}: {why}. Nothing was changed; "
            "restore the file from a copy"
        )

    def _failed(self, what: str, error: OSError) -> DriftpeakError:
        reason = error.strerror or str(error)
        if error.errno == errno.ENOENT:
            reason = (
                f"there is no folder {self.path.parent.absolute()} (an absolute path follows "
                "journal:// and two slashes, journal:////var/lib/study, as for sqlite)"
            )
        return DriftpeakError(f"{self.where} {what}: {reason}")


def _tail(check: int) -> bytes:
    return b',"check":"%08x"}' % check


def _write_line(content: dict[str, Any], check: int) -> tuple[bytes, int]:
    """One line, and the checksum up to and with it."""
    body = json.dumps(content, separators=(",", ":")).encode()[:-1]
    check = zlib.crc32(body, check)
    return body + _tail(check) + b"\n", check


def _read_line(line: bytes, check: int) -> tuple[dict[str, Any], int] | None:
    """What `_write_line` wrote; None if it is anything else."""
    if not line.endswith(b"\n"):
        return None
    body = line[: -TAIL - 1]
    check = zlib.crc32(body, check)
    if line[-TAIL - 1 : -1] != _tail(check):
        return None
    content: dict[str, Any] = json.loads(body + b"}")
    return content, check


def _sync(file: BinaryIO | Any) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """A new file is safe only when its folder is; Windows cannot, and need not."""
    if os.name == "posix":
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
