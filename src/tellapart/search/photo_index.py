"""An index of photos: `open_index` gives a `PhotoIndex` that is updated from folders and searched."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.paths import Paths
from tellapart.core.progress import progress_bar
from tellapart.images.remote import full_folder
from tellapart.images.sources import ImageInput, as_images
from tellapart.inference.known_images import KnownImages
from tellapart.inference.loading import check_torch, load_captioner, load_matcher
from tellapart.runs.bundled import lasting_name
from tellapart.search.about_models import about_models
from tellapart.search.answer import Answer, Query, answer, captions_have
from tellapart.search.calibration import Calibration, read_calibration
from tellapart.search.changes import Changes
from tellapart.search.copies import SAME
from tellapart.search.embedded import BATCH
from tellapart.search.embedders import embedder_of, open_embedder
from tellapart.search.engines import EngineName, engine_factory
from tellapart.search.file_facts import content_of
from tellapart.search.filters import Day, Filters, Place, as_day, as_orientation, as_place
from tellapart.search.lexicon import Lexicon, UnknownWord, lexicon_of, words_of
from tellapart.search.location import is_old
from tellapart.search.protocol import Built, Store, check_matcher
from tellapart.search.query import NEIGHBOURS, Found, Searcher, captions_of_people, combined
from tellapart.search.store import open_or_make, open_store, store_exists
from tellapart.search.update import checked_roots, update_index
from tellapart.search.walk import count_photos

if TYPE_CHECKING:
    from tellapart.inference.captioning import PhotoCaptioner
    from tellapart.inference.light.captioning import LightCaptioner
    from tellapart.inference.light.matching import LightMatcher
    from tellapart.inference.matching import PhotoMatcher

    OpenMatcher = PhotoMatcher | LightMatcher
    OpenCaptioner = PhotoCaptioner | LightCaptioner

Model = str | os.PathLike[str]
Named = (str, os.PathLike)
SHORTLIST = 50


class PhotoIndex:
    """Vectors and captions of photos on disk. Several processes may read it while one updates it."""

    def __init__(
        self,
        path: str,
        matcher: OpenMatcher | Model | None = None,
        captioner: OpenCaptioner | Model | None = "auto",
        device: str = "auto",
        workers: int = 0,
        *,
        precision: str = "auto",
        compile: bool = False,
        batch: int = BATCH,
    ) -> None:
        if batch < 1:
            raise InputError(f"`batch` must be at least 1, not {batch}.")
        self.path, self.device, self.workers, self.precision = path, device, workers, precision
        self.compile, self.batch = compile, batch
        self._matcher, self._captioner = matcher, captioner
        self._store = open_store(path) if store_exists(path) else None
        self._searcher: Searcher | None = None
        self.built: Built | None = None
        """The approximate index that the last update built."""

    def __len__(self) -> int:
        """How many photos it holds."""
        return 0 if self._store is None else len(self._store)

    def images(self) -> KnownImages:
        """All photos with their vectors, for `caption(photos, against=index.images())`: of their files, only those of
        the similar photos are read."""
        facts: list[dict[str, Any]] = []
        vectors = [np.zeros((0, self.store.about.width), np.float32)]
        for ids, some in self.store.vectors():
            rows = self.store.by_ids(ids.tolist(), ["path", "folder", "content"])
            there = [place for place, id_ in enumerate(ids.tolist()) if id_ in rows]
            facts += [rows[int(ids[place])] for place in there]
            vectors.append(some[there])
        paths, folders, contents = ([row[name] for row in facts] for name in ("path", "folder", "content"))
        return KnownImages(paths, np.concatenate(vectors), self.store.about.fingerprint, folders, contents)

    @property
    def store(self) -> Store:
        """The table of photos; InputError if the index does not exist yet."""
        if self._store is None:
            self._store = open_store(self.path)
        return self._store

    @functools.cached_property
    def matcher(self) -> OpenMatcher:
        """The matcher: the given one, that of the index, or the bundled one for a new index."""
        if self._matcher is not None and not isinstance(self._matcher, str | os.PathLike):
            return self._matcher
        own = "bundled" if self._store is None else self._store.about.matcher
        return load_matcher(self._matcher or own, self.device, self.workers, self.precision, compile=self.compile)

    @functools.cached_property
    def captioner(self) -> OpenCaptioner | None:
        """The captioner: the given one, that of the index, or the bundled one for a new index; None for no captions."""
        if self._captioner is None or not isinstance(self._captioner, str | os.PathLike):
            return self._captioner
        own = "bundled" if self._store is None else self._store.about.captioner
        name = own if self._captioner == "auto" else self._captioner
        if not name:
            return None
        return load_captioner(name, self.device, self.workers, self.precision, compile=self.compile)

    def update(
        self,
        folders: Paths,
        *,
        forget: bool = False,
        chunk: int = 256,
        engine: EngineName = "local",
        workers: int = 0,
        gpus: float = 0,
        progress: bool = False,
        verify: bool = False,
    ) -> Changes:
        """Bring the index up to date with folders of photos: new, changed, moved and deleted files.

        folders: paths, or addresses that fsspec reads (s3://bucket/photos).
        forget: remove the photos of a folder that holds none any more; otherwise that raises an Error.
        chunk: photos that become visible together; at most so many are encoded again after a crash.
        verify: encode unchanged photos too, and replace vectors that are not those of their files.
        engine: `ray` encodes on a cluster, with `workers` workers that take `gpus` GPUs each.
        """
        given = [folders] if isinstance(folders, Named) else list(folders)
        roots = checked_roots(given)  # before models are loaded and an index is made
        embedder = embedder_of(self.matcher, self.captioner, self.batch)
        about = about_models(self.matcher, self.captioner)
        make = functools.partial(
            open_embedder, about.matcher, about.captioner, self.device, 1,
            precision=self.precision, compile=self.compile, batch=self.batch,
        )  # fmt: skip
        engine_for = engine_factory(engine, embedder, make, chunk, workers, gpus)
        converted = self._convert()
        store = open_or_make(self.path, about)
        self._store, self._searcher = store, None
        total = count_photos(roots)
        with progress_bar(total, "indexing", enabled=progress, unit="photos") as advance:
            changes = update_index(store, roots, engine_for, chunk, forget, advance, verify=verify, total=total)
        changes.converted = converted
        self.built = store.build(embedder.embed_texts)
        return changes

    def _convert(self) -> int:
        """Move an index of an earlier version into SQLite; the number of its photos."""
        if not is_old(self.path):
            return 0
        from tellapart.search.lance.conversion import convert

        return convert(self.path)

    def search(
        self,
        text: str = "",
        count: int = NEIGHBOURS,
        *,
        like: ImageInput | Iterable[ImageInput] = (),
        unlike: ImageInput | Iterable[ImageInput] = (),
        without: str | Iterable[str] = (),
        folder: Model | None = None,
        after: Day | None = None,
        before: Day | None = None,
        camera: str = "",
        place: str | Place | None = None,
        orientation: str = "",
        exact: bool = False,
        everything: bool = False,
        rerank: OpenMatcher | Model | None = None,
        shortlist: int = SHORTLIST,
        share: float = 0.5,
    ) -> Answer:
        """The photos that match best, best first: a sequence, with the words that are not known.

        like, unlike: images that the photos should and should not resemble. without: text that should not match.
        folder: only photos inside it. after, before: only photos taken on this day or later, and before this day.
        camera: only of cameras whose name contains this. place: only near a latitude and longitude, "48.21,16.37,5" for
        five kilometres around it. orientation: landscape, portrait or square.
        exact: compare with every photo even if there is an approximate index.
        everything: also photos that match too little to be shown.
        rerank: a second matcher that reorders the best `shortlist` photos, with weight `share` in the order.
        """
        if count < 1:
            raise InputError(f"`count` must be at least 1, not {count}.")
        if rerank and not text:
            raise InputError("`rerank` compares photos with a text; give a text, or leave out `rerank`.")
        within = full_folder(folder) if folder else ""
        where = place if isinstance(place, Place) else as_place(place or "")
        days = as_day(after, "after"), as_day(before, "before")
        filters = Filters(within, *days, camera, where, as_orientation(orientation))
        query = self.asked(text, like, unlike, without)
        self._searcher = self._searcher or Searcher(self.store)
        wanted = max(count, shortlist) if rerank else count
        found = answer(self._searcher, query, wanted, filters, exact=exact, everything=everything)
        if rerank:
            check_torch()
            from tellapart.search.rerank import rerank as reranked

            second = load_matcher(rerank, self.device, self.workers) if isinstance(rerank, Named) else rerank
            found = replace(found, photos=reranked(second, found.photos, text, share)[:count])
        return found

    def similar(self, image: ImageInput, count: int = NEIGHBOURS) -> list[Found]:
        """The photos most similar to an image, without copies of its file."""
        itself = content_of(image) if isinstance(image, str | os.PathLike) else ""
        found = self.search("", count + 1, like=[image])
        return [one for one in found if one.content != itself][:count]

    def asked(
        self,
        text: str = "",
        like: ImageInput | Iterable[ImageInput] = (),
        unlike: ImageInput | Iterable[ImageInput] = (),
        without: str | Iterable[str] = (),
    ) -> Query:
        """What to search for: texts and images added, others subtracted; the words of the text, and unknown ones."""
        check_matcher(self.store, self.matcher.fingerprint, lasting_name(self.matcher.run.folder))
        unwanted = list(filter(None, [without] if isinstance(without, str) else without))
        plus, minus = as_images(like)[0], as_images(unlike)[0]
        unknown = self._unknown(" ".join([text, *unwanted]))
        try:
            texts = self._texts([text] if text else [])
        except InputError:  # the matcher knows no word of it, but a caption may
            if plus or unwanted or minus or not captions_have(self.store, text):
                raise
            return Query(np.zeros(self.store.about.width, np.float32), text, unknown)
        vector = combined(
            [*texts, *self.matcher.encode_images(plus)],
            [*self._texts(unwanted), *self.matcher.encode_images(minus)],
        )
        alone = bool(text) and not (unwanted or plus or minus)
        same = math.inf if self.calibration is None else SAME
        return Query(vector, text, unknown, self.calibration if alone else None, same)

    def query(
        self,
        text: str = "",
        like: ImageInput | Iterable[ImageInput] = (),
        unlike: ImageInput | Iterable[ImageInput] = (),
        without: str | Iterable[str] = (),
    ) -> np.ndarray:
        """One vector [E] of what to find: texts and images added, others subtracted."""
        return self.asked(text, like, unlike, without).vector

    @functools.cached_property
    def calibration(self) -> Calibration | None:
        """How the matcher's cosines are read; None for matchers without calibration."""
        return read_calibration(self.matcher.fingerprint)

    def _texts(self, texts: list[str]) -> list[np.ndarray]:
        """Vectors [E] of texts, without the part that all texts have in common."""
        vectors = list(self.matcher.encode_texts(texts))
        if self.calibration is None:
            return vectors
        centre = self.calibration.centre
        return [centre.centred(vector, len(words_of(text))) for vector, text in zip(vectors, texts)]

    @functools.cached_property
    def _lexicon(self) -> Lexicon:
        return lexicon_of(self.matcher.run.vocabulary, self.matcher.run.data.get("rules", {}))

    def _unknown(self, text: str) -> tuple[UnknownWord, ...]:
        """The words of a text that the matcher did not learn; people's captions are read only if there are some."""
        if not self._lexicon.unknown(text):
            return ()
        return tuple(self._lexicon.unknown(text, captions_of_people(self.store)))


def open_index(
    path: Model,
    matcher: OpenMatcher | Model | None = None,
    captioner: OpenCaptioner | Model | None = "auto",
    device: str = "auto",
) -> PhotoIndex:
    """An index of photos in a folder, or at any address that LanceDB takes; the first `update` creates it.

    matcher: a run folder or a loaded matcher; by default that of the index, or the bundled one for a new index.
    captioner: the same for captions; None for an index without captions.
    device: cpu, cuda, …; auto uses an accelerator if there is one.

    >>> import pathlib, tempfile, tellapart as ta
    >>> from PIL import Image
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> Image.new("RGB", (64, 64), "red").save(folder / "red.png")
    >>> index = ta.open_index(folder / "photos.index")
    >>> index.update(folder).added, len(index)
    (1, 1)
    >>> pathlib.Path(index.search("a red wall", everything=True)[0].path).name
    'red.png'
    >>> len(index.search("two dogs on a beach")), index.search("a cta").corrected
    (0, 'a cat')
    """
    return PhotoIndex(os.fspath(path), matcher, captioner, device)
