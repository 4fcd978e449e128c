"""Captions for the images of a page by a captioner, each told apart from the other images of the page."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tellapart.core.errors import InputError
from tellapart.images.opening import UnreadableImage
from tellapart.images.verified_file import hash_of
from tellapart.inference.caption import Caption

if TYPE_CHECKING:
    from tellapart.inference.captioning import PhotoCaptioner
    from tellapart.inference.light.captioning import LightCaptioner


class PageCaptioner:
    """Captions images among others. The same image among the same others is captioned once."""

    def __init__(self, load: Callable[[], PhotoCaptioner | LightCaptioner], batch: int = 32) -> None:
        """load: opens the captioner, when the first caption is needed."""
        self.load, self.batch = load, batch
        self._known: dict[tuple[str, frozenset[str]], Caption | Exception] = {}
        self._contents: dict[Path, str] = {}

    def __call__(self, files: Sequence[Path], shown: Sequence[Path]) -> list[Caption | Exception]:
        """A caption for each file, or the error of one that cannot be read, as `propose.Captions` says."""
        others = {self._content(file): file for file in (*files, *shown)}
        around = frozenset(others)
        contents = dict.fromkeys(self._content(file) for file in files)
        new = {content: others[content] for content in contents if (content, around) not in self._known}
        if new:
            self._caption(new, list(others.values()), around)
        return [self._known[self._content(file), around] for file in files]

    @functools.cached_property
    def captioner(self) -> PhotoCaptioner | LightCaptioner:
        """The captioner."""
        return self.load()

    def _caption(self, new: dict[str, Path], others: list[Path], around: frozenset[str]) -> None:
        from tellapart.inference.caption_settings import CaptionSettings

        images = list(new.values())
        plain = CaptionSettings(batch_size=self.batch)
        captions: list[Caption | UnreadableImage] = []
        if len(others) > 1:
            with contextlib.suppress(InputError):  # the others are copies of the image: nothing sets it apart
                captions = list(self.captioner.stream(images, replace(plain, against=others)))
        captions = captions or list(self.captioner.stream(images, plain))
        self._known |= {(content, around): caption for content, caption in zip(new, captions, strict=True)}

    def _content(self, file: Path) -> str:
        """Copies of one image are one image: nothing sets them apart."""
        if file not in self._contents:
            self._contents[file] = hash_of(file.read_bytes())
        return self._contents[file]
