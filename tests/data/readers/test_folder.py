"""Tables of captions and text files beside images, in the shapes people have them."""

from pathlib import Path

import pytest

from data.builders import draw, write
from tellapart.core.errors import InputError
from tellapart.data.readers.folder import read
from tellapart.data.readers.source import ReaderOptions


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("captions.csv", 'image,caption\na.jpg,"a dog, wet"\na.jpg,one dog\nb.png,a cat\n'),
        ("captions.csv", '\ufeffImage,Caption\na.jpg,"a dog, wet"\na.jpg,one dog\nb.png,a cat\n'),
        (
            "results.csv",
            "image_name| comment_number| comment\na.jpg| 0| a dog, wet\na.jpg| 1| one dog\nb.png| 0| a cat\n",
        ),
        ("captions.tsv", "filename\ttext\na.jpg\ta dog, wet\na.jpg\tone dog\nb.png\ta cat\n"),
        ("captions.txt", 'image,caption\na.jpg,"a dog, wet"\na.jpg,one dog\nb.png,a cat\n'),
        ("no_header.csv", 'a.jpg,"a dog, wet"\na.jpg,one dog\nb.png,a cat\n'),
        (
            "metadata.jsonl",
            '{"file_name": "a.jpg", "text": ["a dog, wet", "one dog"]}\n\n{"file_name": "b.png", "text": "a cat"}\n',
        ),
    ],
)
def test_tables(tmp_path: Path, name: str, text: str) -> None:
    draw(tmp_path, ["a.jpg", "b.png"])
    write(tmp_path / name, text)
    source = read(tmp_path, ReaderOptions())
    assert [image.id for image in source.images] == ["a", "b"]
    assert [(c.image, c.text) for c in source.captions] == [("a", "a dog, wet"), ("a", "one dog"), ("b", "a cat")]
    assert not source.skipped


def test_named_columns_and_splits(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", "key,words,part\nx/a.jpg,a dog,training\ny/a.jpg,a cat,validation\n")
    options = ReaderOptions(image_column="key", caption_column="words", split_column="part")
    source = read(tmp_path / "t.csv", options)
    assert [(p.id, p.split) for p in source.images] == [("x/a", "train"), ("y/a", "val")]
    with pytest.raises(InputError, match="has no column 'foo'; it has key, words, part"):
        read(tmp_path / "t.csv", ReaderOptions(image_column="foo"))


def test_a_image_in_two_splits(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", "image,caption,split\na.jpg,a dog,train\na.jpg,a cat,test\n")
    source = read(tmp_path / "t.csv", ReaderOptions())
    assert [(skip.kind, skip.where) for skip in source.skipped] == [("duplicate id", "t.csv, line 3")]


def test_quoted_line_breaks_keep_line_numbers(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", 'image,caption\na.jpg,"a dog\nthat runs"\nb.jpg\nc.jpg,a cow\n')
    source = read(tmp_path / "t.csv", ReaderOptions())
    assert [c.where for c in source.captions] == ["t.csv, line 2", "t.csv, line 5"]
    assert source.skipped[0].where == "t.csv, line 4"


def test_text_beside_each_image(tmp_path: Path) -> None:
    draw(tmp_path, ["train/a.jpg", "test/b.jpg", "test/c.jpg"])
    write(tmp_path / "train/a.txt", "a dog\none dog\n")
    write(tmp_path / "test/b.txt", "a cat")
    source = read(tmp_path, ReaderOptions())
    assert {(p.id, p.split) for p in source.images} == {("train/a", "train"), ("test/b", "test")}
    assert sorted(c.text for c in source.captions) == ["a cat", "a dog", "one dog"]
    assert [(skip.kind, skip.item) for skip in source.skipped] == [("image without caption", "test/c.jpg")]


def test_two_tables_need_a_word_from_the_user(tmp_path: Path) -> None:
    write(tmp_path / "captions_a.csv", "image,caption\n")
    write(tmp_path / "captions_b.csv", "image,caption\n")
    with pytest.raises(InputError, match=r"several tables .*`captions_file`"):
        read(tmp_path, ReaderOptions())
