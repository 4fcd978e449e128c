"""Token files and split lists, Flickr8k's and Flickr30k's."""

from pathlib import Path

import pytest

from data.builders import write
from tellapart.data.readers.flickr import SPLIT_LIST, read
from tellapart.data.readers.source import ReaderOptions


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("Flickr_8k.trainImages.txt", "train"),
        ("Flickr_8k.devImages.txt", "dev"),
        ("flickr30k_val.txt", "val"),
        ("test.txt", "test"),
        ("train_list.txt", "train"),
    ],
)
def test_names_of_split_lists(name: str, split: str) -> None:
    match = SPLIT_LIST.match(name)
    assert match is not None and match.group(1) == split


@pytest.mark.parametrize(
    "name", ["Flickr8k.token.txt", "readme.txt", "ExpertAnnotations.txt", "latest.txt", "contest.txt"]
)
def test_names_of_other_files(name: str) -> None:
    assert SPLIT_LIST.match(name) is None


def test_flickr30k(tmp_path: Path) -> None:
    write(tmp_path / "results_20130124.token", "1.jpg#0\tA dog\n1.jpg#1\tA wet dog\n2.jpg#0\tA cat\n")
    write(tmp_path / "train.txt", "1\n")
    write(tmp_path / "test.txt", "2\n3\n1\n")
    source = read(tmp_path, ReaderOptions())
    assert [(p.id, p.split) for p in source.images] == [("1", "test"), ("2", "test")]
    assert sorted((skip.kind, skip.item) for skip in source.skipped) == [
        ("duplicate id", "1"),
        ("image without caption", "3"),
    ]


def test_bad_lines(tmp_path: Path) -> None:
    write(tmp_path / "x.token.txt", "1.jpg#0\tA dog\n1.jpg A cat\n1.jpg#0\tA cow\n1.jpg#x\tA hen\n")
    source = read(tmp_path, ReaderOptions())
    assert [(skip.kind, skip.where) for skip in source.skipped] == [
        ("broken line", "x.token.txt, line 2"),
        ("duplicate id", "x.token.txt, line 3"),
        ("broken line", "x.token.txt, line 4"),
    ]
    assert [p.split for p in source.images] == [""]
