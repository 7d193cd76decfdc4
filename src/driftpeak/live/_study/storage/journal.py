"""A study in an append-only file.

Each line is a JSON object. The first line is the study's description, the second its head, and the
others are events. Each line except the head ends with a checksum of itself and of all earlier
lines, without the head. The head has a fixed length and is overwritten after each change. It holds
the study's id, the number of confirmed events, the checksum of the last event, and its own
checksum. A truncated file is therefore detected, even if it was cut between two lines.

The lock is on the file itself. FILE.snapshot is a cache and may be deleted. If an unfinished last
line was cut off, it is kept in FILE.cut-BYTE.
"""

import errno
import json
import os
import re
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from driftpeak._core.errors import (
    DriftpeakError,
    StorageCorruptError,
    StorageError,
    warn,
)
from driftpeak._core.files import open_regular, read_regular
from driftpeak.live._study.storage.locks import lock, unlock
from driftpeak.live._study.storage.store import News, Position, Store, in_line

BEGIN = b'{"study":{"format":'
TAIL = len(b',"check":"01234567"}')
ENDING = re.compile(rb',"check":"[0-9a-f]{8}"}$')
HEAD = len(b'{"id":"","events":"","last":""') + 16 + 12 + 8 + TAIL + 1
BLOCK = 2**20


class Head(NamedTuple):
    """The second line: the study's id, the number of events, and the checksum of the last one."""

    id: str
    events: int
    last: int

    def line(self) -> bytes:
        body = b'{"id":"%s","events":"%012d","last":"%08x"' % (
            self.id.encode(),
            self.events,
            self.last,
        )
        return body + _tail(zlib.crc32(body)) + b"\n"

    @staticmethod
    def of(line: bytes) -> "Head | None":
        """Return the head that `line` wrote, or None if it is damaged."""
        if _tail(zlib.crc32(line[: -TAIL - 1])) + b"\n" != line[-TAIL - 1 :]:
            return None
        try:
            fields = json.loads(line)
            return Head(fields["id"], int(fields["events"]), int(fields["last"], 16))
        except (ValueError, LookupError, TypeError):
            return None


class Journal(Store):
    """A study in an append-only file. A position is (events, bytes, checksum)."""

    def __init__(self, path: Path, name: str | None, timeout: float) -> None:
        self.path, self.name, self.timeout = path, name, timeout
        self.where = f"journal {in_line(str(path))}"
        self._locked_file: BinaryIO | None = None  # the file, while it is locked
        self._id: str | None = None  # the study's id, after `describe` or `create`
        self._warned = False  # whether a warning of an unfinished line was given

    @contextmanager
    def locked(self) -> Iterator[None]:
        with self._opened(write=True) as file:
            self._locked_file = file
            try:
                yield
            finally:
                self._locked_file = None

    def describe(self) -> dict[str, Any] | None:
        try:
            with self._opened() as file:
                line = _first_line(file)
                file.seek(len(line))
                head = file.read(HEAD)
        except _GoneError:
            if self._id is not None:
                raise
            return None
        if not line:
            return None  # an empty file can become a journal
        first = _read_line(line, 0)
        if first is None and line.startswith(BEGIN):
            raise self._corrupt(0, 0, "the checksum of its description is wrong")
        if first is None or not _is_description(first[0].get("study")):
            raise StorageError(
                f"{in_line(str(self.path))} must be a journal of driftpeak; got another file. It "
                "was not changed. Give another path"
            )
        description: dict[str, Any] = first[0]["study"]
        stored = description.get("name")
        if self.name not in (None, stored):
            raise DriftpeakError(
                f"name must be {stored!r}, the only study of {self.where}; got {self.name!r}. Give "
                "another file, or an sqlite:/// storage for several studies"
            )
        if self._id not in (None, description.get("id")):
            raise self._another()
        self.name, self._id = stored, description.get("id")
        self._start = 0, len(line) + HEAD, first[1]
        self._begin = len(line)
        if len(head) < HEAD:
            raise self._corrupt(0, len(line), "its head is missing")
        if Head.of(head) is None:
            warn(
                f"the head of {self.where} is damaged, so that missing events at the end cannot be "
                "detected. The next change repairs the head"
            )
        return description

    def create(self, description: dict[str, Any]) -> bool:
        first, check = _write_line({"study": description}, 0)
        head = Head(description["id"], 0, check).line()
        made = self._make()
        try:
            with self._opened(write=True) as file:
                if file.seek(0, os.SEEK_END):
                    return False
                try:
                    self._put(file, 0, first + head, 0)
                    self._sync_folder()
                except StorageError:
                    file.truncate(0)
                    if made:  # leave no empty file
                        self.path.unlink(missing_ok=True)
                    raise
        except _NoLocksError:
            if made:  # no other process can have written without a lock
                self.path.unlink(missing_ok=True)
            raise
        self.name, self._id = description["name"], description["id"]
        self._start, self._begin = (0, len(first) + HEAD, check), len(first)
        return True

    def _make(self) -> bool:
        """Create an empty file if there is none."""
        try:
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except FileExistsError:
            return False
        except (OSError, ValueError) as error:
            raise self._failed("cannot be created", error) from None
        return True

    def read(self, position: Position) -> News:
        with self._opened() as file:
            block, head = self._after(file, position)
        lines, rest = _split(block)
        if rest and not self._warned:
            self._warned = True
            warn(
                f"{self.where} ends in an unfinished line of {len(rest)} bytes, as after a crash. "
                "It contains no confirmed event. The next change moves it to another file"
            )
        return News(len(lines), self._checked(lines, position, head))

    def _after(self, file: BinaryIO, position: Position) -> tuple[bytes, Head | None]:
        """Return the bytes after a position, which is checked, and the head."""
        count, offset, check = position
        file.seek(self._begin)
        head = Head.of(file.read(HEAD))
        if head is not None and head.id != self._id:
            raise self._another()
        size = file.seek(0, os.SEEK_END)
        # the last newline may be damaged or missing; the next change writes it
        if size < offset - 1:
            raise self._shorter(count, "fewer")
        if count:
            file.seek(offset - TAIL - 1)
            if file.read(TAIL) != _tail(check):
                raise self._changed(count, offset)
        file.seek(offset)
        return file.read(), head

    def _checked(
        self, lines: list[bytes], position: Position, head: Head | None
    ) -> Iterator[tuple[Position, dict[str, Any]]]:
        count, offset, check = position
        for line in lines:
            parsed = _read_line(line, _through(check))
            if parsed is None:
                raise self._corrupt(count + 1, offset, "its checksum is wrong")
            event, check = parsed
            count, offset = count + 1, offset + len(line)
            yield (count, offset, check), event
        if head is not None and head.events > count:
            raise self._shorter(head.events, count)
        if head is not None and head.events == count and head.last != check:
            raise self._corrupt(count, offset, "it differs from the confirmed event")

    def append(self, position: Position, events: list[dict[str, Any]]) -> Position | None:
        count, offset, check = position
        lines = []
        for event in events:
            line, check = _write_line(event, _through(check))
            lines.append(line)
        block = b"".join(lines)
        with self._opened(write=True) as file:
            after, head = self._after(file, position)
            complete, rest = _split(after)
            if complete:
                return None
            if head is not None and head.events > count:
                raise self._shorter(head.events, count)
            if rest:
                self._cut(file, offset, rest)
            self._put(file, offset, block, offset)
            self._note(file, Head(str(self._id), count + len(events), check))
        return count + len(events), offset + len(block), check

    def _cut(self, file: BinaryIO, offset: int, rest: bytes) -> None:
        """Move an unfinished and therefore unconfirmed last line to another file."""
        saved = self._beside(f".cut-{offset}")
        try:
            saved.write_bytes(rest)
            file.truncate(offset)
        except OSError as error:
            raise self._failed("cannot be repaired, and is unchanged", error) from None
        warn(
            f"{self.where} ended in an unfinished line. Its {len(rest)} bytes from byte {offset} "
            f"were moved to {in_line(str(saved))}. No confirmed event is lost"
        )

    def _put(self, file: BinaryIO, offset: int, block: bytes, end: int) -> None:
        """Write at `offset` after a newline; on an error, truncate the file to `end`."""
        try:
            try:
                start = max(offset - 1, 0)
                file.seek(start)
                _write_all(file, b"\n" * (offset - start) + block)
                _sync(file)
            except BaseException:
                file.truncate(end)
                raise
        except OSError as error:
            raise self._failed("cannot be written, and is unchanged", error) from None

    def _note(self, file: BinaryIO, head: Head) -> None:
        """Write the head, which is not synced: it may reach the disk only with the next change."""
        try:
            file.seek(self._begin)
            _write_all(file, head.line())
        except OSError as error:
            warn(
                f"the head of {self.where} could not be written: {error.strerror}. The next change "
                "writes it"
            )

    def holds(self, position: Position) -> bool:
        if len(position) != 3:
            return False
        count, offset, check = position
        if count == 0:
            return position == self._start
        with self._opened() as file:
            if file.seek(0, os.SEEK_END) < offset or offset < self._start[1] + TAIL:
                return False
            file.seek(offset - TAIL - 1)
            if file.read(TAIL) != _tail(check):
                return False
            # the checksum of all earlier bytes except the head
            file.seek(0)
            computed = zlib.crc32(file.read(self._begin))
            file.seek(self._begin + HEAD)
            left = offset - TAIL - 1 - file.tell()
            while left > 0:
                some = file.read(min(left, BLOCK))
                computed, left = zlib.crc32(some, computed), left - len(some)
            return computed == check

    def snapshot(self) -> bytes | None:
        try:
            return read_regular(self._beside(".snapshot"))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._failed("has a snapshot that cannot be read", error) from None

    def keep(self, snapshot: bytes) -> None:
        fresh = self._beside(f".snapshot.{os.getpid()}-{id(self)}")
        try:
            with fresh.open("wb") as file:
                file.write(snapshot)
                _sync(file)
            fresh.replace(self._beside(".snapshot"))
        except OSError as error:
            fresh.unlink(missing_ok=True)
            raise self._failed("cannot be written", error) from None

    def delete(self) -> None:
        with self._opened(write=True):
            try:
                self._beside(".snapshot").unlink(missing_ok=True)
                self.path.unlink()
            except OSError as error:
                raise self._failed("cannot be deleted", error) from None

    def _beside(self, ending: str) -> Path:
        """Return the path of a file in the journal's own folder, with links resolved."""
        path = self.path.resolve()
        return path.with_name(path.name + ending)

    @contextmanager
    def _opened(self, *, write: bool = False) -> Iterator[BinaryIO]:
        """Open and lock the file: shared for reading, exclusively for writing."""
        if self._locked_file is not None:
            yield self._locked_file
            return
        deadline = time.monotonic() + self.timeout
        while True:
            file = self._open(write)
            try:
                lock(file, shared=not write, deadline=deadline)
            except TimeoutError:
                file.close()
                raise self._locked() from None
            except OSError as error:
                if write:
                    file.close()
                    why = self._failed("cannot be locked", error)
                    remedy = "Use a disk of this machine, or PostgreSQL"
                    raise _NoLocksError(f"{why}. {remedy}") from None
            if self._is_there(file):
                break
            file.close()  # the file was replaced during the wait
        try:
            yield file
        finally:
            unlock(file)
            file.close()

    def after_fork(self) -> None:
        self._locked_file = None

    def _open(self, write: bool) -> BinaryIO:
        try:
            return open_regular(self.path, write=write)
        except FileNotFoundError:
            raise _GoneError(f"{self.where} no longer exists. Restore it from a copy") from None
        except (OSError, ValueError) as error:
            raise self._failed("cannot be written" if write else "cannot be read", error) from None

    def _is_there(self, file: BinaryIO) -> bool:
        """Return whether the path still refers to this file."""
        try:
            return os.path.samestat(os.fstat(file.fileno()), os.stat(self.path))
        except FileNotFoundError:
            return False

    def _sync_folder(self) -> None:
        """Sync the folder, so that a new file is durable; not needed on Windows."""
        if os.name != "posix":
            return
        try:
            number = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(number)
            finally:
                os.close(number)
        except OSError as error:
            raise self._failed("cannot be created: its folder cannot be synced", error) from None

    def _changed(self, count: int, offset: int) -> DriftpeakError:
        return StorageCorruptError(
            f"{self.where} has changed: event {count}, before byte {offset}, differs from the "
            "confirmed event. Nothing was changed. Restore the file from a copy, or use "
            "Optimizer.load to resume the current study"
        )

    def _corrupt(self, count: int, offset: int, why: str) -> DriftpeakError:
        return StorageCorruptError(
            f"{self.where} is corrupt at event {count}, byte {offset}: {why}. Nothing was changed. "
            "Restore the file from a copy"
        )

    def _failed(self, what: str, error: OSError | ValueError) -> DriftpeakError:
        reason = in_line(getattr(error, "strerror", None) or str(error))
        if getattr(error, "errno", None) == errno.ENOENT:
            reason = (
                f"there is no folder {in_line(str(self.path.parent.absolute()))} (an absolute path "
                "has four slashes, as in journal:////var/lib/study and for sqlite)"
            )
        return StorageError(f"{self.where} {what}: {reason}")


class _GoneError(StorageError):
    """The file does not exist."""


class _NoLocksError(StorageError):
    """The file system has no locks, so that writing is not safe."""


def _tail(check: int) -> bytes:
    return b',"check":"%08x"}' % check


def _through(check: int) -> int:
    """Return the checksum of all bytes up to the end of a line whose checksum is `check`."""
    return zlib.crc32(_tail(check) + b"\n", check)


def _write_line(content: dict[str, Any], before: int) -> tuple[bytes, int]:
    """Return a line, and the checksum up to and including it."""
    body = json.dumps(content, separators=(",", ":")).encode()[:-1]
    check = zlib.crc32(body, before)
    return body + _tail(check) + b"\n", check


def _read_line(line: bytes, before: int) -> tuple[dict[str, Any], int] | None:
    """Return the content and checksum of a line that `_write_line` wrote, or None."""
    if not line.endswith(b"\n"):
        return None
    body = line[: -TAIL - 1]
    check = zlib.crc32(body, before)
    if line[-TAIL - 1 : -1] != _tail(check):
        return None
    try:
        content = json.loads(body + b"}")
    except (ValueError, RecursionError):
        return None
    return (content, check) if isinstance(content, dict) else None


def _is_description(content: Any) -> bool:
    return isinstance(content, dict) and bool(re.fullmatch("[0-9a-f]{16}", str(content.get("id"))))


def _split(block: bytes) -> tuple[list[bytes], bytes]:
    """Return the complete lines, and an unfinished last line.

    A last line without a valid newline is complete if it ends in a checksum.
    """
    *lines, rest = block.split(b"\n")
    lines = [line + b"\n" for line in lines]
    for whole in (rest, rest[:-1]):
        if ENDING.search(whole):
            return [*lines, whole + b"\n"], b""
    return lines, rest


def _first_line(file: BinaryIO) -> bytes:
    """Return the first line of a journal; of other files at most a part of it."""
    file.seek(0)
    content = file.read(BLOCK)
    while b"\n" not in content and content.startswith(BEGIN):
        some = file.read(BLOCK)
        if not some:
            break
        content += some
    line, newline, _ = content.partition(b"\n")
    return line + newline


def _write_all(file: BinaryIO, block: bytes) -> None:
    written = 0
    while written < len(block):
        written += file.write(block[written:])


def _sync(file: BinaryIO | Any) -> None:
    file.flush()
    os.fsync(file.fileno())
