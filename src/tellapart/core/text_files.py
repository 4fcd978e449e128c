"""Reading plain and gzipped text files, with errors that name the line."""

from __future__ import annotations

import gzip
from pathlib import Path

from tellapart.core.errors import InputError


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """The text of a plain or gzipped file, or an InputError that names the line with invalid bytes."""
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; check the path.") from error
    except (gzip.BadGzipFile, EOFError) as error:
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
