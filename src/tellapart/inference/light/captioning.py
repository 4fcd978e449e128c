"""Captioning photos without torch: the same methods as `inference.captioning.PhotoCaptioner`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import overload

import numpy as np

from tellapart.core.progress import Progress
from tellapart.images.opening import UnreadableImage
from tellapart.images.sources import ImageInput, as_images, name_of
from tellapart.inference.among_index import Compared
from tellapart.inference.apart import captions_apart
from tellapart.inference.caption import Caption
from tellapart.inference.caption_attention import CaptionAttention, attention_of_words
from tellapart.inference.caption_settings import NEIGHBOURS, CaptionSettings, MatcherOrRun, OtherImages
from tellapart.inference.generated import BEAM, GUIDED_BEAM, GeneratedCaptions, caption_of, generated, with_confidence
from tellapart.inference.judging import Judged, Surroundings, Vectors, second_of, surroundings
from tellapart.inference.known_images import KnownImages, encoded_by
from tellapart.inference.light.against import LightBatch, LightNeighbourhood
from tellapart.inference.light.against_index import LightIndexNeighbourhood, vectors_by
from tellapart.inference.light.exported_run import ExportedRun, is_exported, open_exported
from tellapart.inference.light.extractor import LightExtractor, cores
from tellapart.inference.light.matching import LightMatcher
from tellapart.inference.light.searches import ExportedSearches, likeliest, whole_beam
from tellapart.inference.light.sessions import chosen_precision
from tellapart.inference.light.steps import ExportedCaptioner
from tellapart.inference.remembered_vectors import RememberedVectors
from tellapart.inference.truest import TRUE_BEAM, evidence_for_plain, truest
from tellapart.inference.word_regions import pointed
from tellapart.runs.bundled import CHOOSER, MODELS

DEFAULT_SETTINGS = CaptionSettings()


class LightCaptioner:
    """Generates captions of images: paths, open files, PIL images or arrays [H, W, 3] of uint8, one or many."""

    device = "cpu"

    def __init__(self, run: ExportedRun, workers: int = 0, precision: str = "auto") -> None:
        self.run, self.workers = run, workers
        self.precision = chosen_precision(precision)
        self.captioner = ExportedCaptioner(run.folder, self.precision, len(run.vocabulary))

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
        matcher: scores how well a caption identifies its image; by default the bundled chooser does.
        attention: add the attention of each word. beam: captions considered; 0 for 5
        (3 for other captioners than the bundled one), or 10 with `against`.
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
        given, _ = as_images(images)
        progress = Progress(enabled=settings.progress)
        if settings.matcher in (None, CHOOSER) and self.reads_index(settings.against):
            assert isinstance(settings.against, KnownImages)
            among = LightIndexNeighbourhood(given, settings.against, self, settings, progress)
            return progress.track(self._captions(among.batches(), given, settings.attention), len(given), "captioning")
        judge = self._chooser(settings.against) if settings.matcher is None else self._light(settings.matcher)
        if settings.against is not None and judge is None:  # a matcher that only torch can run
            return self._by_torch(given, settings)
        if settings.against is None or judge is None:
            batches = self._plain_batches(given, settings)
        else:
            others = LightNeighbourhood(given, settings.against, self.extractor, judge, settings.batch_size, progress)
            batches = others.batches(self, settings)
        return progress.track(self._captions(batches, given, settings.attention), len(given), "captioning")

    @cached_property
    def extractor(self) -> LightExtractor:
        """The backbone, opened when the first image is captioned."""
        return LightExtractor(self.run, self.precision, self.workers)

    @property
    def is_bundled(self) -> bool:
        """Whether this is the captioner in the package, whose confidence is calibrated."""
        return self.run.folder == MODELS / "captioner"

    @cached_property
    def judge(self) -> LightMatcher | None:
        """The bundled matcher if the captioner is the bundled one; other captioners are not calibrated with it."""
        if not (self.is_bundled and is_exported("bundled", "matcher")):
            return None
        return LightMatcher(open_exported("bundled", "matcher"), self.workers, self.precision)

    @cached_property
    def chooser(self) -> LightMatcher | None:
        """What chooses among captions of the bundled captioner: the bundled chooser; else the same as `judge`."""
        if self.judge is None or not is_exported(CHOOSER, "matcher"):
            return self.judge
        return LightMatcher(open_exported(CHOOSER, "matcher"), self.workers, self.precision)

    @cached_property
    def chooser_vectors(self) -> RememberedVectors:
        """The chooser's vectors of photos of an index, which it reads."""
        assert self.chooser is not None
        return vectors_by(self.chooser)

    def reads_index(self, against: object) -> bool:
        """Whether the chooser reads the similar photos of an index: of one that the bundled matcher made."""
        by_matcher = isinstance(against, KnownImages) and encoded_by(self.judge, against)
        return by_matcher and self.chooser is not self.judge

    def open(self, judge: LightMatcher) -> None:
        """Open what captions against other images need, so that threads do not open it twice."""
        self.captioner.open()
        judge.open()
        if self.judge is not None:
            self.judge.open()

    def generate(self, cells: np.ndarray, beam: int = BEAM) -> GeneratedCaptions:
        """The likeliest caption of each image [I, R, D], by beam search."""
        best = likeliest(self.captioner, self.run.vocabulary, cells, beam, self.workers or cores())
        return generated(best, self.run.vocabulary)

    def describe(
        self, cells: np.ndarray, judge: LightMatcher | None, vectors: np.ndarray, beam: int = 0
    ) -> GeneratedCaptions:
        """The plain caption of each image [I, R, D], with confidence where the judge was calibrated for it.

        vectors: the judge's of the images [I, E]. beam: 0 for 5 where the judge chooses among them, else 3.
        """
        evidence = evidence_for_plain(judge)
        if evidence is None:
            captions = self.generate(cells, beam or BEAM)
        else:
            vocabulary = self.run.vocabulary
            found = whole_beam(self.captioner, vocabulary, cells, beam or TRUE_BEAM, self.workers or cores())
            captions = generated(truest(found, evidence, vectors, vocabulary), vocabulary)
        return captions if judge is None else with_confidence(captions, judge, Vectors(vectors))

    def generate_apart(
        self, cells: np.ndarray, judge: LightMatcher, around: Surroundings, beam: int = GUIDED_BEAM, weight: float = 0.5
    ) -> GeneratedCaptions:
        """True captions that tell each image apart from its neighbours, scored by a judge (see `telling_apart`)."""
        searches = ExportedSearches(self.captioner, self.run.vocabulary, cells, is_bundled=self.is_bundled)
        other = second_of(judge, self.judge)
        second = None if other is None else Judged(other, Vectors(other.encode_features(cells)))
        return captions_apart(searches, judge, around, beam or GUIDED_BEAM, weight, second)

    def generate_compared(
        self, cells: np.ndarray, compared: Compared, neighbours: int, beam: int = GUIDED_BEAM, weight: float = 0.5
    ) -> GeneratedCaptions:
        """The same among photos of an index; the bundled matcher judges where the chooser could read none of them."""
        judge = self.chooser if compared.by_chooser else self.judge
        assert judge is not None
        around = surroundings(Vectors(compared.own), Vectors(compared.among), compared.nearest, neighbours)
        return self.generate_apart(cells, judge, around, beam, weight)

    def attention_of(
        self, captions: GeneratedCaptions, row: int, cells: np.ndarray, judge: LightMatcher | None
    ) -> CaptionAttention:
        """The attention of one caption over its image [R, D]; that of nouns follows where a judge sees them."""
        weights = captions.decoded.attention
        assert weights is not None
        found = attention_of_words(captions.decoded.tokens[row], weights[row], self.run.boxes, self.run.vocabulary)
        if judge is None or not found.words:
            return found
        return pointed(found, judge.cell_similarity(cells, found.words))

    def _chooser(self, against: OtherImages | None) -> LightMatcher | None:
        """Images of an index that the chooser does not read are compared by its own vectors."""
        return self.judge if isinstance(against, KnownImages) else self.chooser

    def _light(self, matcher: MatcherOrRun) -> LightMatcher | None:
        """A matcher that runs without torch; None for one that does not."""
        if isinstance(matcher, LightMatcher):
            return matcher
        if isinstance(matcher, str) and is_exported(matcher, "matcher"):
            return LightMatcher(open_exported(matcher, "matcher"), self.workers, self.precision)
        return None

    def _plain_batches(self, images: list[ImageInput], settings: CaptionSettings) -> Iterator[LightBatch]:
        for extracted in self.extractor.extract(images, settings.batch_size):
            captions = self._plain(extracted.cells, settings.beam) if extracted.places else None
            yield LightBatch(extracted.places, captions, extracted.faults, cells=extracted.cells)

    def _plain(self, cells: np.ndarray, beam: int) -> GeneratedCaptions:
        if self.judge is None:
            return self.generate(cells, beam or BEAM)
        return self.describe(cells, self.judge, self.judge.encode_features(cells), beam)

    def _captions(
        self, batches: Iterable[LightBatch], given: list[ImageInput], attention: bool
    ) -> Iterator[Caption | UnreadableImage]:
        for batch in batches:
            results: dict[int, Caption | UnreadableImage] = {
                place: UnreadableImage(f"{fault}.") for place, fault in batch.faults.items()
            }
            for row, place in enumerate(batch.places):
                assert batch.captions is not None and batch.cells is not None
                names = batch.neighbours[row] if batch.neighbours else ()
                attended = self.attention_of(batch.captions, row, batch.cells[row], self.judge) if attention else None
                results[place] = caption_of(batch.captions, row, names, name_of(given[place]), attended)
            yield from (results[place] for place in sorted(results))

    def _by_torch(
        self, images: ImageInput | Iterable[ImageInput], settings: CaptionSettings
    ) -> Iterator[Caption | UnreadableImage]:
        from tellapart.inference.captioning import load_captioner

        return load_captioner(self.run.folder, "cpu", self.workers).stream(images, settings)
