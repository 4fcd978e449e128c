"""An index stores how sure its captions are."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from embeds_colours import Colours, fill, paint
from tellapart.images.verified_file import VerifiedFile
from tellapart.search.embedded import Embedded
from tellapart.search.embedder import Embedder
from tellapart.search.protocol import Store
from tellapart.search.query import Found, Searcher


class Unsure(Colours):
    """Is sure of everything but blue."""

    def embed_photos(self, photos: Iterable[VerifiedFile]) -> Iterator[Embedded]:
        for one in super().embed_photos(photos):
            blue = [caption == "blue" for caption in one.captions or []]
            yield replace(one, confidence=[0.25 if yes else 0.75 for yes in blue], sure=[not yes for yes in blue])


def found(store: Store) -> dict[str, Found]:
    query = np.ones(store.about.width) / store.about.width**0.5
    return {Path(one.path).name: one for one in Searcher(store).nearest(query)}


def test_confidence_is_stored_copied_and_returned(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    paint(photos / "red.png", (200, 0, 0)), paint(photos / "blue.png", (0, 0, 200))
    store, _ = fill(tmp_path / "index", Unsure(), photos)
    known = found(store)
    assert (known["red.png"].sure, known["red.png"].confidence) == (True, 0.75)
    assert (known["blue.png"].sure, known["blue.png"].confidence) == (False, 0.25)
    (photos / "blue.png").rename(photos / "sea.png")
    store, changes = fill(tmp_path / "index", Unsure(), photos)
    assert changes.carried == 1 and found(store)["sea.png"].confidence == 0.25


def test_a_caption_that_a_person_wrote_has_no_confidence(tmp_path: Path) -> None:
    blue = paint(tmp_path / "photos" / "blue.png", (0, 0, 200))
    store, _ = fill(tmp_path / "index", Unsure(), tmp_path / "photos")
    store.edit(str(blue), "the sea")
    assert (found(store)["blue.png"].sure, found(store)["blue.png"].confidence) == (None, None)


def test_the_bundled_models_are_as_sure_as_the_captioner_says(tmp_path: Path) -> None:
    from tellapart.inference.captioning import load_captioner
    from tellapart.inference.matching import load_matcher

    pixels = np.random.default_rng(0).integers(0, 255, (64, 64, 3)).astype(np.uint8)
    captioner, matcher = load_captioner(device="cpu"), load_matcher(device="cpu")
    (embedded,) = Embedder(matcher, captioner).embed_photos([pixels])
    caption = captioner.caption(pixels)
    assert caption.confidence is not None and embedded.confidence is not None and embedded.captions is not None
    assert (embedded.captions[0], embedded.sure) == (caption.text, [caption.sure])
    assert embedded.confidence[0] == pytest.approx(caption.confidence, abs=0.02)
