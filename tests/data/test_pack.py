"""A pack on disk: what is written comes back, and what does not fit is rejected."""

from pathlib import Path

import numpy as np
import pytest

from tellapart.core.errors import InputError
from tellapart.core.files import write_json
from tellapart.data.pack import Pack
from tellapart.data.pack_types import Caption, Column, Detections, PackImage, Phrase
from tellapart.data.write_pack import write_pack
from tellapart.text.vocabulary import UNK, Vocabulary

IMAGES = [PackImage("a", "a.jpg", "train", 40, 30), PackImage("b", "b.jpg", "val", 20, 20)]
CAPTIONS = [
    Caption(1, "A cat.", ("a", "cat"), "val"),
    Caption(0, "A dog!", ("a", "dog"), "train"),
    Caption(-1, "Alone", ("alone",), "train"),
]
PHRASES = [Phrase(1, 0, 2, ((0.1, 0.2, 0.3, 0.4),), "7", ("animals",))]
DETECTIONS = [Detections(0, ((0.0, 0.0, 1.0, 1.0),), (0.5,), ("dog",))]


def build(folder: Path, captions: list[Caption] = CAPTIONS) -> Pack:
    vocabulary = Vocabulary.from_words(["a", "dog"])
    columns = {"odd": Column(np.arange(len(captions)), "caption", {"why": "test"})}
    return write_pack(folder, "tiny", "pictures", IMAGES, captions, vocabulary, {}, PHRASES, DETECTIONS, {}, columns)


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    pack = build(tmp_path / "pack")
    assert pack.images == IMAGES and pack.captions == CAPTIONS and pack.phrases == PHRASES
    assert pack.detections == {0: DETECTIONS[0]}
    assert pack.tokens.tolist() == [4, UNK, 4, 5, UNK] and pack.offsets.tolist() == [0, 2, 4, 5]
    assert pack.owner.tolist() == [1, 0, -1] and pack.captions_of == [[1], [0]]
    assert pack.image_path(0) == tmp_path / "pack" / "pictures" / "a.jpg"
    column = pack.column("odd")
    assert column.values.tolist() == [0, 1, 2] and (column.per, column.facts) == ("caption", {"why": "test"})


def test_splits(tmp_path: Path) -> None:
    pack = build(tmp_path / "pack")
    assert pack.split("train").images.tolist() == [0] and pack.split("train").captions.tolist() == [1, 2]
    assert pack.split("all").captions.tolist() == [0, 1, 2]
    with pytest.raises(InputError, match="nothing in the split 'tset'; it has train, val"):
        pack.split("tset")


def test_fingerprint_follows_the_captions(tmp_path: Path) -> None:
    same, other = build(tmp_path / "one"), build(tmp_path / "two")
    assert same.fingerprint == other.fingerprint
    assert build(tmp_path / "three", CAPTIONS[:2]).fingerprint != same.fingerprint


def test_columns_must_have_a_row_for_each(tmp_path: Path) -> None:
    pack = build(tmp_path / "pack")
    pack.save_column("mask", np.zeros(5, dtype=bool), "token")
    assert pack.has_column("mask") and not pack.has_column("nouns")
    with pytest.raises(InputError, match="3 rows per token"):
        pack.save_column("mask", np.zeros(3), "token")
    with pytest.raises(InputError, match="no column 'nouns'; annotate it first"):
        pack.column("nouns")


def test_other_folders_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not a pack: it has no pack.json"):
        Pack(tmp_path)
    write_json(tmp_path / "pack.json", {"format": 99})
    with pytest.raises(InputError, match="pack format 99"):
        Pack(tmp_path)
