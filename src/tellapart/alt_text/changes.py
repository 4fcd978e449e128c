"""Proposals as changes of files: a diff to review, or the files written in place."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path

from tellapart.alt_text.document import Document, write_document
from tellapart.alt_text.proposal import Proposal


def changed(document: Document, proposals: Iterable[Proposal]) -> bytes:
    """The bytes of a page with the proposals that are to be written."""
    return document.edited([one.edit for one in proposals if one.edit is not None])


def diff(document: Document, proposals: Sequence[Proposal]) -> str:
    """A unified diff of a page, which `patch -p1` and `git apply` take; empty if nothing changes."""
    data = changed(document, proposals)
    if data == document.data:
        return ""
    name = str(document.path)
    if Path(name).is_absolute():
        name = name.lstrip("/")
    text = data[len(document.bom) :].decode(document.encoding, document.errors)
    lines = difflib.unified_diff(_lines(document.text), _lines(text), f"a/{name}", f"b/{name}", n=1)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def write(document: Document, proposals: Sequence[Proposal]) -> bool:
    """Write a page in place if something changes; whether it did."""
    data = changed(document, proposals)
    if data == document.data:
        return False
    write_document(document, data)
    return True


def _lines(text: str) -> list[str]:
    """Lines as `patch` counts them: only a line feed ends one."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
