"""A folder of images with a CSV, TSV or JSONL of captions, or with one text file per image."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.core.text_files import read_text
from tellapart.data.readers.source import ReaderOptions, Source, SourceCaption, SourceImage, parsed_lines
from tellapart.images.file_index import ImageFileIndex
from tellapart.images.formats import SUFFIXES, image_stem

TABLES = (".csv", ".tsv", ".jsonl")
IMAGE_COLUMNS = (
    "image", "image_name", "image_file", "image_path", "imagename", "file_name", "filename", "file", "filepath", "path",
    "picture", "photo", "img", "image_id", "id",
)  # fmt: skip
CAPTION_COLUMNS = ("caption", "captions", "text", "comment", "sentence", "sentences", "raw", "description", "title")
SPLIT_COLUMNS = ("split", "set", "subset", "partition")
SPLIT_VALUES = {"training": "train", "dev": "val", "valid": "val", "validation": "val", "testing": "test", "": "none"}

Row = tuple[str, str, list[str], str | None]
"""Where, image name, captions, split (None if the table has no split column)."""


def caption_tables(folder: Path) -> list[Path]:
    """Tables of captions in the folder: those named so, else all but detections."""
    found = [path for path in sorted(folder.iterdir()) if path.suffix.lower() in TABLES or path.name == "captions.txt"]
    found = [path for path in found if path.name != "detections.jsonl"]
    named = [path for path in found if any(word in path.name.lower() for word in ("caption", "metadata", "annotation"))]
    return named or found


def recognise(source: Path) -> bool:
    """Whether a source is a table of captions, or a folder with one or with images."""
    if source.is_file():
        return source.suffix.lower() in TABLES
    return bool(caption_tables(source)) or bool(ImageFileIndex(source).files)


def read(source: Path, options: ReaderOptions) -> Source:
    """The images and captions of a folder."""
    folder = source if source.is_dir() else source.parent
    result = Source(name=folder.resolve().name, root=options.images or folder)
    if source.is_dir() and not any(source.iterdir()):
        raise InputError(f"{source} is an empty folder; give one with images and captions.")
    table = options.captions_file or (source if source.is_file() else None)
    if table is None:
        tables = caption_tables(source)
        if len(tables) > 1:
            names = ", ".join(path.name for path in tables)
            raise InputError(
                f"{source} has several tables ({names}); name the one with the captions with `captions_file`."
            )
        table = tables[0] if tables else None
    rows = _text_file_rows(result, options) if table is None else _table(table, options, result)
    images: dict[str, SourceImage] = {}
    for where, name, texts, split in rows:
        key = _identity(name)
        if key not in images:
            images[key] = SourceImage(key, name, "" if split is None else split_value(split), where)
        elif split is not None and split_value(split) != images[key].split:
            earlier = images[key]
            result.skip(
                "duplicate id",
                key,
                where,
                f"in split '{split}' here but in '{earlier.split}' in {earlier.where}, which is kept",
            )
            continue
        result.captions += [SourceCaption(key, text.strip(), where) for text in texts]
    result.images = list(images.values())
    return result


def _identity(name: str) -> str:
    """The path without an image suffix: two folders may both hold 1.jpg."""
    parent = name.replace("\\", "/").rpartition("/")[0]
    return f"{parent}/{image_stem(name)}" if parent else image_stem(name)


def split_value(value: str) -> str:
    """A split as packs name it.

    >>> split_value("Validation"), split_value("")
    ('val', 'none')
    """
    value = value.strip().lower()
    return SPLIT_VALUES.get(value, value)


def _table(path: Path, options: ReaderOptions, result: Source) -> Iterator[Row]:
    text = read_text(path, options.encoding)
    if path.suffix.lower() == ".jsonl":
        return json_rows(path, text.split("\n"), options, result)
    return csv_rows(path, io.StringIO(text, newline=""), options, result)


def _column(names: Sequence[str], asked: str | None, known: Sequence[str], what: str, argument: str, path: Path) -> str:
    if asked is not None:
        if asked not in names:
            raise InputError(f"{path} has no column '{asked}'; it has {_few(names)}.")
        return asked
    lower = {name.strip().lower(): name for name in reversed(names)}
    for name in known:
        if name in lower:
            return lower[name]
    raise InputError(f"{path}: no column of {what} among {_few(names)}; name it with `{argument}`.")


def _few(names: Sequence[str]) -> str:
    """Names for an error: at most ten, long ones cut off."""
    shown = [name if len(name) <= 40 else f"{name[:40]}…" for name in names[:10]]
    return ", ".join(shown + ["…"] * (len(names) > 10))


def csv_rows(path: Path, lines: Iterable[str], options: ReaderOptions, result: Source) -> Iterator[Row]:
    """The rows of the lines of a CSV or TSV file; broken ones are skipped."""
    lines = iter(lines)
    first = next(lines, "")
    delimiter = "\t" if path.suffix.lower() == ".tsv" else max(",;|\t", key=first.count)
    reader = csv.reader(chain([first] if first else [], lines), delimiter=delimiter, strict=True, skipinitialspace=True)
    try:
        header = next(reader, None)
        if header is None:
            raise InputError(f"{path} is empty; each line should have an image and a caption.")
        rows: Iterator[list[str]] = iter(reader)
        end = reader.line_num
        if len(header) > 1 and "." + header[0].rpartition(".")[2].lower() in SUFFIXES and options.image_column is None:
            rows, end = chain([header], reader), 0  # no header: the first line names an image
            header = ["image", "caption"] + [""] * (len(header) - 2)
        header = [name.strip() for name in header]
        image = header.index(_column(header, options.image_column, IMAGE_COLUMNS, "image names", "image_column", path))
        caption = header.index(
            _column(header, options.caption_column, CAPTION_COLUMNS, "captions", "caption_column", path)
        )
        split = next((i for i, name in enumerate(header) if name and name.lower() in _split_names(options)), None)
        for row in rows:
            where, end = f"{path.name}, line {end + 1}", reader.line_num
            if not row or not any(cell.strip() for cell in row):
                continue
            if len(row) != len(header):
                advice = (
                    "add the missing ones" if len(row) < len(header) else f"quote captions that contain '{delimiter}'"
                )
                reason = f"{len(row)} cells where the header has {len(header)}; {advice}"
                result.skip("broken line", delimiter.join(row)[:60], where, reason)
                continue
            yield where, row[image].strip(), [row[caption]], None if split is None else row[split]
    except csv.Error as error:
        raise InputError(
            f"{path}, line {reader.line_num}: broken CSV ({error}); fix the quotes on or before it."
        ) from error


def _split_names(options: ReaderOptions) -> Sequence[str]:
    return SPLIT_COLUMNS if options.split_column is None else (options.split_column.lower(),)


def json_rows(path: Path, lines: Iterable[str], options: ReaderOptions, result: Source) -> Iterator[Row]:
    """The rows of the lines of a JSONL file; broken ones are skipped."""
    columns: tuple[str, str] | None = None
    for where, row in parsed_lines(path, lines, result):
        if columns is None:
            names = list(row)
            columns = (
                _column(names, options.image_column, IMAGE_COLUMNS, "image names", "image_column", path),
                _column(names, options.caption_column, CAPTION_COLUMNS, "captions", "caption_column", path),
            )
        image, caption = row.get(columns[0]), row.get(columns[1])
        texts: list[str] = caption if isinstance(caption, list) else [caption]  # type: ignore[list-item]
        if image is None or not all(isinstance(text, str) for text in texts):
            reason = f"'{columns[0]}' must name an image and '{columns[1]}' hold a caption or a list of them"
            result.skip("broken line", str(row)[:60], where, reason)
            continue
        split = next((row[name] for name in row if name.lower() in _split_names(options)), None)
        yield where, str(image), texts, None if split is None else str(split)


def _text_file_rows(result: Source, options: ReaderOptions) -> Iterator[Row]:
    """Rows from dog.jpg and dog.txt: every line of the text is a caption. Folders train, val and test are splits."""
    index = ImageFileIndex(result.root)
    if not index.files:
        raise InputError(f"{result.root} has no images and no caption table (CSV, TSV, JSONL); check the path.")
    for file in index.files:
        text_file = (result.root / file).with_suffix(".txt")
        if not text_file.is_file():
            reason = f"{text_file.name} is missing; write its captions there, one per line"
            result.skip("image without caption", file, file, reason)
            continue
        top = split_value(file.split("/", 1)[0]) if "/" in file else ""
        split = top if top in ("train", "val", "test") else None
        lines = read_text(text_file, options.encoding).split("\n")
        while len(lines) > 1 and not lines[-1].strip():
            lines.pop()
        for number, line in enumerate(lines, start=1):
            yield f"{text_file.relative_to(result.root)}, line {number}", file, [line], split
