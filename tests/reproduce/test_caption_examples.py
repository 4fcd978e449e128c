"""Examples of captions by several rows: which images are shown, and what is counted."""

from pathlib import Path

import numpy as np
import pytest

from small_recipes import small_row
from tellapart.core.errors import InputError
from tellapart.data.join import CorpusFilter, join_unpaired
from tellapart.data.pack import Pack
from tellapart.reproduce.cache import Cache, Result
from tellapart.reproduce.caption_examples import caption_examples, examples_as_markdown
from tellapart.reproduce.measurement import Measurement
from tellapart.reproduce.row_recipes import row_hash
from tellapart.reproduce.table import Table
from unpaired_packs import corpus_pack, image_pack

TABLE = Table(
    "t/one",
    "",
    "",
    (small_row("before", "neuraltalk2"), small_row("after", "adaptive-attention")),
    columns=(),
)


def stored(cache: Cache, pack: Pack, row: str, captions: list[str], hits: list[bool] | None) -> None:
    wanted = row_hash(TABLE.only((row,)).rows[0])
    result = Result(
        key=row,
        recipe_hash=wanted,
        recipe={},
        seed=0,
        fingerprint=pack.fingerprint,
        pack="p",
        features=None,
        share=1.0,
        split="test",
        seconds=1.0,
        device="cpu",
    )
    rows = np.arange(len(captions))
    measured = {"captions": Measurement({"words": 1.0}, {"said": np.asarray(captions), "rows": rows})}
    if hits is not None:
        measured["self-retrieval"] = Measurement({"top1": 1.0}, {"top1": 100.0 * np.asarray(hits)})
    cache.store(result, measured, Path("none"))


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    filters = CorpusFilter(least_count=1, held_out=0.34)
    return join_unpaired(image_pack(tmp_path / "a"), corpus_pack(tmp_path / "b"), tmp_path / "c", filters=filters).pack


def test_images_that_one_row_finds_alone(pack: Pack, tmp_path: Path) -> None:
    """Image 0 is found after only, image 1 before only, image 2 by both; image 3 keeps its caption."""
    cache = Cache(tmp_path / "cache")
    stored(cache, pack, "before", ["a horse", "a dog", "a bench", "a cat"], [False, True, True, False])
    stored(cache, pack, "after", ["a man", "two dogs", "the bench", "a cat"], [True, False, True, True])
    found = caption_examples(TABLE, ("before", "after"), cache, pack)
    gained, lost = found.sections.items()
    assert gained[0].startswith("1 of 4") and [example.image for example in gained[1]] == ["p0"]
    assert [example.captions for example in lost[1]] == [("a dog", "two dogs")]
    assert gained[1][0].concepts == ("horse", "person") and gained[1][0].reference == ""
    assert found.counts["captions that change"] == ("75.0%",)
    # Detected: horse and person, dog and frisbee, bench and dog, cat; named: 4 of 7 before and after.
    assert found.counts["detected concepts named"] == ("57.1%", "57.1%")
    text = examples_as_markdown(found, "Figure")
    assert "| image | detected | before | after |" in text and "| p0 | horse, person | a horse | a man |" in text


def test_without_self_retrieval_changes_are_shown(pack: Pack, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    stored(cache, pack, "before", ["a horse", "a dog", "a bench", "a cat"], None)
    stored(cache, pack, "after", ["a man", "a dog", "a bench", "a cat"], None)
    ((what, examples),) = caption_examples(TABLE, ("before", "after"), cache, pack).sections.items()
    assert what == "1 of 4 images: caption changed from before to after" and len(examples) == 1


def test_errors_say_what_is_missing(pack: Pack, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    with pytest.raises(InputError, match="at least two rows"):
        caption_examples(TABLE, ("before",), cache, pack)
    with pytest.raises(InputError, match="no run of 'before'"):
        caption_examples(TABLE, ("before", "after"), cache, pack)
