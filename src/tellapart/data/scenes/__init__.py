"""`scenes`: images that the package draws itself, for the demo and the tests; never evidence of quality.

Each scene has two to four things with a kind, colour, size and place. It has five captions with different wordings, the
phrases that name each thing, and the boxes of the things as detections. Scenes come in families of four that differ in
one thing each, so that only a caption that names the difference finds its image. A family is in one split.
The same seed gives the same bytes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tellapart.core.errors import InputError
from tellapart.data.assemble import Assembled
from tellapart.data.pack import Pack
from tellapart.data.pack_types import Caption, Detections, PackImage, Phrase
from tellapart.data.scenes.drawing import draw_scene
from tellapart.data.scenes.layout import FAMILY, Scene, make_family
from tellapart.data.scenes.wording import Part, describe
from tellapart.data.write_prepared import count_vocabulary, write_prepared
from tellapart.text.rules import TextRules

RULES = TextRules(min_count=1)


def scenes_of(count: int, seed: int) -> list[Scene]:
    """The first `count` scenes of a seed; a larger count does not change the first ones."""
    scenes: list[Scene] = []
    for family in range((count + FAMILY - 1) // FAMILY):
        scenes += make_family(family, np.random.default_rng([seed, family]))
    return scenes[:count]


def _split(family: int, families: int) -> str:
    """The last tenth of the families is test, the tenth before it val; at least one family each."""
    tenth = max(1, families // 10)
    return "test" if family >= families - tenth else "val" if family >= families - 2 * tenth else "train"


def make_scenes(out: Path, count: int = 600, seed: int = 0, size: int = 160) -> Pack:
    """Draw the images into OUT/images and write the pack around them."""
    if count < 3 * FAMILY or not 32 <= size <= 2048:
        raise InputError(
            f"Scenes need a count of at least {3 * FAMILY} and a size of 32 to 2048, not {count} and {size}."
        )
    out = Path(out)
    scenes = scenes_of(count, seed)
    families = scenes[-1].family + 1
    assembled = Assembled(root=out)
    phrases: list[Phrase] = []
    detections: list[Detections] = []
    for row, scene in enumerate(scenes):
        name, split = f"scene-{row:05d}", _split(scene.family, families)
        assembled.images.append(PackImage(name, f"images/{name}.png", split, size, size))
        labels, boxes = tuple(thing.kind for thing in scene.things), tuple(thing.box for thing in scene.things)
        detections.append(Detections(row, boxes, (1.0,) * len(boxes), labels))
        for parts in describe(scene, np.random.default_rng([seed, 1, row])):
            _add_caption(parts, scene, row, split, assembled.captions, phrases)

    def draw(folder: Path) -> None:
        (folder / "images").mkdir()
        for row, scene in enumerate(scenes):
            draw_scene(scene, size).save(folder / assembled.images[row].file, compress_level=1)

    vocabulary = count_vocabulary(RULES, assembled.captions, detections)
    facts = {"source": "scenes", "format": "scenes", "seed": seed}
    return write_prepared(
        out,
        assembled,
        name="scenes",
        root="",
        vocabulary=vocabulary,
        rules=RULES,
        phrases=phrases,
        detections=detections,
        nouns=True,
        facts=facts,
        fill=draw,
    )


def _add_caption(
    parts: list[Part], scene: Scene, row: int, split: str, captions: list[Caption], phrases: list[Phrase]
) -> None:
    """Append one caption and its phrases."""
    words: list[str] = []
    for part, split_words in zip(parts, RULES.split(part.words for part in parts), strict=True):
        if part.things:
            boxes = tuple(scene.things[thing].box for thing in part.things)
            entity = "+".join(str(thing) for thing in part.things)
            kinds = tuple(dict.fromkeys(scene.things[thing].kind for thing in part.things))
            phrases.append(Phrase(len(captions), len(words), len(words) + len(split_words), boxes, entity, kinds))
        words += split_words
    text = " ".join(part.words for part in parts)
    captions.append(Caption(row, text[0].upper() + text[1:] + " .", tuple(words), split))
