"""Where `tellapart caption` writes captions: a line, a text file next to the photo, a CSV row, a drawing.

Each caption is written as soon as it is generated, so that an interrupted run keeps those it has.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from tellapart.core.errors import InputError
from tellapart.core.files import write_text
from tellapart.images.opening import open_image
from tellapart.inference.caption import Caption
from tellapart.report.attention import draw_attention, save_drawing

HEADER = ("image", "caption")
NAMED = 3
"""Neighbours named in a line at most; JSON has all."""


@dataclass(frozen=True)
class CaptionedPhoto:
    """A photo, its caption, and where its attention was drawn."""

    photo: Path
    caption: Caption
    drawing: Path | None = None

    def plain(self) -> dict[str, Any]:
        """For JSON, without the fields that were not requested."""
        values = {
            "photo": str(self.photo),
            "caption": self.caption.text,
            "log_probability": self.caption.log_probability,
            "likeliest": self.caption.likeliest,
            "found": self.caption.posterior,
            "distinct": self.caption.distinct,
            "differences": self._differences(),
            "neighbours": None if self.caption.distinct is None else list(self.caption.neighbours),
            "confused_with": None if self.caption.distinct is None else list(self.caption.confused_with),
            "confidence": self.caption.confidence,
            "sure": self.caption.sure,
            "attention": None if self.drawing is None else str(self.drawing),
        }
        return {name: value for name, value in values.items() if value is not None}

    def _differences(self) -> list[dict[str, Any]] | None:
        if self.caption.distinct is None:
            return None
        return [{"word": one.word, "from": list(one.neighbours)} for one in self.caption.differences]

    def line(self) -> str:
        """For a terminal: the photo, its caption, and what a reader should know about it."""
        notes = ["not sure"] if self.caption.sure is False else []
        if self.caption.distinct is False:
            others = [str(name) for name in self.caption.confused_with[:NAMED] if name]
            notes.append("nothing sets it apart" + (f" from {', '.join(others)}" if others else ""))
        return f"{self.photo}\t{self.caption}" + "".join(f"\t({note})" for note in notes)


class Outputs:
    """All places that a caption is written to. `not_written` lists files that exist and were not to be replaced."""

    def __init__(
        self, drawings: Path | None, sidecar: bool, table: Path | None, overwrite: bool, lines: TextIO | None
    ) -> None:
        self.drawings, self.sidecar, self.overwrite, self.lines = drawings, sidecar, overwrite, lines
        self.not_written: list[str] = []
        self._written: set[Path] = set()
        self._file: TextIO | None = None
        if table is not None:
            try:
                table.parent.mkdir(parents=True, exist_ok=True)
                self._file = table.open("w", encoding="utf-8", newline="")
            except OSError as error:
                raise InputError(f"{table} cannot be written ({error.strerror}); choose another `csv`.") from error
            csv.writer(self._file).writerow(HEADER)

    def __enter__(self) -> Outputs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, photo: Path, caption: Caption) -> CaptionedPhoto:
        """Write one caption everywhere."""
        if self.lines is not None:
            # On a terminal, print through the progress bar; a pipe or file gets the lines directly.
            line = CaptionedPhoto(photo, caption).line()
            print(line, file=None if self.lines.isatty() else self.lines, flush=True)
        if self._file is not None:
            csv.writer(self._file).writerow((str(photo), caption.text))
            self._file.flush()
        if self.sidecar:
            self._write_sidecar(photo, caption.text)
        return CaptionedPhoto(photo, caption, self._draw(photo, caption))

    def _write_sidecar(self, photo: Path, text: str) -> None:
        path = photo.with_suffix(".txt")
        if path in self._written or (path.exists() and not self.overwrite) or path == photo:
            hint = "" if path in self._written or path == photo else ", --overwrite replaces it"
            self.not_written.append(f"the text file {path} for {photo}: it exists{hint}")
            return
        try:
            write_text(path, text + "\n")
        except OSError as error:
            raise InputError(f"{path} cannot be written ({error.strerror}); use `csv=FILE` instead.") from error
        self._written.add(path)

    def _draw(self, photo: Path, caption: Caption) -> Path | None:
        if self.drawings is None or caption.attention is None:
            return None
        path, number = self.drawings, 1
        while path.suffix.lower() != ".png" or path in self._written:
            path = self.drawings / (photo.stem + ("" if number == 1 else f"-{number}") + ".png")
            number += 1
        save_drawing(draw_attention(open_image(photo), caption.attention), path)
        self._written.add(path)
        return path
