"""Posts with one caption and emojis, as in InstaPIC-1.1M: {user: {post: {"caption": …}}}.

The image of a post is `user_@_post.jpg`. A list of posts, [{"image": …, "caption": …}], and JSONL of the same are read
too. Each image has one caption; a second one is skipped as a duplicate. Emojis are words under every rule of
tellapart.text.tokens but `spaces`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tellapart.core.errors import InputError
from tellapart.data.readers.folder import CAPTION_COLUMNS, IMAGE_COLUMNS
from tellapart.data.readers.source import (
    ReaderOptions,
    Source,
    SourceCaption,
    SourceImage,
    json_lines,
    read_json_text,
)
from tellapart.images.formats import image_stem

SPLITS = (("train", "train"), ("test1", "test"), ("test2", "test2"), ("val", "val"), ("dev", "val"), ("test", "test"))


def post_files(folder: Path) -> list[Path]:
    """The files of posts in a folder, train first."""
    patterns = ("insta-caption-*.json", "json/insta-caption-*.json", "posts*.json", "posts*.jsonl")
    found = {path for pattern in patterns for path in folder.glob(pattern)}
    # Train before test: an image in both is kept in train.
    return sorted(found, key=lambda path: (split_of(path) != "train", path))


def split_of(path: Path) -> str:
    """The split in a file name; empty if it names none."""
    return next((split for word, split in SPLITS if word in path.stem.lower()), "")


def recognise(source: Path) -> bool:
    """Whether a source is a file of posts or a folder with some."""
    if source.is_dir():
        return bool(post_files(source))
    return source.name.startswith(("insta-caption-", "posts")) and source.suffix in (".json", ".jsonl")


def read(source: Path, options: ReaderOptions) -> Source:
    """The images and captions of files of posts."""
    files = [options.captions_file] if options.captions_file else [source] if source.is_file() else post_files(source)
    if not files:
        raise InputError(
            f"{source} has no posts (insta-caption-*.json, posts.json, posts.jsonl); give them as `captions_file`."
        )
    folder = source if source.is_dir() else source.parent
    result = Source(name=folder.resolve().name, root=options.images or folder)
    seen: dict[str, str] = {}
    for path in files:
        split = split_of(path)
        for where, name, text in _posts(path, options, result):
            key = image_stem(name)
            if key in seen:
                result.skip("duplicate id", key, where, f"a post has one caption, which is in {seen[key]}")
                continue
            seen[key] = where
            result.images.append(SourceImage(key, name, split, where))
            result.captions.append(SourceCaption(key, text.strip(), where))
    return result


def _posts(path: Path, options: ReaderOptions, result: Source) -> Iterator[tuple[str, str, str]]:
    """(where, image name, caption) of each post."""
    if path.suffix == ".jsonl":
        for where, row in json_lines(path, result, options.encoding):
            yield from _one(where, row, options, result)
        return
    content = read_json_text(path, options.encoding)
    if isinstance(content, list):
        for index, row in enumerate(content):
            yield from _one(f"{path.name}, [{index}]", row, options, result)
    elif isinstance(content, dict):
        for user, posts in content.items():
            for post, row in posts.items() if isinstance(posts, dict) else ():
                where = f"{path.name}, {user}/{post}"
                yield from _one(
                    where, {"image": f"{user}_@_{post}", **row} if isinstance(row, dict) else row, options, result
                )
    else:
        raise InputError(f"{path} is neither a list of posts nor {{user: {{post: …}}}}; check the file.")


def _one(where: str, row: Any, options: ReaderOptions, result: Source) -> Iterator[tuple[str, str, str]]:
    image = caption = None
    if isinstance(row, dict):
        image = next((row[name] for name in (options.image_column, *IMAGE_COLUMNS) if name in row), None)
        caption = next((row[name] for name in (options.caption_column, *CAPTION_COLUMNS) if name in row), None)
    if image is None or not isinstance(caption, str):
        reason = "a post needs an image and a caption; name its fields with `image_column` and `caption_column`"
        result.skip("broken line", str(row)[:60], where, reason)
        return
    yield where, str(image), caption
