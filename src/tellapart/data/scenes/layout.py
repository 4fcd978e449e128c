"""The layout of scenes: things with a kind, colour, size and place on a ground, in families of similar scenes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tellapart.data.scenes.drawing import COLOURS, GROUNDS, SHAPES

PLACES = (
    "top left corner", "top", "top right corner",
    "left", "middle", "right",
    "bottom left corner", "bottom", "bottom right corner",
)  # fmt: skip
"""Names of the nine cells, row by row."""
FAMILY = 4
"""Scenes per family. They differ in one thing each, so a vague caption fits all of them."""


@dataclass(frozen=True)
class Thing:
    """One thing of a scene."""

    kind: str
    colour: str
    large: bool
    cell: int
    """0 … 8, row by row."""
    shift: tuple[float, float]
    """Position in its cell, -1 … 1 across and down."""

    @property
    def box(self) -> tuple[float, float, float, float]:
        """x1 y1 x2 y2 as fractions of the image."""
        side = 0.3 if self.large else 0.17
        margin = (1 / 3 - side) / 2
        x = (self.cell % 3 + 0.5) / 3 + self.shift[0] * margin
        y = (self.cell // 3 + 0.5) / 3 + self.shift[1] * margin
        return (round(x - side / 2, 4), round(y - side / 2, 4), round(x + side / 2, 4), round(y + side / 2, 4))


@dataclass(frozen=True)
class Scene:
    """A ground and the things on it."""

    ground: str
    things: tuple[Thing, ...]
    family: int


def make_family(family: int, random: np.random.Generator) -> list[Scene]:
    """A scene and similar ones that differ in one colour, one size, two places or one kind."""
    first = _scene(family, random)
    scenes = [first]
    changes = random.permutation(len(CHANGES))
    for number in range(FAMILY - 1):
        for _ in range(50):  # a change may repeat a scene of the family
            other = CHANGES[int(changes[number % len(changes)])](first, random)
            if other not in scenes:
                break
        scenes.append(other)
    return scenes


def _pick(random: np.random.Generator, values: tuple[str, ...]) -> str:
    return values[int(random.integers(len(values)))]


def _scene(family: int, random: np.random.Generator) -> Scene:
    cells = random.permutation(9)[: int(random.integers(2, 5))]
    things: list[Thing] = []
    for cell in cells:
        while True:  # captions could not distinguish two things of one kind and colour
            kind, colour = _pick(random, tuple(SHAPES)), _pick(random, tuple(COLOURS))
            if all((kind, colour) != (thing.kind, thing.colour) for thing in things):
                break
        shift = (round(float(random.uniform(-1, 1)), 2), round(float(random.uniform(-1, 1)), 2))
        things.append(Thing(kind, colour, bool(random.random() < 0.5), int(cell), shift))
    return Scene(_pick(random, tuple(GROUNDS)), tuple(things), family)


def _with(scene: Scene, row: int, thing: Thing) -> Scene:
    return replace(scene, things=(*scene.things[:row], thing, *scene.things[row + 1 :]))


def _another_colour(scene: Scene, random: np.random.Generator) -> Scene:
    row = int(random.integers(len(scene.things)))
    taken = {thing.colour for thing in scene.things}
    colour = _pick(random, tuple(name for name in COLOURS if name not in taken))
    return _with(scene, row, replace(scene.things[row], colour=colour))


def _another_size(scene: Scene, random: np.random.Generator) -> Scene:
    row = int(random.integers(len(scene.things)))
    return _with(scene, row, replace(scene.things[row], large=not scene.things[row].large))


def _another_place(scene: Scene, random: np.random.Generator) -> Scene:
    """Swap two things, so that left becomes right or above becomes below."""
    first, second = (int(row) for row in random.permutation(len(scene.things))[:2])
    one, two = scene.things[first], scene.things[second]
    return _with(_with(scene, first, replace(one, cell=two.cell)), second, replace(two, cell=one.cell))


def _another_kind(scene: Scene, random: np.random.Generator) -> Scene:
    row = int(random.integers(len(scene.things)))
    taken = {thing.kind for thing in scene.things}
    kind = _pick(random, tuple(name for name in SHAPES if name not in taken))
    return _with(scene, row, replace(scene.things[row], kind=kind))


CHANGES = (_another_colour, _another_size, _another_place, _another_kind)
