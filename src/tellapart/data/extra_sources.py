"""What a pack may hold besides images and captions: unpaired sentences, detections, phrases of Flickr30k Entities."""

from __future__ import annotations

from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.data.assemble import Assembled
from tellapart.data.pack_types import Detections, Phrase
from tellapart.data.phrases import join_phrases
from tellapart.data.readers import corpus
from tellapart.data.readers.detections import KnownImage, find_detections, read_detections
from tellapart.data.readers.entities import find_entities, read_entities
from tellapart.data.readers.source import ReaderOptions, Source
from tellapart.data.splits import CORPUS
from tellapart.images.formats import image_stem
from tellapart.text.rules import TextRules


def add_corpus(path: Path, encoding: str, source: Source, splits: list[str]) -> None:
    """Append the sentences of a corpus to the source, all in the split `corpus`."""
    sentences = corpus.read(path, ReaderOptions(encoding=encoding))
    source.captions += sentences.captions
    splits += [CORPUS] * len(sentences.captions)


def _chosen_path(choice: str, found: Path | None, argument: str) -> Path | None:
    """The path that a choice stands for: none, what was found next to the source, or the path itself."""
    if choice == "none":
        return None
    if choice == "auto":
        return found
    if not Path(choice).exists():
        raise InputError(f"{choice} does not exist; `{argument}` must be a path, auto or none.")
    return Path(choice)


def read_extra_detections(choice: str, encoding: str, folder: Path, assembled: Assembled) -> list[Detections]:
    """Detections of the assembled images; what cannot be used is listed as skipped."""
    path = _chosen_path(choice, find_detections(folder), "detections")
    if path is None:
        return []
    known: dict[str, KnownImage] = {}
    for row, image in enumerate(assembled.images):
        place = KnownImage(row, *assembled.declared.get(image.id, (image.width, image.height)))
        known.setdefault(image_stem(image.file), place)
        known[image.id] = place
    absent = {image_stem(key) for key in assembled.absent}
    detections, skipped = read_detections(path, known, absent, encoding)
    assembled.skipped += skipped
    return detections


def read_extra_phrases(
    choice: str, encoding: str, folder: Path, assembled: Assembled, rules: TextRules
) -> list[Phrase]:
    """Phrases of the assembled captions. Entities names an image by Flickr's number, which begins its file name."""
    path = _chosen_path(choice, find_entities(folder), "entities")
    if path is None:
        return []
    numbers = [image_stem(image.file).split("_")[0] for image in assembled.images]
    found, source = read_entities(path, numbers, encoding)
    captions_of: dict[int, list[int]] = {}
    for row, caption in enumerate(assembled.captions):
        captions_of.setdefault(caption.image, []).append(row)
    by_row = {row: found[number] for row, number in enumerate(numbers) if number in found}
    assembled.mentions = sum(len(sentence.mentions) for one in by_row.values() for sentence in one.sentences)
    phrases, skipped = join_phrases(by_row, assembled.captions, captions_of, rules)
    assembled.skipped += source.skipped + skipped
    return phrases
