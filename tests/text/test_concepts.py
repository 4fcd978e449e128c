"""Concepts of sentences and images."""

import json
from pathlib import Path

import pytest

from tellapart.core.errors import InputError
from tellapart.text.coco_concepts import COCO_80, COCO_SYNONYMS
from tellapart.text.concepts import ConceptDictionary, Found, describe_unknown, plural


def test_the_built_in_list() -> None:
    assert len(COCO_80) == len(set(COCO_80)) == 80
    assert set(COCO_SYNONYMS) <= set(COCO_80)
    written = [other for others in COCO_SYNONYMS.values() for other in others]
    assert len(written) == len(set(written)) and not set(written) & set(COCO_80)


def test_plurals_count_as_their_singular() -> None:
    dictionary = ConceptDictionary.coco()
    words = ["people", "with", "knives", "ride", "buses", "past", "sheep", "benches", "and", "two", "teddy", "bears"]
    assert dictionary.of_sentence(words) == ("person", "knife", "bus", "sheep", "bench", "teddy bear")
    assert [plural(word) for word in ("fireman", "boy", "box", "mouse")] == ["firemen", "boys", "boxes", "mice"]


def test_several_words_as_a_phrase_or_by_the_last_one() -> None:
    words = ["a", "hot", "dog", "beside", "a", "dog", "on", "a", "dining", "table"]
    assert ConceptDictionary.coco().of_sentence(words) == ("hot dog", "dog", "dining table")
    assert ConceptDictionary.coco("last").of_sentence(words) == ("dog", "table")
    assert ConceptDictionary.coco("last", synonyms=False).of_detections(["hot dog"], [0.9]).concepts == ("dog",)


def test_a_concept_is_named_once_and_synonyms_are_one_concept() -> None:
    dictionary = ConceptDictionary.coco()
    assert dictionary.of_sentence(["a", "man", "and", "a", "woman", "and", "a", "man"]) == ("person",)
    assert ConceptDictionary.coco(synonyms=False).of_sentence(["a", "man"]) == ()
    assert dictionary.of_sentence([]) == ()


def test_detections_over_the_score_surest_first_and_unknown_ones_reported() -> None:
    dictionary = ConceptDictionary.coco()
    labels = ["cat", "dog", "wug", "dog", "car", "blicket"]
    found = dictionary.of_detections(labels, [0.3, 0.5, 0.9, 0.7, 0.29, 0.1])
    assert found == Found(("dog", "cat"), (0.7, 0.3), ("wug",))
    assert dictionary.of_detections(labels, [0.9] * 6, most=2).concepts == ("car", "cat")
    sentence = describe_unknown([("wug", 2), ("blicket", 5)])
    assert "blicket (5 images), wug (2 images)" in sentence and describe_unknown([]) == ""


def test_a_label_is_not_taken_for_the_plural_of_another() -> None:
    dictionary = ConceptDictionary(("wine glass", "glasses"), multiword="last")
    assert dictionary.of_sentence(["a", "man", "with", "glasses"]) == ("glasses",)
    assert dictionary.of_sentence(["two", "wine", "glasses"]) == ("glass",)


def test_irregular_plurals_of_things_detectors_know() -> None:
    words = ("tomato", "potato", "mango", "scarf", "bookshelf")
    assert [plural(word) for word in words] == ["tomatoes", "potatoes", "mangoes", "scarves", "bookshelves"]


def test_detectors_may_write_labels_with_capitals(tmp_path: Path) -> None:
    path = tmp_path / "concepts.txt"
    path.write_text("Traffic light\nTomato\n")
    found = ConceptDictionary.read(path).of_detections(["Traffic Light", "Tomato", "Wug"], [0.9, 0.8, 0.7])
    assert found.concepts == ("traffic light", "tomato") and found.unknown == ("Wug",)


def test_a_users_list(tmp_path: Path) -> None:
    path = tmp_path / "concepts.txt"
    path.write_text("Sofa: settee, love seat\n\nlamp\n")
    dictionary = ConceptDictionary.read(path)
    assert dictionary.concepts == ("sofa", "lamp")
    assert dictionary.of_sentence(["two", "lamps", "on", "love", "seats"]) == ("lamp", "sofa")


def test_bad_dictionaries_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n")
    for make in (
        lambda: ConceptDictionary(()),
        lambda: ConceptDictionary(("dog",), {"cat": ("kitten",)}),
        lambda: ConceptDictionary.coco("first"),
        lambda: ConceptDictionary.read(tmp_path / "empty.txt"),
        lambda: ConceptDictionary.read(tmp_path / "absent.txt"),
    ):
        with pytest.raises(InputError):
            make()


def test_every_label_of_a_real_detector_is_known(shared_data: Path) -> None:
    dictionary, without, images = ConceptDictionary.coco(), 0, 0
    with (shared_data / "flickr8k" / "detections.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            found = dictionary.of_detections(row["labels"], row["scores"])
            assert not found.unknown and len(found.concepts) <= 5
            without, images = without + (not found.concepts), images + 1
    assert images == 8091 and without == 52
