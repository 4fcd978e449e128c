"""Reading plain and gzipped text files, with errors that name the line."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from tellapart.core.errors import InputError

LARGEST_TEXT = 1 << 29
"""Bytes that a gzip file may grow to: a file of 5 MB can hold 5 GB of one letter."""
PIECE = 1 << 20


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """The text of a plain or gzipped file, or an InputError that names the line with invalid bytes."""
    try:
        raw = _unzipped(path) if path.suffix == ".gz" else path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; check the path.") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a complete gzip file ({error}); download or compress it again.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    if encoding.lower() in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line}: this is not {encoding.removesuffix('-sig')} text (byte {error.start}); save it "
            "as UTF-8 or give its encoding, for example `encoding='latin-1'`."
        ) from error
    except LookupError as error:
        raise InputError(f"Unknown encoding '{encoding}'; try utf-8, latin-1 or utf-16.") from error


def _unzipped(path: Path) -> bytes:
    """The bytes in a gzip file, read in pieces, so that a file which grows without end is rejected early."""
    whole = bytearray()
    with gzip.open(path) as file:
        while piece := file.read(PIECE):
            whole += piece
            if len(whole) > LARGEST_TEXT:
                raise InputError(
                    f"{path} holds more than {LARGEST_TEXT >> 20} MB of text; if that is right, decompress it first "
                    "and give the plain file."
                )
    return bytes(whole)
