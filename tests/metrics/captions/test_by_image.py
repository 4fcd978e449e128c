"""Captions as lists, mappings and files become one mapping by image id."""

import json
from pathlib import Path

import pytest

from tellapart.core.errors import InputError
from tellapart.metrics.captions.by_image import (
    candidates_by_image,
    references_by_image,
    reject_empty,
    with_reference_ids,
)


def write(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def test_references_of_several_files_come_together(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a.txt", "a dog\na cat"), write(tmp_path / "b.txt", "dogs\ncats\n")
    assert references_by_image([first, second]) == {0: ["a dog", "dogs"], 1: ["a cat", "cats"]}
    with pytest.raises(InputError, match="must have the same images"):
        references_by_image([first, write(tmp_path / "c.txt", "one line")])
    with pytest.raises(InputError, match="references is empty"):
        references_by_image([])


def test_ids_may_be_numbers_here_and_strings_there(tmp_path: Path) -> None:
    """Keys of a JSON object are strings, COCO's ids are numbers; where both kinds occur nothing is guessed."""
    first = write(tmp_path / "a.json", [{"image_id": 7, "caption": "a dog"}])
    assert references_by_image([first, write(tmp_path / "b.json", {"7": "dogs"})]) == {7: ["a dog", "dogs"]}
    assert with_reference_ids({"7": "a", "8": "b"}, {7: ["c"]}) == {7: "a", "8": "b"}
    assert with_reference_ids({"7": "a"}, {7: ["c"], "7": ["d"]}) == {"7": "a"}
    assert with_reference_ids({"7": "a", 7: "b"}, {7: ["c"]}) == {"7": "a", 7: "b"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a dog\n\na cat\n", "1 captions are empty; the first belongs to image 1"),
        ("a\tb\n", "1 images have more than one caption, the first of them 0"),
        ("a dog\na cat\n", "1 captions are for images without references, the first of them 1"),
    ],
)
def test_candidates_that_do_not_fit(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        candidates_by_image(write(tmp_path / "a.txt", content), {0: ["a dog"]})


def test_empty_captions_can_be_allowed(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "a dog\n\n")
    assert candidates_by_image(path, {0: ["a"], 1: ["b"]}, allow_empty=True) == {0: "a dog", 1: ""}


def test_lists_and_mappings() -> None:
    assert references_by_image(["a dog", "a cat"]) == {0: ["a dog"], 1: ["a cat"]}
    assert references_by_image([["a dog", "dogs"], ["a cat"]]) == {0: ["a dog", "dogs"], 1: ["a cat"]}
    assert references_by_image({"x": "a dog", "y": ("a cat",)}) == {"x": ["a dog"], "y": ["a cat"]}
    assert candidates_by_image({"y": "b", "x": "a"}, {"x": ["c"], "y": ["d"]}) == {"x": "a", "y": "b"}
    for wrong in ([["a"], []], {"x": []}):
        with pytest.raises(InputError, match="has no caption"):
            references_by_image(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="one string, not int: 3"):
        references_by_image([[3]])  # type: ignore[list-item]


def test_one_empty_caption_of_several_is_rejected() -> None:
    captions = {"1": ["a dog", " "], "2": ["a cat"]}
    with pytest.raises(InputError):
        reject_empty(captions, "refs.json", allow_empty=False)
    reject_empty(captions, "refs.json", allow_empty=True)
    reject_empty({"1": ["a dog"]}, "refs.json", allow_empty=False)
