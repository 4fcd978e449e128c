"""Flickr8k and Flickr30k: `name.jpg#k<TAB>caption` token files, with split lists of one image name per line."""

from __future__ import annotations

import re
from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.core.text_files import read_text
from tellapart.data.readers.source import UNKNOWN_SPLIT, ReaderOptions, Source, SourceCaption, SourceImage
from tellapart.images.formats import image_stem

SPLIT_LIST = re.compile(r"^(?:.*[._-])?(train|dev|val|test)(?:_?images|_?list)?\.txt$", re.IGNORECASE)
SPLIT_NAMES = {"train": "train", "dev": "val", "val": "val", "test": "test"}


def token_file(folder: Path) -> Path | None:
    """The token file in a folder: Flickr8k.token.txt, results_20130124.token, …, but not the lemma file."""
    found = sorted(
        [*folder.glob("*.token"), *folder.glob("*.token.txt"), *folder.glob("*/*.token"), *folder.glob("*/*.token.txt")]
    )
    return found[0] if found else None


def recognise(source: Path) -> bool:
    """Whether a source is a Flickr token file or a folder with one."""
    if source.is_file():
        return source.name.endswith((".token", ".token.txt"))
    return token_file(source) is not None


def read(source: Path, options: ReaderOptions) -> Source:
    """The images and captions of a token file."""
    tokens = options.captions_file or (source if source.is_file() else token_file(source))
    if tokens is None:
        raise InputError(
            f"{source} has no token file (Flickr8k.token.txt, results_20130124.token); give it as `captions_file`."
        )
    folder = source if source.is_dir() else source.parent
    result = Source(name=folder.resolve().name, root=options.images or folder)
    splits = _splits(folder, tokens, options, result)

    images: dict[str, SourceImage] = {}
    seen: set[str] = set()
    for number, line in enumerate(read_text(tokens, options.encoding).split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{tokens.name}, line {number}"
        key, tab, text = line.rstrip("\r").partition("\t")
        name, hash_mark, order = key.partition("#")
        if not tab or not hash_mark or not order.strip().isdigit():
            result.skip("broken line", line[:60], where, "not `name.jpg#number<TAB>caption`; fix the line")
            continue
        if key in seen:
            result.skip("duplicate id", key, where, "this caption id is in the file twice; the first is kept")
            continue
        seen.add(key)
        stem = image_stem(name)
        if stem not in images:
            split = splits.pop(stem, ("none", ""))[0] if splits is not None else UNKNOWN_SPLIT
            images[stem] = SourceImage(stem, name, split, where)
        result.captions.append(SourceCaption(stem, text.strip(), where))
    if not images:
        raise InputError(f"{tokens} has no line of the form `name.jpg#0<TAB>caption`; it is not a Flickr token file.")
    for stem, (_, where) in (splits or {}).items():
        result.skip("image without caption", stem, where, "it is in a split list but has no caption")
    result.images = list(images.values())
    return result


def _splits(folder: Path, tokens: Path, options: ReaderOptions, result: Source) -> dict[str, tuple[str, str]] | None:
    """{stem: (split, where)} from the lists in the folder; None if there are no lists."""
    lists = sorted(
        {path for path in [*folder.glob("*.txt"), *tokens.parent.glob("*.txt")] if SPLIT_LIST.match(path.name)}
    )
    if not lists:
        return None
    splits: dict[str, tuple[str, str]] = {}
    for path in lists:
        match = SPLIT_LIST.match(path.name)
        split = SPLIT_NAMES[match.group(1).lower()] if match else "none"
        for number, line in enumerate(read_text(path, options.encoding).split("\n"), start=1):
            stem, where = image_stem(line.strip()), f"{path.name}, line {number}"
            if not stem:
                continue
            if stem in splits:
                earlier = splits[stem]
                result.skip("duplicate id", stem, where, f"already in split {earlier[0]} ({earlier[1]}), which is kept")
                continue
            splits[stem] = (split, where)
    return splits
