"""Captioning photos: `load_captioner` gives a `PhotoCaptioner`."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator
from typing import overload

import torch

from tellapart.core.device import usable_device
from tellapart.core.errors import InputError
from tellapart.core.progress import Progress
from tellapart.core.types import Images
from tellapart.images.opening import UnreadableImage
from tellapart.images.sources import ImageInput, as_images, name_of
from tellapart.inference.against import Neighbourhood
from tellapart.inference.attention import attention_of_caption
from tellapart.inference.caption import Caption
from tellapart.inference.caption_generator import (
    BEAM,
    DISTINCTIVE_BEAM,
    NEIGHBOURS,
    CaptionGenerator,
    GeneratedCaptions,
    open_caption_generator,
)
from tellapart.inference.feature_extractor import FeatureExtractor
from tellapart.inference.judge import judge_for
from tellapart.inference.matching import PhotoMatcher
from tellapart.runs.bundled import run_name
from tellapart.runs.run import Run, open_run

Batch = tuple[list[int], Images | None, GeneratedCaptions | None, dict[int, str]]
"""Positions of images, their features and captions, and the faults of those that could not be read."""


class PhotoCaptioner:
    """Generates captions of images: paths, open files, PIL images or arrays [H, W, 3] of uint8, one or many."""

    def __init__(self, generator: CaptionGenerator, device: torch.device | str = "cpu", workers: int = 0) -> None:
        self.generator, self.device, self.workers = generator, torch.device(device), workers

    @overload
    def caption(  # type: ignore[overload-overlap]
        self, images: ImageInput, *, against: ImageInput | Iterable[ImageInput] | None = None, neighbours: int = ...,
        weight: float = ..., matcher: PhotoMatcher | str | os.PathLike[str] | None = None, attention: bool = False,
        beam: int = 0, batch_size: int = 32, progress: bool = False,
    ) -> Caption: ...  # fmt: skip

    @overload
    def caption(
        self, images: Iterable[ImageInput], *, against: ImageInput | Iterable[ImageInput] | None = None,
        neighbours: int = ..., weight: float = ..., matcher: PhotoMatcher | str | os.PathLike[str] | None = None,
        attention: bool = False, beam: int = 0, batch_size: int = 32, progress: bool = False,
    ) -> list[Caption]: ...  # fmt: skip

    def caption(
        self,
        images: ImageInput | Iterable[ImageInput],
        *,
        against: ImageInput | Iterable[ImageInput] | None = None,
        neighbours: int = NEIGHBOURS,
        weight: float = 0.5,
        matcher: PhotoMatcher | str | os.PathLike[str] | None = None,
        attention: bool = False,
        beam: int = 0,
        batch_size: int = 32,
        progress: bool = False,
    ) -> Caption | list[Caption]:
        """One Caption for one image, a list for many; an unreadable image raises an Error.

        against: a folder, or images. Each caption then distinguishes its image from the most similar of these.
        neighbours: how many of them. weight: 0 for the likeliest caption, 1 for the most distinctive.
        matcher: scores how well a caption identifies its image; by default the captioner does.
        attention: add the attention of each word. beam: captions considered; 0 for 3, or 10 with `against`.

        >>> import numpy as np, tellapart as ta
        >>> captioner = ta.load_captioner()
        >>> caption = captioner.caption(np.full((64, 64, 3), 200, np.uint8))
        >>> isinstance(caption.text, str) and str(caption) == caption.text
        True
        """
        given, one = as_images(images)
        stream = self.stream(
            given, against=against, neighbours=neighbours, weight=weight, matcher=matcher, attention=attention,
            beam=beam, batch_size=batch_size, progress=progress,
        )  # fmt: skip
        captions: list[Caption] = []
        for result in stream:
            if isinstance(result, UnreadableImage):
                raise result
            captions.append(result)
        return captions[0] if one else captions

    def stream(
        self,
        images: ImageInput | Iterable[ImageInput],
        *,
        against: ImageInput | Iterable[ImageInput] | None = None,
        neighbours: int = NEIGHBOURS,
        weight: float = 0.5,
        matcher: PhotoMatcher | str | os.PathLike[str] | None = None,
        attention: bool = False,
        beam: int = 0,
        batch_size: int = 32,
        progress: bool = False,
    ) -> Iterator[Caption | UnreadableImage]:
        """Captions in the order of the images, as soon as they are generated; the error of an unreadable image.

        Memory does not grow with the number of images. The arguments are those of `caption`.
        """
        self._check(neighbours, weight, attention, beam, batch_size, against is None and matcher is not None)
        given, _ = as_images(images)
        shown = Progress(enabled=progress)
        if against is None:
            batches = self._likeliest(given, beam or BEAM, batch_size)
        else:
            others = Neighbourhood(given, against, self.extractor, batch_size, shown)
            judge = None if matcher is None else judge_for(self.generator, self._matcher_run(matcher))
            batches = others.batches(self.generator, beam or DISTINCTIVE_BEAM, neighbours, weight, judge)
        return shown.track(self._captions(batches, given, attention), len(given), "captioning")

    @functools.cached_property
    def extractor(self) -> FeatureExtractor:
        """The backbone, loaded when the first image is captioned."""
        return FeatureExtractor(self.generator.spec, self.device, self.workers)

    def _likeliest(self, images: list[ImageInput], beam: int, batch_size: int) -> Iterator[Batch]:
        for extracted in self.extractor.extract(images, batch_size):
            captions = self.generator.generate(extracted.images, beam) if extracted.places else None
            yield extracted.places, extracted.images, captions, extracted.faults

    def _captions(
        self, batches: Iterable[Batch], given: list[ImageInput], attention: bool
    ) -> Iterator[Caption | UnreadableImage]:
        for places, images, captions, faults in batches:
            done: dict[int, Caption | UnreadableImage] = {
                place: UnreadableImage(f"{fault}.") for place, fault in faults.items()
            }
            for row, place in enumerate(places):
                assert images is not None and captions is not None
                drawn = (
                    attention_of_caption(captions.decoded, images, row, self.generator.run.vocabulary)
                    if attention
                    else None
                )
                done[place] = Caption(
                    captions.texts[row],
                    captions.log_probability[row],
                    name_of(given[place]),
                    captions.likeliest[row] if captions.likeliest else None,
                    captions.posterior[row] if captions.posterior else None,
                    drawn,
                )
            yield from (done[place] for place in sorted(done))

    def _matcher_run(self, matcher: PhotoMatcher | str | os.PathLike[str]) -> Run:
        if isinstance(matcher, PhotoMatcher):
            return matcher.run
        return open_run(run_name(matcher, "matcher"), device=self.device)

    def _check(
        self, neighbours: int, weight: float, attention: bool, beam: int, batch_size: int, only_matcher: bool
    ) -> None:
        for name, value, least in (("batch_size", batch_size, 1), ("neighbours", neighbours, 1), ("beam", beam, 0)):
            if value < least:
                raise InputError(f"`{name}` must be at least {least}, not {value}.")
        if only_matcher:
            raise InputError("`matcher` compares captions with other images; give those with `against=FOLDER`.")
        if not 0 <= weight <= 1:
            raise InputError(f"`weight` must be between 0 (likeliest) and 1 (most distinctive), not {weight}.")
        if attention and not self.generator.attends:
            raise InputError(
                f"{self.generator.run.folder} encodes the whole image at once, so its words have no attention; use a "
                "captioner such as adaptive-attention or tell-averaged, trained on a grid or regions."
            )


def load_captioner(model: str | os.PathLike[str] = "bundled", device: str = "auto", workers: int = 0) -> PhotoCaptioner:
    """Open a captioner: the bundled one, or a run folder that `tellapart train` wrote.

    device: cpu, cuda, …; auto uses an accelerator if there is one.
    workers: threads that open images, 0 for one per core.
    """
    chosen = usable_device(device)
    return PhotoCaptioner(open_caption_generator(run_name(model, "captioner"), chosen), chosen, workers)
