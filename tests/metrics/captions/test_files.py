"""Every format is read; an error says what is wrong with a file and where."""

import json
from pathlib import Path

import pytest

from tellapart.core.errors import InputError
from tellapart.metrics.captions.files import read_captions


def write(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def test_every_format(tmp_path: Path) -> None:
    rows = [
        {"image_id": 7, "caption": "a dog"},
        {"image_id": 9, "caption": "a cat"},
        {"image_id": 7, "caption": "dogs"},
    ]
    expected = {7: ["a dog", "dogs"], 9: ["a cat"]}
    assert read_captions(write(tmp_path / "annotations.json", {"annotations": rows, "images": []})) == expected
    assert read_captions(write(tmp_path / "results.json", rows)) == expected
    assert (
        read_captions(write(tmp_path / "rows.jsonl", "\n".join(json.dumps(row) for row in rows) + "\n\n")) == expected
    )
    lists = '{"id": "x", "captions": ["a", "b"]}\n{"id": "y", "caption": "c"}'
    assert read_captions(write(tmp_path / "lists.jsonl", lists)) == {"x": ["a", "b"], "y": ["c"]}
    assert read_captions(write(tmp_path / "map.json", {"x": "a", "y": ["b", "c"]})) == {"x": ["a"], "y": ["b", "c"]}
    assert read_captions(write(tmp_path / "plain.txt", "a dog\na cat\ttwo cats\n")) == {
        0: ["a dog"],
        1: ["a cat", "two cats"],
    }
    flickr = write(tmp_path / "token.txt", "one.jpg#0\ta dog\none.jpg#1\tdogs\n")
    assert read_captions(flickr) == {"one.jpg": ["a dog", "dogs"]}
    with_blank = write(tmp_path / "blank.txt", "one.jpg#0\ta dog\n\none.jpg#1\tdogs\n\n")
    assert read_captions(with_blank) == {"one.jpg": ["a dog", "dogs"]}
    odd = write(tmp_path / "odd.jsonl", '{"id": 1, "caption": "a\u2028dog"}\r\n{"id": 2, "caption": "a\x85cat"}\n')
    assert read_captions(odd) == {1: ["a\u2028dog"], 2: ["a\x85cat"]}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "{", "is not JSON"),
        ("a.json", {"info": 3}, "has neither COCO annotations"),
        ("a.json", [3], "entry 0: expected an object"),
        ("a.json", [{"caption": "a"}], "`image_id` is missing"),
        ("a.json", [{"image_id": 1, "caption": 5}], "must be a string"),
        ("a.jsonl", '{"image_id": 1, "caption": "a"}\nx', "line 2 is not JSON"),
        ("a.json", "[" * 100_000, "this JSON cannot be read"),
        ("a.json", '[{"image_id": 1' + "0" * 5000 + "}]", "this JSON cannot be read"),
        ("a.jsonl", "[" * 100_000, "line 1: this JSON cannot be read"),
        ("a.json", [{"image_id": True, "caption": "a"}], "`image_id` is missing or neither"),
        ("a.txt", "one.jpg#0\ta dog\ntwo.jpg#0\ta cat\nthree.jpg a bird\n", "line 3 has no `name#number` and tab"),
        ("a.txt", " \n", "is empty"),
    ],
)
def test_errors_say_what_is_wrong(tmp_path: Path, name: str, content: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_captions(write(tmp_path / name, content))


def test_missing_file_and_wrong_encoding(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_captions(tmp_path / "nowhere.json")
    (tmp_path / "latin.txt").write_bytes("caf\xe9".encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8"):
        read_captions(tmp_path / "latin.txt")
