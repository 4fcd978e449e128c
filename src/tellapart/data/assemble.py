"""From what a reader read to what a pack holds: pictures found and checked, splits decided, captions cut into words."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tellapart.data.pack import NO_PICTURE, Caption, Picture
from tellapart.data.pictures import Check, NamedFiles, PictureIndex, check_pictures
from tellapart.data.readers.source import NO_NUMBER, UNKNOWN_SPLIT, Skipped, Source, SourceCaption, SourcePicture
from tellapart.errors import InputError
from tellapart.text.rules import TextRules

CORPUS = "corpus"
"""The split of sentences joined to pictures that are not theirs."""


@dataclass
class Assembled:
    root: Path
    pictures: list[Picture] = field(default_factory=list)
    captions: list[Caption] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    """The source's own ids of the captions, one each, -1 for those it does not number; empty where it numbers none."""
    skipped: list[Skipped] = field(default_factory=list)
    declared: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Sizes the source states for its pictures, by id."""
    absent: set[str] = field(default_factory=set)
    """Ids of pictures the source names but which were left out."""
    mentions: int = 0
    """Phrases that Entities tags in the sentences of these pictures, placed or not."""
    cut: int = 0
    """Captions shortened to the longest length."""


def parse_shares(text: str) -> dict[str, float]:
    """'0.8/0.1/0.1' -> shares of train, val and test.

    >>> parse_shares("0.9/0.1")
    {'train': 0.9, 'val': 0.1, 'test': 0.0}
    """
    try:
        shares = [float(part) for part in text.split("/")]
    except ValueError:
        shares = []
    if not 1 <= len(shares) <= 3 or any(share < 0 for share in shares) or abs(sum(shares) - 1) > 1e-6:
        raise InputError(f"--split '{text}' is not up to three shares that add up to 1; write for example 0.8/0.1/0.1.")
    return dict(zip(("train", "val", "test"), [*shares, 0.0, 0.0], strict=False))


def hashed_split(key: str, shares: Mapping[str, float], seed: int) -> str:
    """The split a name falls in: it depends on the name and the seed alone, so that new items move no old one."""
    number = int.from_bytes(hashlib.sha256(f"{seed}:{key}".encode()).digest()[:8], "big") / 2**64
    for name, share in shares.items():
        if number < share:
            return name
        number -= share
    return max(shares, key=lambda name: shares[name])


def decide_splits(
    source: Source, shares: Mapping[str, float], seed: int, join_restval: bool
) -> tuple[list[str], list[str]]:
    """Splits of the source's pictures and of its unpaired sentences; hashed where the source says nothing at all."""

    def decide(given: Sequence[str], keys: Iterable[str]) -> list[str]:
        if given and all(split == UNKNOWN_SPLIT for split in given):
            return [hashed_split(key, shares, seed) for key in keys]
        return ["train" if join_restval and split == "restval" else split or "none" for split in given]

    unpaired = [caption for caption in source.captions if caption.picture is None]
    return (
        decide([picture.split for picture in source.pictures], (picture.id for picture in source.pictures)),
        decide([caption.split for caption in unpaired], (caption.text for caption in unpaired)),
    )


def assemble(
    source: Source,
    rules: TextRules,
    splits: tuple[list[str], list[str]],
    check: Check,
    keep_uncaptioned: bool,
    tick: Callable[[], None],
) -> Assembled:
    result = Assembled(root=source.root.resolve(), skipped=list(source.skipped))
    index = None if not source.pictures else (NamedFiles if source.by_path else PictureIndex)(result.root)
    if isinstance(index, PictureIndex) and not index.files:
        raise InputError(f"{source.root} holds no pictures; say where they lie with --pictures FOLDER.")
    if isinstance(index, PictureIndex):
        reason = "its name is not UTF-8; rename it"
        result.skipped += [Skipped("bad file name", name, name, reason) for name in sorted(index.misnamed)]
    captioned = _with_words(source, rules, result)
    placed = _locate(source, splits[0], index, captioned, keep_uncaptioned, result) if index is not None else []
    checked = check_pictures([result.root / file for _, _, file in placed], check, tick)
    rows: dict[str, int] = {}
    for (picture, split, file), found in zip(placed, checked, strict=True):
        if found.fault:
            result.absent.add(picture.id)
            reason = f"{result.root / file}: {found.fault}; replace or remove it. Its captions are left out"
            result.skipped.append(Skipped(found.kind, picture.name, picture.where, reason))
            continue
        rows[picture.id] = len(result.pictures)
        result.pictures.append(Picture(picture.id, file, split, found.width, found.height))
        result.declared[picture.id] = (picture.width or found.width, picture.height or found.height)
    _place_captions(source, captioned, rows, splits[1], result)
    return result


def _with_words(source: Source, rules: TextRules, result: Assembled) -> list[tuple[SourceCaption, list[str]]]:
    """Captions with their words."""
    kept = list(zip(source.captions, rules.split(caption.text for caption in source.captions), strict=True))
    if rules.max_length is not None:
        at_limit = [caption.text for caption, words in kept if len(words) == rules.max_length]
        result.cut = sum(len(rules.words_in_place(text)) > rules.max_length for text in at_limit)
    return kept


def _locate(
    source: Source,
    splits: Sequence[str],
    index: PictureIndex | NamedFiles,
    captioned: Sequence[tuple[SourceCaption, list[str]]],
    keep_uncaptioned: bool,
    result: Assembled,
) -> list[tuple[SourcePicture, str, str]]:
    """(picture, split, file) of each picture that has a caption and one file on disk."""
    described = {caption.picture for caption, words in captioned if words}
    counts: dict[str, int] = {}
    for caption, _ in captioned:
        if caption.picture is not None:
            counts[caption.picture] = counts.get(caption.picture, 0) + 1
    placed: list[tuple[SourcePicture, str, str]] = []
    used: set[str] = set()
    for picture, split in zip(source.pictures, splits, strict=True):
        files = index.find(picture.name)
        used.update(files)
        if len(files) == 1 and (keep_uncaptioned or picture.id in described):
            placed.append((picture, split, files[0]))
            continue
        result.absent.add(picture.id)
        captions = counts.get(picture.id, 0)
        lost = "its caption is" if captions == 1 else f"its {captions} captions are"
        if not files:
            kind, reason = "missing picture", f"no file of that name under {index.folder}; add it. So {lost} left out"
        elif len(files) > 1:
            kind, reason = (
                "ambiguous picture",
                f"{' and '.join(files[:3])} could both be meant; rename one. So {lost} left out",
            )
        else:
            kind, reason = (
                "picture without caption",
                "it has no caption with a word in it; write one or use --keep-uncaptioned",
            )
        result.skipped.append(Skipped(kind, picture.name, picture.where, reason))
    listed = {skip.item for skip in source.skipped}
    for file in index.files:
        if file not in used and file not in listed:
            if keep_uncaptioned:
                placed.append((SourcePicture(file, file), "none", file))
            else:
                reason = "no caption speaks of it; add one or use --keep-uncaptioned"
                result.skipped.append(Skipped("picture without caption", file, file, reason))
    return placed


def _place_captions(
    source: Source,
    captioned: Sequence[tuple[SourceCaption, list[str]]],
    rows: Mapping[str, int],
    unpaired_splits: Sequence[str],
    result: Assembled,
) -> None:
    """Give every caption its picture's row and split; strangers and empty ones are listed."""
    splits = iter(unpaired_splits)
    for caption, words in captioned:
        split = next(splits) if caption.picture is None else ""
        if caption.picture is not None and caption.picture not in rows:
            if caption.picture not in result.absent:
                reason = "a caption of a picture that the source does not have; correct the name or remove the line"
                result.skipped.append(Skipped("unknown picture", caption.picture, caption.where, reason))
        elif not words:
            reason = "the caption is empty" if not caption.text else "no word is left of it under the text rules"
            result.skipped.append(
                Skipped("empty caption", caption.text[:60] or "(empty)", caption.where, f"{reason}; write one")
            )
        else:
            row = NO_PICTURE if caption.picture is None else rows[caption.picture]
            split = split or result.pictures[row].split
            result.captions.append(Caption(row, caption.text, tuple(words), split))
            result.numbers.append(caption.number)
    if all(number == NO_NUMBER for number in result.numbers):
        result.numbers = []
    if not result.captions and not result.pictures:
        first = f" The first: {result.skipped[0].where}: {result.skipped[0].reason}." if result.skipped else ""
        raise InputError(
            f"Nothing of {source.name} can be used: all of it was left out ({len(result.skipped)} items).{first}"
        )
