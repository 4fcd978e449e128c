"""Where captions go while they are being made: a line, a text file beside the photo, a CSV row, a drawing.

Each is written as soon as it is there, so that an interrupted run keeps what it has.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from tellapart.core.errors import InputError
from tellapart.core.files import write_text
from tellapart.core.types import Images
from tellapart.images.opening import open_image
from tellapart.inference.caption_generator import Sentences
from tellapart.report.attention import attention_of_caption, draw_attention, save_drawing
from tellapart.text.vocabulary import Vocabulary

HEADER = ("image", "caption")


@dataclass(frozen=True)
class CaptionedPhoto:
    """A photo and its sentence."""

    photo: Path
    caption: str
    log_probability: float
    """ln p(caption | photo)."""
    likeliest: str | None = None
    """With --against: the likeliest sentence, told or not."""
    found: float | None = None
    """With --against: how sure the caption finds its photo among the neighbours, 0 … 1."""
    attention: Path | None = None
    """Where the drawing is."""

    def plain(self) -> dict[str, Any]:
        """For JSON, without what was not asked for."""
        values = {**vars(self), "photo": str(self.photo), "attention": self.attention and str(self.attention)}
        return {name: value for name, value in values.items() if value is not None}


class Outputs:
    """All places a caption is written to. `left_alone` names what was there already and not to be replaced."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        drawings: Path | None,
        sidecar: bool,
        table: Path | None,
        overwrite: bool,
        lines: TextIO | None,
    ) -> None:
        self.vocabulary, self.drawings, self.sidecar, self.overwrite = vocabulary, drawings, sidecar, overwrite
        self.lines = lines
        self.left_alone: list[str] = []
        self._written: set[Path] = set()
        self._file: TextIO | None = None
        if table is not None:
            try:
                table.parent.mkdir(parents=True, exist_ok=True)
                self._file = table.open("w", encoding="utf-8", newline="")
            except OSError as error:
                raise InputError(f"{table} cannot be written ({error.strerror}); choose another --csv.") from error
            csv.writer(self._file).writerow(HEADER)

    def __enter__(self) -> Outputs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, photo: Path, sentences: Sentences, images: Images, row: int) -> CaptionedPhoto:
        text = sentences.texts[row]
        if self.lines is not None:
            # On a terminal the progress bar minds what is printed; a pipe or file gets the lines straight.
            print(f"{photo}\t{text}", file=None if self.lines.isatty() else self.lines, flush=True)
        if self._file is not None:
            csv.writer(self._file).writerow((str(photo), text))
            self._file.flush()
        if self.sidecar:
            self._beside(photo, text)
        return CaptionedPhoto(
            photo,
            text,
            sentences.log_probability[row],
            None if sentences.plain is None else sentences.plain[row],
            None if sentences.found is None else sentences.found[row],
            None if self.drawings is None else self._draw(photo, sentences, images, row, self.drawings),
        )

    def _beside(self, photo: Path, text: str) -> None:
        path = photo.with_suffix(".txt")
        if path in self._written or (path.exists() and not self.overwrite) or path == photo:
            hint = "" if path in self._written or path == photo else ", --overwrite replaces it"
            self.left_alone.append(f"the text file {path} for {photo}: it is there already{hint}")
            return
        try:
            write_text(path, text + "\n")
        except OSError as error:
            raise InputError(f"{path} cannot be written ({error.strerror}); use --csv FILE instead.") from error
        self._written.add(path)

    def _draw(self, photo: Path, sentences: Sentences, images: Images, row: int, out: Path) -> Path:
        path, number = out, 1
        while path.suffix.lower() != ".png" or path in self._written:
            path = out / (photo.stem + ("" if number == 1 else f"-{number}") + ".png")
            number += 1
        attention = attention_of_caption(sentences.decoded, images, row, self.vocabulary)
        save_drawing(draw_attention(open_image(photo), attention), path)
        self._written.add(path)
        return path
