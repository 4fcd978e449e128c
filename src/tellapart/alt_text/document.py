"""An HTML or Markdown file as text, such that every byte that is not edited stays as it is."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.core.files import atomic_path

HTML = (".html", ".htm", ".xhtml", ".xht")
MARKDOWN = (".md", ".markdown", ".mdown", ".mkd")
LARGEST = 16 << 20
BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
DECLARED = re.compile(
    rb"""<meta[^>]{0,200}charset\s*=\s*["']?\s*([\w.:-]{1,40})|<\?xml[^>]{0,100}encoding=["']([\w.:-]+)""", re.I
)
HEAD = 4096
"""Bytes in which the encoding may be declared."""


@dataclass(frozen=True)
class Edit:
    """Text to put in place of [start, end) of a document."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Document:
    """The text of a file, and how its bytes were decoded."""

    path: Path
    data: bytes
    text: str
    encoding: str
    errors: str
    bom: bytes = b""

    @property
    def is_html(self) -> bool:
        """Whether it is HTML; otherwise Markdown."""
        return self.path.suffix.lower() in HTML

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The bytes of the file with some edits, which do not overlap."""
        text, place = [], 0
        for edit in sorted(edits, key=lambda edit: edit.start):
            text += [self.text[place : edit.start], self._encodable(edit.text)]
            place = edit.end
        return self.bom + "".join([*text, self.text[place:]]).encode(self.encoding, self.errors)

    def _encodable(self, text: str) -> str:
        """A text with references (&#8217;) for letters that the encoding of the file lacks."""
        return text.encode(self.encoding, "xmlcharrefreplace").decode(self.encoding)

    def line(self, place: int) -> int:
        """The number of the line of a place in the text."""
        return self.text.count("\n", 0, place) + 1


def read_document(path: Path) -> Document:
    """The text of a file; InputError if it cannot be read or is too large.

    The encoding is the one that the file declares, or UTF-8, or Latin-1. One that does not give the same bytes again
    is replaced by Latin-1, which does: tags and file names are ASCII in almost all encodings.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path} has more than {LARGEST >> 20} MB; give smaller pages.")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); fix that or leave it out.") from error
    for encoding, errors, bom in _encodings(data):
        try:
            text = data[len(bom) :].decode(encoding, errors)
            if text.encode(encoding, errors) == data[len(bom) :]:
                return Document(path, data, text, encoding, errors, bom)
        except (UnicodeError, LookupError):
            continue
    return Document(path, data, data.decode("latin-1"), "latin-1", "strict")


def _encodings(data: bytes) -> Iterator[tuple[str, str, bytes]]:
    for bom, encoding in BOMS:
        if data.startswith(bom):
            yield encoding, "strict", bom
    if declared := DECLARED.search(data[:HEAD]):
        name = (declared[1] or declared[2]).decode("ascii")
        yield ("cp1252" if name.lower() in ("iso-8859-1", "latin1") else name), "strict", b""
    yield "utf-8", "strict", b""


def write_document(document: Document, data: bytes) -> None:
    """Replace a file atomically, with its rights; InputError if it has changed since it was read."""
    path = Path(os.path.realpath(document.path))
    rights = path.stat().st_mode & 0o7777
    with atomic_path(path) as partial:
        partial.write_bytes(data)
        if path.read_bytes() != document.data:
            raise InputError(f"{document.path} has changed meanwhile; run the command again.")
    path.chmod(rights)
