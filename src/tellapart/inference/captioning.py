"""Captioning photos: `load_captioner` gives a `PhotoCaptioner`."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import overload

import torch

from tellapart.core.device import usable_device
from tellapart.core.errors import InputError
from tellapart.core.progress import Progress
from tellapart.core.protocols import Captioner
from tellapart.core.types import Images
from tellapart.images.opening import UnreadableImage
from tellapart.images.sources import ImageInput, as_images, name_of
from tellapart.inference.against import CaptionedBatch, Neighbourhood, Readers
from tellapart.inference.against_index import IndexNeighbourhood, vectors_by
from tellapart.inference.attention import CaptionAttention, attention_of_caption, pointing_attention
from tellapart.inference.caption import Caption
from tellapart.inference.caption_generator import (
    BEAM,
    NEIGHBOURS,
    CaptionGenerator,
    GeneratedCaptions,
    open_caption_generator,
)
from tellapart.inference.caption_settings import CaptionSettings, MatcherOrRun, OtherImages
from tellapart.inference.feature_extractor import FeatureExtractor
from tellapart.inference.feature_spec import serves
from tellapart.inference.generated import caption_of
from tellapart.inference.judge import Judge, open_judge
from tellapart.inference.judging import second_of
from tellapart.inference.known_images import KnownImages, encoded_by
from tellapart.inference.own_extractor import OwnExtractor
from tellapart.inference.remembered_vectors import RememberedVectors
from tellapart.runs.bundled import CHOOSER, is_bundled, run_name
from tellapart.runs.own_processing import compiled, has_own_processor, prepared
from tellapart.runs.run import Run

DEFAULT_SETTINGS = CaptionSettings()


class PhotoCaptioner:
    """Generates captions of images: paths, open files, PIL images or arrays [H, W, 3] of uint8, one or many."""

    def __init__(
        self,
        generator: CaptionGenerator,
        device: torch.device | str = "cpu",
        workers: int = 0,
        precision: str = "auto",
    ) -> None:
        prepared(generator.run, precision)
        self.generator, self.device = generator, torch.device(device)
        self.workers, self.precision = workers, precision
        self.extractors: dict[Path, FeatureExtractor | OwnExtractor] = {}
        """What reads images for judges that read other features, by their runs."""

    @overload
    def caption(  # type: ignore[overload-overlap]
        self, images: ImageInput, *, against: OtherImages | None = None, neighbours: int = NEIGHBOURS,
        weight: float = 0.5, matcher: MatcherOrRun | None = None, attention: bool = False, beam: int = 0,
        batch_size: int = 32, progress: bool = False,
    ) -> Caption: ...  # fmt: skip

    @overload
    def caption(
        self, images: Iterable[ImageInput], *, against: OtherImages | None = None, neighbours: int = NEIGHBOURS,
        weight: float = 0.5, matcher: MatcherOrRun | None = None, attention: bool = False, beam: int = 0,
        batch_size: int = 32, progress: bool = False,
    ) -> list[Caption]: ...  # fmt: skip

    def caption(
        self,
        images: ImageInput | Iterable[ImageInput],
        *,
        against: OtherImages | None = None,
        neighbours: int = NEIGHBOURS,
        weight: float = 0.5,
        matcher: MatcherOrRun | None = None,
        attention: bool = False,
        beam: int = 0,
        batch_size: int = 32,
        progress: bool = False,
    ) -> Caption | list[Caption]:
        """One Caption for one image, a list for many (empty for none); an unreadable image raises an Error.

        against: a folder, or images. Each caption then distinguishes its image from the most similar of these.
        neighbours: how many of them. weight: 0 for a likely and true caption, 1 for the most distinctive.
        matcher: scores how well a caption identifies its image; by default the bundled chooser does for the
        bundled captioner, and others do so themselves.
        attention: add the attention of each word. beam: captions considered; 0 for 5
        (3 for other captioners than the bundled one), or 10 with `against`.

        >>> import numpy as np, tellapart as ta
        >>> captioner = ta.load_captioner()
        >>> caption = captioner.caption(np.full((64, 64, 3), 200, np.uint8))
        >>> isinstance(caption.text, str) and str(caption) == caption.text
        True
        """
        given, one = as_images(images)
        settings = CaptionSettings(
            against,
            neighbours,
            weight=weight,
            matcher=matcher,
            attention=attention,
            beam=beam,
            batch_size=batch_size,
            progress=progress,
        )
        captions: list[Caption] = []
        for result in self.stream(given, settings):
            if isinstance(result, UnreadableImage):
                raise result
            captions.append(result)
        return captions[0] if one else captions

    def stream(
        self, images: ImageInput | Iterable[ImageInput], settings: CaptionSettings = DEFAULT_SETTINGS
    ) -> Iterator[Caption | UnreadableImage]:
        """Captions in the order of the images, as soon as they are generated; the error of an unreadable image.

        Memory does not grow with the number of images.
        """
        if settings.attention and not self.generator.attends:
            raise InputError(
                f"{self.generator.run.folder} encodes the whole image at once, so its words have no attention; use a "
                "captioner such as adaptive-attention or tell-averaged, trained on a grid or regions."
            )
        given, _ = as_images(images)
        progress = Progress(enabled=settings.progress)
        if settings.against is None:
            batches = self._plain_batches(given, settings)
        elif settings.matcher in (None, CHOOSER) and self.reads_index(settings.against):
            assert isinstance(settings.against, KnownImages)
            among = IndexNeighbourhood(
                given, settings.against, self.chooser_readers, self.chooser_vectors, settings, progress
            )
            batches = among.batches(self.generator)
        else:
            readers = readers_of(
                self,
                self._chooser(settings.against)
                if settings.matcher is None
                else open_judge(settings.matcher, self.device),
            )
            others = Neighbourhood(given, settings.against, readers, settings.batch_size, progress)
            batches = others.batches(self.generator, settings.neighbours, settings.weight, settings.beam)
        return progress.track(self._captions(batches, given, settings.attention), len(given), "captioning")

    @functools.cached_property
    def extractor(self) -> FeatureExtractor | OwnExtractor:
        """The backbone, loaded when the first image is captioned."""
        if has_own_processor(self.generator.run):
            return OwnExtractor(self.generator.run, self.generator.spec, self.device, self.workers)
        return FeatureExtractor(self.generator.spec, self.device, self.workers, self.precision)

    @property
    def run(self) -> Run:
        """The captioner's run."""
        return self.generator.run

    @property
    def is_bundled(self) -> bool:
        """Whether this is the captioner in the package, whose confidence is calibrated."""
        return self.generator.is_bundled

    @functools.cached_property
    def judge(self) -> Judge | None:
        """The bundled matcher if the captioner is the bundled one, or a chat model, which cannot judge itself; other
        captioners are not calibrated with it."""
        chats = not isinstance(self.generator.captioner, Captioner)
        return open_judge("bundled", self.device) if (self.is_bundled or chats) and is_bundled("matcher") else None

    @functools.cached_property
    def chooser(self) -> Judge | None:
        """What chooses among captions of the bundled captioner: the bundled chooser; else the same as `judge`."""
        return open_judge(CHOOSER, self.device) if self.is_bundled and is_bundled("chooser") else self.judge

    @functools.cached_property
    def chooser_readers(self) -> Readers:
        """What reads images for the captioner and for the chooser."""
        return readers_of(self, self.chooser)

    @functools.cached_property
    def chooser_vectors(self) -> RememberedVectors:
        """The chooser's vectors of photos of an index, which it reads."""
        return vectors_by(self.chooser_readers)

    def reads_index(self, against: object) -> bool:
        """Whether the chooser reads the similar photos of an index: of one that the bundled matcher made."""
        by_matcher = isinstance(against, KnownImages) and encoded_by(self.judge, against)
        return by_matcher and self.chooser is not self.judge

    def _chooser(self, against: OtherImages) -> Judge | None:
        """Images of an index that the chooser does not read are compared by its own vectors."""
        return self.judge if isinstance(against, KnownImages) else self.chooser

    def _plain_batches(self, images: list[ImageInput], settings: CaptionSettings) -> Iterator[CaptionedBatch]:
        for extracted in self.extractor.extract(images, settings.batch_size):
            captions = self._plain(extracted.images, settings.beam) if extracted.places else None
            yield CaptionedBatch(extracted.places, extracted.images, captions, extracted.faults)

    def _plain(self, images: Images, beam: int) -> GeneratedCaptions:
        if self.judge is None or not serves(self.generator.spec, self.judge.spec):
            return self.generator.generate(images, beam or BEAM)
        return self.generator.describe(images, self.judge, self.judge.encode_images(images).vectors, beam)

    def _captions(
        self, batches: Iterable[CaptionedBatch], given: list[ImageInput], attention: bool
    ) -> Iterator[Caption | UnreadableImage]:
        for batch in batches:
            results: dict[int, Caption | UnreadableImage] = {
                place: UnreadableImage(f"{fault}.") for place, fault in batch.faults.items()
            }
            for row, place in enumerate(batch.places):
                results[place] = self._caption(batch, row, name_of(given[place]), attention)
            yield from (results[place] for place in sorted(results))

    def _caption(self, batch: CaptionedBatch, row: int, image: str | None, attention: bool) -> Caption:
        captions, names = batch.captions, batch.neighbours[row] if batch.neighbours else ()
        assert batch.images is not None and captions is not None
        attended = self._attention(captions, batch.images, row) if attention else None
        return caption_of(captions, row, names, image, attended)

    def _attention(self, captions: GeneratedCaptions, images: Images, row: int) -> CaptionAttention:
        found = attention_of_caption(captions.decoded, images, row, self.generator.run.vocabulary)
        return pointing_attention(found, images, row, self.judge)


def readers_of(captioner: PhotoCaptioner, judge: Judge | None) -> Readers:
    """What reads images for a captioner and for a judge of its captions."""
    second = None if judge is None else second_of(judge, captioner.judge if captioner.is_bundled else None)
    if judge is None or serves(captioner.generator.spec, judge.spec):
        return Readers(captioner.extractor, judge, second=second)
    own = captioner.extractors.setdefault(judge.run.folder, _extractor_for(judge, captioner))
    return Readers(captioner.extractor, judge, own, second)


def _extractor_for(judge: Judge, captioner: PhotoCaptioner) -> FeatureExtractor | OwnExtractor:
    """What reads images for a judge; its backbone is loaded when the first image is read."""
    if has_own_processor(judge.run):
        return OwnExtractor(judge.run, judge.spec, captioner.device, captioner.workers)
    precision = "auto" if captioner.precision == "float16" else captioner.precision  # a backbone has no float16
    return FeatureExtractor(judge.spec, captioner.device, captioner.workers, precision)


def load_captioner(
    model: str | os.PathLike[str] = "bundled",
    device: str = "auto",
    workers: int = 0,
    precision: str = "auto",
    *,
    compile: bool = False,
) -> PhotoCaptioner:
    """Open a captioner: the bundled one, the folder of a trained run, or a captioner of transformers (`hf:FOLDER`).

    device: cpu, cuda, …; auto uses an accelerator if there is one.
    workers: threads that open images, 0 for one per core.
    precision: of the backbone: float32, bfloat16, or auto, which is bfloat16 on CPUs with instructions for it. Models
    of transformers take float16 too, and auto is float32 for them.
    compile: compile a model of transformers (torch.compile), which takes a minute and pays for many images.
    """
    chosen = usable_device(device)
    opened = PhotoCaptioner(open_caption_generator(run_name(model, "captioner"), chosen), chosen, workers, precision)
    if compile:
        compiled(opened.generator.run)
    return opened
