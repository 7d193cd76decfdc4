"""Reading of files of at most 1 GiB: decompression and decoding."""

import codecs
import gzip
import io
import os
import re
import zlib
from pathlib import Path

from driftpeak._core.errors import DataError, DriftpeakError, nearest
from driftpeak._core.files import read_regular

MOST_BYTES = 2**30  # of an unpacked table
_GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"
ZIP = b"PK\x03\x04"
_MARKS = (  # longest first: the mark of UTF-32 begins with the mark of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_UNPACK = "unpack it, or compress it with gzip"
_GRID = "write the table as CSV, or see driftpeak.offline.data.read_grid"
# Files that are often mistaken for CSV files: first bytes, type, and remedy.
_OTHERS = (
    (ZIP, "a zip archive or an incomplete spreadsheet", "unpack it, or save the sheet as CSV"),
    (b"\xd0\xcf\x11\xe0", "an old or encrypted Excel workbook", "save it as .xlsx or CSV"),
    (b"\x89HDF", "an HDF5 or netCDF file", _GRID),
    (b"CDF\x01", "a netCDF file", _GRID),
    (b"\xfd7zXZ", "compressed with xz", _UNPACK),
    (b"BZh", "compressed with bzip2", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", _UNPACK),
    (b"SQLite format 3", "an SQLite database", "export the table as CSV"),
    (b"%PDF", "a PDF document", "save the table as CSV"),
)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")  # bytes that no single-byte text contains
_COMMON_ENCODINGS = ("utf-8", "utf-16", "latin-1", "cp1252", "cp1250", "cp1251", "shift_jis", "gbk")


def content_of(path: Path) -> bytes:
    """Return the bytes of a file of at most 1 GiB; gzip is recognised by content and unpacked.

    Raises:
        DataError: the file does not exist, cannot be read, is too large, is not a regular file, or
            its compressed data are damaged.
        DriftpeakError: the path is invalid.
    """
    try:
        if path.exists() and path.stat().st_size > MOST_BYTES:
            raise too_large(path)
        content = read_regular(path)
    except DriftpeakError:
        raise  # it is a ValueError too
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file; check the path") from None
    except OSError as error:
        if os.path.isdir(path):  # unlike Path.is_dir, False where the name is too long
            raise DataError(f"{path}: is a directory; give the path of a CSV file in it") from None
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ValueError:  # a null character
        raise DriftpeakError(f"{str(path)!a}: is not a valid path") from None
    # Browsers often unpack a download but keep its name, so the name is not reliable.
    if content.startswith(_GZIP):
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as unpacked:
                content = unpacked.read(MOST_BYTES + 1)
        except (EOFError, OSError, zlib.error) as error:
            raise DataError(
                f"{path}: the gzip data is broken ({error}); the file may be cut short, "
                "so fetch or compress it again"
            ) from None
    if len(content) > MOST_BYTES:
        raise too_large(path)
    return content


def decoded(path: Path, content: bytes, encoding: str | None = None) -> tuple[str, list[str]]:
    """Return the text of a file, and notes on its decoding.

    Without `encoding`, a byte order mark determines the encoding. Without a mark it is UTF-16 if
    every other byte is zero, else UTF-8 if valid, else Windows-1252, which has all letters of
    Latin-1.

    Raises:
        DataError: the content is not text, or not in this encoding.
        DriftpeakError: the encoding does not exist.
    """
    if encoding is not None:
        return _decoded_as(path, content, encoding), []
    for magic, kind, remedy in _OTHERS:
        if content.startswith(magic):
            raise DataError(f"{path}: is {kind}, not a text file; {remedy}")
    for mark, name in _MARKS:
        if content.startswith(mark):
            return _decoded_as(path, content, name), []
    if (wide := _utf16_without_mark(content)) is not None:
        return _decoded_as(path, content, wide), [f"no byte order mark: read as {wide.upper()}"]
    if b"\x00" in content:
        line = content.count(b"\n", 0, content.index(b"\x00")) + 1
        raise DataError(
            f"{path}: line {line}: byte 0x00 is not text; a CSV file, plain or compressed with "
            "gzip, is needed, so save the table as CSV in UTF-8"
        )
    try:
        return content.decode("utf-8"), []
    except UnicodeDecodeError as error:
        start = error.start
    line = content.count(b"\n", 0, start) + 1
    try:
        if _CONTROL.search(content):
            raise ValueError
        text = content.decode("cp1252")
    except ValueError:
        raise DataError(
            f"{path}: line {line}: byte 0x{content[start]:02x} is not UTF-8 text, and the file is "
            "not Windows-1252 (Latin-1) either; save the table in UTF-8, or name its encoding "
            "with encoding="
        ) from None
    return text, [
        f"not UTF-8: read as Windows-1252 (Latin-1), as {text[start]!r} in line {line}; "
        "encoding= names another"
    ]


def text_of(path: Path) -> str:
    """Return the text of a file of at most 1 GiB.

    Raises:
        DataError: as `content_of` and `decoded`.
    """
    return decoded(path, content_of(path))[0]


def _decoded_as(path: Path, content: bytes, encoding: str) -> str:
    try:
        known = codecs.lookup(encoding).name
        text = content.decode("utf-8-sig" if known == "utf-8" else known)
    except UnicodeError as error:
        place, what = "", ""
        if isinstance(error, UnicodeDecodeError) and error.start < len(content):
            place = f" (byte 0x{content[error.start]:02x} at position {error.start:,})"
            what = f": {error.reason}"
        raise DataError(
            f"{path}: is not {encoding.upper()} text{place}{what}; save the table in UTF-8, or "
            "name its encoding with encoding="
        ) from None
    except (LookupError, ValueError):
        raise DriftpeakError(
            f"encoding must be a text encoding, such as {', '.join(_COMMON_ENCODINGS)}; got "
            f"{encoding!r}.{nearest(encoding, _COMMON_ENCODINGS)}"
        ) from None
    if "\x00" in text:
        raise DataError(
            f"{path}: line {text.count(chr(10), 0, text.index(chr(0))) + 1}: a character of value "
            f"0, so this is not {encoding.upper()} text; name its encoding with encoding="
        )
    return text


def _utf16_without_mark(content: bytes) -> str | None:
    """Return the UTF-16 variant of content without a mark, from the positions of its zero bytes."""
    start = content[:2000]
    if len(content) % 2 or len(start) < 4:
        return None
    first, second = start[::2].count(0), start[1::2].count(0)
    if first == 0 and 2.5 * second > len(start) / 2:
        return "utf-16-le"
    if second == 0 and 2.5 * first > len(start) / 2:
        return "utf-16-be"
    return None


def too_large(path: Path) -> DataError:
    """Return the error for a file that is too large."""
    return DataError(
        f"{path}: an unpacked file must have at most {MOST_BYTES >> 20:,} MiB; got more. Leave out "
        "times or arms."
    )
