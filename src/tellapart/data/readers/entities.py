"""Flickr30k Entities: phrases in captions (Sentences/*.txt) and their boxes (Annotations/*.xml)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tellapart.core.errors import InputError
from tellapart.core.text_files import read_text
from tellapart.data.readers.detections import Box, fractions
from tellapart.data.readers.source import Source
from tellapart.text.tokens import normal

TAG = re.compile(r"\[/EN#(?P<entity>\d+)(?P<kinds>(?:/[^\s/\]]+)+) (?P<words>[^\]]*)\]")


@dataclass(frozen=True)
class Mention:
    """Characters start … end - 1 of a sentence name an entity."""

    start: int
    end: int
    entity: str
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class TaggedSentence:
    """A sentence and its mentions of entities."""

    text: str
    mentions: tuple[Mention, ...]


@dataclass(frozen=True)
class EntityImage:
    """The annotations of one image."""

    where: str
    """The file of its sentences."""
    sentences: tuple[TaggedSentence, ...]
    boxes: dict[str, tuple[Box, ...]]
    """Boxes by entity, in fractions of the image; an entity without a box (a scene, or not visible) is absent."""


def find_entities(folder: Path) -> Path | None:
    """The folder of Flickr30k Entities in or under a folder, if any."""
    candidates = (folder, folder / "entities", folder / "flickr30k_entities")
    return next(
        (path for path in candidates if (path / "Sentences").is_dir() and (path / "Annotations").is_dir()), None
    )


def read_entities(folder: Path, ids: list[str], encoding: str = "utf-8") -> tuple[dict[str, EntityImage], Source]:
    """The annotated images among `ids`; an image with broken files is skipped."""
    if not (folder / "Sentences").is_dir() or not (folder / "Annotations").is_dir():
        raise InputError(f"{folder} is not Flickr30k Entities: it needs the folders Sentences and Annotations.")
    source = Source("entities", folder)
    found: dict[str, EntityImage] = {}
    for key in ids:
        sentences, annotation = folder / "Sentences" / f"{key}.txt", folder / "Annotations" / f"{key}.xml"
        if not sentences.is_file():
            source.skip(
                "no entities", key, f"Sentences/{key}.txt", "the file is missing, so its captions have no phrases"
            )
            continue
        lines = [line for line in read_text(sentences, encoding).split("\n") if line.strip()]
        boxes = _boxes(annotation, key, source)
        if boxes is not None:
            found[key] = EntityImage(f"Sentences/{key}.txt", tuple(parse_sentence(line) for line in lines), boxes)
    return found, source


def parse_sentence(line: str) -> TaggedSentence:
    """The plain sentence and its mentions.

    >>> parse_sentence("[/EN#1/people A girl] in [/EN#2/clothing a dress] .").mentions[1]
    Mention(start=10, end=17, entity='2', kinds=('clothing',))
    """
    line = normal(line.strip())
    plain, length, position, mentions = [], 0, 0, []
    for match in TAG.finditer(line):
        before = line[position : match.start()]
        words = match["words"]
        start = length + len(before)
        mentions.append(
            Mention(start, start + len(words), match["entity"], tuple(match["kinds"].strip("/").split("/")))
        )
        plain += [before, words]
        length, position = start + len(words), match.end()
    plain.append(line[position:])
    return TaggedSentence("".join(plain), tuple(mentions))


def _boxes(path: Path, key: str, source: Source) -> dict[str, tuple[Box, ...]] | None:
    """{entity: boxes}. Pixels in the XML count from 1, so 1 is subtracted, as the data set's tools do."""
    where = f"Annotations/{path.name}"
    try:
        root = ElementTree.parse(path).getroot()
        width, height = float(root.findtext("size/width", "")), float(root.findtext("size/height", ""))
        corners: list[list[float]] = []
        names: list[list[str]] = []
        for thing in root.iter("object"):
            box = thing.find("bndbox")
            if box is not None:
                corners.append([float(box.findtext(side, "")) - 1 for side in ("xmin", "ymin", "xmax", "ymax")])
                names.append([name.text or "" for name in thing.findall("name")])
        boxes: dict[str, list[Box]] = {}
        for entities, scaled in zip(names, fractions(corners, width, height), strict=True):
            for entity in entities:
                boxes.setdefault(entity, []).append(scaled)
    except FileNotFoundError:
        source.skip("no entities", key, where, "the file is missing, so its phrases have no boxes and are skipped")
    except (ElementTree.ParseError, ValueError, ZeroDivisionError) as error:
        source.skip("no entities", key, where, f"broken XML ({error}); its phrases are skipped")
    else:
        return {entity: tuple(rows) for entity, rows in boxes.items()}
    return None
