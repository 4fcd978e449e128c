"""The plain baselines."""

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tellapart.data.join import CorpusFilter, join_unpaired
from tellapart.models.captioners.concept_baselines import (
    joined_captions,
    joined_concepts,
    nearest_captions,
    nearest_sentences,
)
from unpaired_packs import SENTENCES, corpus_pack, image_pack


def test_joined_concepts() -> None:
    assert joined_concepts(["dog"]) == "a dog"
    assert joined_concepts(["person", "dog", "umbrella"]) == "a person and a dog and an umbrella"


def rows(count: int) -> st.SearchStrategy[np.ndarray]:
    return arrays(np.int32, (count, 3), elements=st.integers(0, 6))


@settings(max_examples=30, deadline=None)
@given(rows(4), rows(7))
def test_nearest_equals_a_loop(images: np.ndarray, sentences: np.ndarray) -> None:
    expected = []
    for image in images.tolist():
        wanted = set(image) - {0}
        overlaps = []
        for sentence in sentences.tolist():
            held = set(sentence) - {0}
            overlaps.append(len(wanted & held) / max(len(wanted | held), 1))
        expected.append(int(np.argmax(overlaps)))
    assert nearest_sentences(images, sentences).tolist() == expected


def test_both_caption_every_image_even_without_concepts(tmp_path: Path) -> None:
    filters = CorpusFilter(least_count=1, held_out=0.0)
    pack = join_unpaired(image_pack(tmp_path / "a"), corpus_pack(tmp_path / "b"), tmp_path / "c", filters=filters).pack
    everything = np.arange(8)
    assert joined_captions(pack, everything)[0] == "a horse and a person"
    assert joined_captions(pack, everything)[5] == "a picture"
    nearest = nearest_captions(pack, everything)
    assert nearest[0] == SENTENCES[0] and nearest[1] == SENTENCES[1] and nearest[4] == SENTENCES[5]
    assert nearest[5] == SENTENCES[0]
