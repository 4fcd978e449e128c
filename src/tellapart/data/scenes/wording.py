"""Five captions per scene with different wordings, and the words that name each thing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tellapart.data.scenes.layout import PLACES, Scene, Thing

NUMBERS = ("no", "one", "two", "three", "four")


@dataclass(frozen=True)
class Part:
    """Some words of a caption and the things they name (none for the words between)."""

    words: str
    things: tuple[int, ...] = ()


def _article(words: str) -> str:
    return f"an {words}" if words[0] in "aeiou" else f"a {words}"


def _named(scene: Scene, row: int, sized: bool = False, article: str = "a") -> Part:
    thing = scene.things[row]
    size = f"{'large' if thing.large else 'small'} " if sized else ""
    words = f"{size}{thing.colour} {thing.kind}"
    return Part(_article(words) if article == "a" else f"{article} {words}", (row,))


def _at(thing: Thing) -> str:
    place = PLACES[thing.cell]
    if place.endswith("corner") or place == "middle":
        return f"in the {place}"
    return f"at the {place}" if place in ("top", "bottom") else f"on the {place}"


def relation(first: Thing, second: Thing) -> str:
    """Where the first thing is relative to the second, by the larger of their distances across and down."""
    across, down = first.cell % 3 - second.cell % 3, first.cell // 3 - second.cell // 3
    if abs(across) >= abs(down):
        return "to the left of" if across < 0 else "to the right of"
    return "above" if down < 0 else "below"


def _two(scene: Scene, random: np.random.Generator) -> tuple[int, int]:
    first, second = random.permutation(len(scene.things))[:2]
    return int(first), int(second)


def _lying(scene: Scene, random: np.random.Generator) -> list[Part]:
    """a small red ball is to the left of a large blue house"""
    one, two = _two(scene, random)
    how = relation(scene.things[one], scene.things[two])
    return [_named(scene, one, sized=True), Part(f"is {how}"), _named(scene, two, sized=True)]


def _ground(scene: Scene, random: np.random.Generator) -> list[Part]:
    """on the sand there is a red ball below a blue house"""
    one, two = _two(scene, random)
    how = relation(scene.things[one], scene.things[two])
    return [Part(f"on the {scene.ground} there is"), _named(scene, one), Part(how), _named(scene, two)]


def _placed(scene: Scene, random: np.random.Generator) -> list[Part]:
    """the red ball is in the top left corner and the blue house at the bottom"""
    one, two = _two(scene, random)
    return [
        _named(scene, one, article="the"),
        Part(f"is {_at(scene.things[one])} and"),
        _named(scene, two, article="the"),
        Part(_at(scene.things[two])),
    ]


def _all_named(scene: Scene, random: np.random.Generator) -> list[Part]:
    """a red ball , a blue house and a white star on grass"""
    order = [int(row) for row in random.permutation(len(scene.things))]
    parts: list[Part] = []
    for place, row in enumerate(order):
        if place:
            parts.append(Part("and" if place == len(order) - 1 else ","))
        parts.append(_named(scene, row))
    return [*parts, Part(f"on {scene.ground}")]


def _counted(scene: Scene, random: np.random.Generator) -> list[Part]:
    """three things on the grass , one of them a small red ball"""
    row = int(random.integers(len(scene.things)))
    everything = tuple(range(len(scene.things)))
    number = NUMBERS[len(scene.things)]
    return [
        Part(f"{number} things", everything),
        Part(f"on the {scene.ground} , one of them"),
        _named(scene, row, sized=True),
    ]


def _vague(scene: Scene, random: np.random.Generator) -> list[Part]:
    """a ball and a house"""
    one, two = _two(scene, random)
    return [
        Part(_article(scene.things[one].kind), (one,)),
        Part("and"),
        Part(_article(scene.things[two].kind), (two,)),
    ]


def _seen(scene: Scene, random: np.random.Generator) -> list[Part]:
    """you can see a large house near a red ball"""
    one, two = _two(scene, random)
    size = "large" if scene.things[one].large else "small"
    return [
        Part("you can see"),
        Part(f"a {size} {scene.things[one].kind}", (one,)),
        Part("near"),
        _named(scene, two),
    ]


WORDINGS: tuple[Callable[[Scene, np.random.Generator], list[Part]], ...] = (
    _lying,
    _ground,
    _placed,
    _all_named,
    _counted,
    _vague,
    _seen,
)


def describe(scene: Scene, random: np.random.Generator, count: int = 5) -> list[list[Part]]:
    """`count` captions, each with another wording."""
    chosen = sorted(int(row) for row in random.permutation(len(WORDINGS))[:count])
    return [WORDINGS[row](scene, random) for row in chosen]
