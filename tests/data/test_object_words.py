"""Object words in a pack: which words, which boxes, and what is left out."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grounded_world import LEFT, RIGHT, grounded_pack
from tellapart.core.errors import InputError
from tellapart.data.annotate import noun_column
from tellapart.data.annotate_objects import ObjectSettings, annotate_objects, clipped
from tellapart.data.object_words import open_objects
from tellapart.data.pack import Pack
from tellapart.data.pack_types import Caption, PackImage, Phrase
from tellapart.data.write_pack import write_pack
from tellapart.text.vocabulary import Vocabulary


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    return grounded_pack(tmp_path_factory.mktemp("grounded") / "pack")


def test_words_classes_and_boxes(pack: Pack) -> None:
    objects = open_objects(pack)
    assert objects.classes == ("dog", "man")  # 8 each in training, so in alphabetical order
    first = objects.of_captions(np.asarray([0, 1]))
    assert objects.place[first].tolist() == [1, 4, 0, 3]
    assert [objects.classes[k] for k in objects.word_class[first]] == ["dog", "man", "man", "dog"]
    boxes, mask = objects.padded_boxes
    assert mask[first].sum(1).tolist() == [1, 1, 1, 1]
    # Two boxes become the one that holds both; a box outside the image is dropped.
    assert boxes[first][:, 0].tolist() == [list(LEFT), list(RIGHT), list(RIGHT), list(LEFT)]


def test_what_is_left_out(pack: Pack) -> None:
    report = open_objects(pack).facts["report"]
    assert report == {
        "phrases": 40, "without_box": 8, "without_object": 0, "outside": 8, "rare": 0, "words": 32, "classes": 2,
    }  # fmt: skip


def test_a_caption_with_no_noun_is_not_judged(pack: Pack) -> None:
    assert open_objects(pack).annotated[:3].tolist() == [True, True, False]


def test_every_vocabulary_word_has_its_class(pack: Pack) -> None:
    objects = open_objects(pack)
    known = {word: int(k) for word, k in zip(pack.vocabulary.words, objects.vocabulary_class) if k >= 0}
    assert known == {"dog": 0, "men": 1}


def test_each_box_is_a_setting_and_so_is_the_class_list(tmp_path: Path) -> None:
    pack = grounded_pack(tmp_path / "pack")
    (tmp_path / "classes.txt").write_text("man\nunicorn\n", encoding="utf-8")
    report = annotate_objects(pack, ObjectSettings(boxes="each", class_file=tmp_path / "classes.txt"))
    objects = open_objects(pack)
    assert objects.classes == ("man", "unicorn") and report.rare == 16 and report.words == 16
    assert objects.padded_boxes[1][:2].sum(1).tolist() == [2, 1]
    with pytest.raises(InputError, match="union"):
        annotate_objects(pack, ObjectSettings(boxes="some"))
    with pytest.raises(InputError, match="`object_least`"):
        annotate_objects(pack, ObjectSettings(least=1000))


def test_a_box_outside_the_image() -> None:
    phrase = Phrase(0, 0, 1, ((-0.5, 0.25, 0.5, 0.75), (1.1, 0, 1.4, 1), (0.3, 0.3, 0.3, 0.9)))
    assert clipped(phrase).tolist() == [[0.0, 0.25, 0.5, 0.75]]
    assert clipped(replace(phrase, boxes=())).shape == (0, 4)


@pytest.mark.parametrize("marked", [True, False])
def test_a_rare_word_heads_its_phrase_too(tmp_path: Path, marked: bool) -> None:
    """ "jumphouse" is not in the vocabulary, so the noun column leaves it out; its box must not become the water's."""
    captions = [Caption(0, text, tuple(text.split()), "train") for text in ("a water jumphouse", "the water")]
    phrases = [Phrase(0, 0, 3, (LEFT,)), Phrase(1, 0, 2, (RIGHT,))]
    words = Vocabulary.from_words(["a", "the", "water"])
    pack = write_pack(tmp_path / "rare", "rare", "", [PackImage("0", "", "train")], captions, words, {}, phrases)
    if marked:
        column = noun_column([caption.words for caption in captions], words)
        assert column.values.tolist() == [False, True, False, False, True]
        pack.save_column("nouns", column.values, column.per, column.facts)
    annotate_objects(pack, ObjectSettings(least=1))
    objects = open_objects(pack)
    named = [(objects.classes[k], box.tolist()) for k, box in zip(objects.word_class, objects.boxes)]
    assert named == [("jumphouse", list(LEFT)), ("water", list(RIGHT))]


def test_a_pack_without_phrases_is_rejected(tmp_path: Path) -> None:
    caption = Caption(0, "a dog", ("a", "dog"), "train")
    words = Vocabulary.from_words(["a", "dog"])
    pack = write_pack(tmp_path / "bare", "bare", "", [PackImage("0", "", "train")], [caption], words, {})
    with pytest.raises(InputError, match="no phrases"):
        annotate_objects(pack)
    with pytest.raises(InputError, match="annotate"):
        open_objects(pack)


def test_annotate_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tellapart.cli.main import main

    pack = grounded_pack(tmp_path / "pack")
    assert main(["annotate", str(pack.folder), "--objects", "--object-least", "2", "--object-boxes", "each"]) == 0
    assert "32 object words of 2 classes from 40 phrases" in capsys.readouterr().out
    assert open_objects(pack).facts["settings"]["boxes"] == "each"
