"""Text and JSON that others wrote: gzip files that are broken or grow without end, and JSON that cannot be stored."""

import gzip
import json
from pathlib import Path

import pytest

from tellapart.core import text_files
from tellapart.core.errors import InputError
from tellapart.core.files import load_array, read_json, read_lines
from tellapart.core.json_text import BrokenJson, parse_json
from tellapart.core.text_files import read_text
from tellapart.text.vocabulary import Vocabulary


def test_broken_gzip_is_named_at_every_byte(tmp_path: Path) -> None:
    path, whole = tmp_path / "a.txt.gz", gzip.compress(b"a dog\na cat\n" * 50, mtime=0)
    rejected = 0
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            read_text(path)
        except InputError as error:
            rejected += 1
            assert "a.txt.gz" in str(error)
    assert rejected > len(whole) / 2


def test_gzip_that_grows_without_end_is_rejected_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.txt.gz"
    path.write_bytes(gzip.compress(b"a\n" * 4_000_000))
    monkeypatch.setattr(text_files, "LARGEST_TEXT", 1 << 22)
    with pytest.raises(InputError, match="more than 4 MB of text; if that is right, decompress it first"):
        read_text(path)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('{\n"a": "\\ud800"}', 2, "surrogate"),
        ("[\n\n" + "9" * 5001 + "]", 3, "digits"),
        ("[" * 100_000, 1, "nested"),
        ('{"a": 1,\n}', 2, "property name|trailing comma"),
    ],
)
def test_json_that_cannot_be_stored_is_named_with_its_line(tmp_path: Path, text: str, line: int, what: str) -> None:
    with pytest.raises(BrokenJson, match=what) as raised:
        parse_json(text)
    assert raised.value.line == line
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InputError, match=rf"a\.json, line {line}: broken JSON"):
        read_json(tmp_path / "a.json")
    with pytest.raises(InputError, match=r"a\.json"):
        Vocabulary.load(tmp_path / "a.json")
    with pytest.raises(InputError, match=r"a\.json"):
        read_lines(tmp_path / "a.json")


def test_whole_pairs_and_many_digits_that_fit_are_read() -> None:
    assert parse_json('["\\ud83d\\ude00", ' + "9" * 4000 + "]")[0] == "\U0001f600"
    assert parse_json(json.dumps("\U0001f600")) == "\U0001f600"


def test_a_damaged_array_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00nonsense")
    with pytest.raises(InputError, match=r"a\.npy cannot be used"):
        load_array(tmp_path / "a.npy")
