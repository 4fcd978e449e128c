"""Sentences without images, one per line, plain or gzipped, for unsupervised captioning."""

from __future__ import annotations

from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.core.text_files import read_text
from tellapart.data.readers.source import ReaderOptions, Source, SourceCaption


def text_files(folder: Path) -> list[Path]:
    """The text files in a folder."""
    return sorted([*folder.glob("*.txt"), *folder.glob("*.txt.gz")])


def recognise(source: Path) -> bool:
    """Whether a source is a text file or a folder with some."""
    if source.is_file():
        return source.suffix in (".txt", ".gz")
    return bool(text_files(source))


def read(source: Path, options: ReaderOptions) -> Source:
    """The sentences of text files."""
    result = Source(name=source.name.split(".")[0], root=source if source.is_dir() else source.parent)
    files = (
        [options.captions_file] if options.captions_file else [source] if not source.is_dir() else text_files(source)
    )
    if not files:
        raise InputError(f"{source} has no .txt or .txt.gz file; give a text file with one sentence per line.")
    for path in files:
        lines = read_text(path, options.encoding).split("\n")
        if lines and not lines[-1]:
            lines.pop()
        result.captions += [
            SourceCaption(None, line.strip(), f"{path.name}, line {number}")
            for number, line in enumerate(lines, start=1)
        ]
    if not result.captions:
        raise InputError(f"{source} has no sentences; it should have one per line.")
    return result
