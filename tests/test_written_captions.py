"""Captions are shown as people write them, "a cat's face", and scored as before."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from PIL import Image, ImageDraw

from embeds_colours import Colours, fill, paint
from tellapart import score
from tellapart.images.verified_file import VerifiedFile
from tellapart.inference.caption_attention import CaptionAttention
from tellapart.inference.generated import GeneratedCaptions, caption_of
from tellapart.inference.light.decoded import Captions
from tellapart.metrics.captions.ptb.tokenizer import tokenize
from tellapart.search.embedded import Embedded
from tellapart.search.query import Searcher
from tellapart.text.written import as_written

APART, WRITTEN = "a cat 's face is n't there", "a cat's face isn't there"
GENERATED = GeneratedCaptions(
    [APART], Captions(np.zeros((1, 1), np.int64), np.zeros(1, np.float32)), [-1.0], likeliest=[APART]
)


@pytest.mark.parametrize("part", ["'s", "'re", "'d", "'m", "'ve", "'ll", "n't"])
def test_only_second_parts_are_joined(part: str) -> None:
    first = "does" if part == "n't" else "dogs"
    for caption in (f"the {first} {part} ball", f"they do {part}", f"a {first} {part} cat is {part} tail"):
        assert as_written(caption) == caption.replace(f" {part}", part)
        assert tokenize([as_written(caption)]) == tokenize([caption])
    unchanged = f"{part} at 5 o'clock in the u.s. 'sofa' s n't-shirt man n't"
    assert as_written(unchanged) == unchanged


def test_scores_stay_the_same() -> None:
    references = {1: ["a close up of a cat's face", "the cat isn't looking"], 2: ["two dogs"]}
    each = [score(references, {1: text, 2: "two dogs 's"}) for text in (APART, WRITTEN)]
    assert each[0] == each[1]


def test_captions_of_images_and_of_the_api() -> None:
    from tellapart.serve.describe import Describer

    caption = caption_of(GENERATED, 0, (), None)
    assert (caption.text, caption.likeliest) == (WRITTEN, WRITTEN)
    words = tuple(APART.split())
    attention = CaptionAttention(
        words, np.eye(7, dtype=np.float32)[:, :4], np.ones((4, 4)), tuple(word == "cat" for word in words)
    )
    for found in (attention, None):
        embedder = SimpleNamespace(has_captions=True, attends=True, attention_of=lambda *given, it=found: it)
        describer = Describer(cast(Any, SimpleNamespace(embedder=embedder)))
        described = describer._caption(GENERATED, None, 0, [])
        assert described.text == " ".join(word.text for word in described.words) == WRITTEN
        assert next(word.text for word in described.words if word.noun) == "cat's"


class Possessive(Colours):
    """Captions every photo with words of the Penn Treebank."""

    def embed_photos(self, photos: Iterable[VerifiedFile]) -> Iterator[Embedded]:
        for one in super().embed_photos(photos):
            yield replace(one, captions=[APART])


def test_captions_of_an_index_old_or_new(tmp_path: Path) -> None:
    paint(tmp_path / "photos" / "red.png", (200, 0, 0))
    store, _ = fill(tmp_path / "index", Possessive(), tmp_path / "photos")
    (row,) = store.rows(["path", "caption"])
    assert row["caption"] == WRITTEN
    store.put_columns([{"path": row["path"], "caption": APART}])  # as an earlier version stored it
    (found,) = Searcher(store).nearest(np.asarray([1, 0, 0], np.float32))
    assert found.caption == WRITTEN


def test_drawn_captions_have_no_gap() -> None:
    from tellapart.report.attention import _draw_caption, _wrapped

    def drawn(words: tuple[str, ...]) -> np.ndarray:
        sheet = Image.new("RGB", (200, 40), "white")
        attention = CaptionAttention(words, np.ones((len(words), 1)), np.ones((1, 4)), (False,) * len(words))
        _draw_caption(ImageDraw.Draw(sheet), attention, _wrapped(attention, 35), 0, 20)
        return np.asarray(sheet).min(2) < 128

    parts, whole = drawn(("cat", "'s")), drawn(("cat's",))
    assert np.abs(parts.any(0).nonzero()[0].max() - whole.any(0).nonzero()[0].max()) <= 2  # kerning
    assert not parts[20:].any()
