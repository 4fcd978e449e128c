"""From what a reader returns to what a pack holds: image files found and checked, captions split into words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.core.progress import Advance
from tellapart.data.pack_types import NO_IMAGE, Caption, PackImage
from tellapart.data.readers.source import NO_NUMBER, Skipped, Source, SourceCaption, SourceImage
from tellapart.images.checking import Check, Checked, check_images
from tellapart.images.file_index import ImageFileIndex, NamedFiles
from tellapart.text.rules import TextRules
from tellapart.text.vocabulary import Vocabulary


@dataclass
class Assembled:
    """Images and captions of a pack before it is written."""

    root: Path
    images: list[PackImage] = field(default_factory=list)
    captions: list[Caption] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    """The source's ids of the captions, -1 for those without; empty if none has one."""
    skipped: list[Skipped] = field(default_factory=list)
    declared: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Image sizes that the source states, by id."""
    absent: set[str] = field(default_factory=set)
    """Ids of images that the source names but that were skipped."""
    mentions: int = 0
    """Phrases that Entities tags in the captions of these images, placed or not."""
    cut: int = 0
    """Number of captions cut to the maximum length."""


def assemble(
    source: Source,
    rules: TextRules,
    splits: tuple[list[str], list[str]],
    check: Check,
    keep_uncaptioned: bool,
    advance: Advance,
    vocabulary: Vocabulary | None = None,
) -> Assembled:
    """The images with a file and the captions with words; everything else is listed as skipped."""
    result = Assembled(root=source.root.resolve(), skipped=list(source.skipped))
    index = None
    if source.images and not source.without_files:
        index = (NamedFiles if source.by_path else ImageFileIndex)(result.root)
    if isinstance(index, ImageFileIndex) and not index.files:
        raise InputError(f"{source.root} holds no images; give their folder with `images=FOLDER`.")
    if isinstance(index, ImageFileIndex):
        reason = "its name is not UTF-8; rename it"
        result.skipped += [Skipped("bad file name", name, name, reason) for name in sorted(index.misnamed)]
    captioned = _with_words(source, rules, vocabulary, result)
    if source.without_files:
        placed = [(image, split, "") for image, split in zip(source.images, splits[0], strict=True)]
        checked = [Checked(image.width, image.height) for image in source.images]
    else:
        placed = _locate(source, splits[0], index, captioned, keep_uncaptioned, result) if index is not None else []
        checked = check_images([result.root / file for _, _, file in placed], check, advance)
    rows: dict[str, int] = {}
    for (image, split, file), found in zip(placed, checked, strict=True):
        if found.fault:
            result.absent.add(image.id)
            reason = f"{result.root / file}: {found.fault}; replace or remove it. Its captions are skipped"
            result.skipped.append(Skipped(found.kind, image.name, image.where, reason))
            continue
        rows[image.id] = len(result.images)
        result.images.append(PackImage(image.id, file, split, found.width, found.height))
        result.declared[image.id] = (image.width or found.width, image.height or found.height)
    _place_captions(source, captioned, rows, splits[1], result)
    return result


def _with_words(
    source: Source, rules: TextRules, vocabulary: Vocabulary | None, result: Assembled
) -> list[tuple[SourceCaption, list[str]]]:
    """Captions with their words; counts those that are cut."""
    words = rules.split((caption.text for caption in source.captions), vocabulary)
    kept = list(zip(source.captions, words, strict=True))
    if rules.max_length is not None:
        at_limit = [caption.text for caption, words in kept if len(words) == rules.max_length]
        whole = replace(rules, max_length=None).split(at_limit, vocabulary)
        result.cut = sum(len(words) > rules.max_length for words in whole)
    return kept


def _locate(
    source: Source,
    splits: Sequence[str],
    index: ImageFileIndex | NamedFiles,
    captioned: Sequence[tuple[SourceCaption, list[str]]],
    keep_uncaptioned: bool,
    result: Assembled,
) -> list[tuple[SourceImage, str, str]]:
    """(image, split, file) of each image with a caption and exactly one file."""
    described = {caption.image for caption, words in captioned if words}
    counts: dict[str, int] = {}
    for caption, _ in captioned:
        if caption.image is not None:
            counts[caption.image] = counts.get(caption.image, 0) + 1
    placed: list[tuple[SourceImage, str, str]] = []
    used: set[str] = set()
    for image, split in zip(source.images, splits, strict=True):
        files = index.find(image.name)
        used.update(files)
        if len(files) == 1 and (keep_uncaptioned or image.id in described):
            placed.append((image, split, files[0]))
            continue
        result.absent.add(image.id)
        captions = counts.get(image.id, 0)
        lost = "Its caption is" if captions == 1 else f"Its {captions} captions are"
        if not files:
            kind, reason = "missing image", f"no file of that name under {index.folder}; add it. {lost} skipped"
        elif len(files) > 1:
            kind, reason = (
                "ambiguous image",
                f"{' and '.join(files[:3])} match the name; rename one. {lost} skipped",
            )
        else:
            kind, reason = (
                "image without caption",
                "it has no caption with a word; write one or set `keep_uncaptioned`",
            )
        result.skipped.append(Skipped(kind, image.name, image.where, reason))
    listed = {skip.item for skip in source.skipped}
    for file in index.files:
        if file not in used and file not in listed:
            if keep_uncaptioned:
                placed.append((SourceImage(file, file), "none", file))
            else:
                reason = "it has no caption; add one or set `keep_uncaptioned`"
                result.skipped.append(Skipped("image without caption", file, file, reason))
    return placed


def _place_captions(
    source: Source,
    captioned: Sequence[tuple[SourceCaption, list[str]]],
    rows: Mapping[str, int],
    unpaired_splits: Sequence[str],
    result: Assembled,
) -> None:
    """Give every caption the row and split of its image; captions of unknown images and empty ones are skipped."""
    splits = iter(unpaired_splits)
    for caption, words in captioned:
        split = next(splits) if caption.image is None else ""
        if caption.image is not None and caption.image not in rows:
            if caption.image not in result.absent:
                reason = "its image is not in the source; correct the name or remove the line"
                result.skipped.append(Skipped("unknown image", caption.image, caption.where, reason))
        elif not words:
            reason = "the caption is empty" if not caption.text else "the text rules leave no word of it"
            result.skipped.append(
                Skipped("empty caption", caption.text[:60] or "(empty)", caption.where, f"{reason}; write one")
            )
        else:
            row = NO_IMAGE if caption.image is None else rows[caption.image]
            split = split or result.images[row].split
            result.captions.append(Caption(row, caption.text, tuple(words), split))
            result.numbers.append(caption.number)
    if all(number == NO_NUMBER for number in result.numbers):
        result.numbers = []
    if not result.captions and not result.images:
        first = f" The first: {result.skipped[0].where}: {result.skipped[0].reason}." if result.skipped else ""
        raise InputError(f"Nothing in {source.name} can be used: all {len(result.skipped)} items were skipped.{first}")
