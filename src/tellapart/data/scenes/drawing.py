"""Drawing a scene with Pillow: shapes on a coloured ground, at twice the size and then reduced for smooth edges."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image, ImageDraw

    from tellapart.data.scenes.layout import Scene

Colour = tuple[int, int, int]
Corners = tuple[float, float, float, float]

COLOURS: dict[str, Colour] = {
    "red": (214, 39, 40),
    "blue": (31, 90, 200),
    "yellow": (245, 205, 40),
    "purple": (130, 60, 170),
    "orange": (245, 130, 30),
    "black": (25, 25, 30),
    "white": (248, 248, 248),
    "pink": (245, 130, 180),
}
GROUNDS: dict[str, Colour] = {
    "grass": (120, 175, 95),
    "sand": (222, 200, 150),
    "water": (125, 185, 205),
    "stone": (150, 150, 150),
}
"""No ground has the colour of a thing, so every thing is visible."""
SMOOTHING = 2
OUTLINE: Colour = (60, 60, 60)


def _points(corners: Corners, shape: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Points in fractions of the box as pixels."""
    x1, y1, x2, y2 = corners
    return [(x1 + x * (x2 - x1), y1 + y * (y2 - y1)) for x, y in shape]


def _inner(corners: Corners, x1: float, y1: float, x2: float, y2: float) -> Corners:
    (left, top), (right, bottom) = _points(corners, [(x1, y1), (x2, y2)])
    return (left, top, right, bottom)


def _ball(draw: ImageDraw.ImageDraw, corners: Corners, colour: Colour) -> None:
    draw.ellipse(corners, fill=colour, outline=OUTLINE, width=2)
    draw.arc(_inner(corners, 0.15, 0.15, 0.85, 0.85), 190, 260, fill=(255, 255, 255), width=3)


def _box(draw: ImageDraw.ImageDraw, corners: Corners, colour: Colour) -> None:
    draw.rectangle(corners, fill=colour, outline=OUTLINE, width=2)
    draw.line(_points(corners, [(0, 0.3), (1, 0.3)]), fill=OUTLINE, width=3)


def _house(draw: ImageDraw.ImageDraw, corners: Corners, colour: Colour) -> None:
    draw.rectangle(_inner(corners, 0.12, 0.45, 0.88, 1), fill=colour, outline=OUTLINE, width=2)
    draw.polygon(_points(corners, [(0, 0.45), (0.5, 0), (1, 0.45)]), fill=colour, outline=OUTLINE, width=2)
    draw.rectangle(_inner(corners, 0.4, 0.65, 0.6, 1), fill=OUTLINE)


def _tree(draw: ImageDraw.ImageDraw, corners: Corners, colour: Colour) -> None:
    draw.rectangle(_inner(corners, 0.42, 0.6, 0.58, 1), fill=(110, 75, 45))
    for top in (0.0, 0.25):
        draw.polygon(
            _points(corners, [(0.5, top), (0, top + 0.5), (1, top + 0.5)]), fill=colour, outline=OUTLINE, width=2
        )


def _star(draw: ImageDraw.ImageDraw, corners: Corners, colour: Colour) -> None:
    rays = [(0.5 if k % 2 == 0 else 0.2, math.pi * (k / 5 - 0.5)) for k in range(10)]
    shape = [(0.5 + radius * math.cos(angle), 0.5 + radius * math.sin(angle)) for radius, angle in rays]
    draw.polygon(_points(corners, shape), fill=colour, outline=OUTLINE, width=2)


def _car(draw: ImageDraw.ImageDraw, corners: Corners, colour: Colour) -> None:
    draw.polygon(
        _points(corners, [(0.2, 0.5), (0.35, 0.2), (0.7, 0.2), (0.85, 0.5)]), fill=(200, 225, 235), outline=OUTLINE
    )
    draw.rectangle(_inner(corners, 0, 0.48, 1, 0.8), fill=colour, outline=OUTLINE, width=2)
    for x in (0.15, 0.65):
        draw.ellipse(_inner(corners, x, 0.68, x + 0.22, 0.95), fill=(35, 35, 35))


def _boat(draw: ImageDraw.ImageDraw, corners: Corners, colour: Colour) -> None:
    draw.polygon(_points(corners, [(0, 0.7), (1, 0.7), (0.8, 1), (0.2, 1)]), fill=colour, outline=OUTLINE, width=2)
    draw.line(_points(corners, [(0.5, 0), (0.5, 0.7)]), fill=OUTLINE, width=4)
    draw.polygon(_points(corners, [(0.54, 0.02), (0.95, 0.6), (0.54, 0.6)]), fill=colour, outline=OUTLINE, width=2)


def _flower(draw: ImageDraw.ImageDraw, corners: Corners, colour: Colour) -> None:
    for k in range(6):
        x, y = 0.5 + 0.3 * math.cos(k * math.pi / 3), 0.5 + 0.3 * math.sin(k * math.pi / 3)
        draw.ellipse(_inner(corners, x - 0.2, y - 0.2, x + 0.2, y + 0.2), fill=colour, outline=OUTLINE)
    draw.ellipse(_inner(corners, 0.36, 0.36, 0.64, 0.64), fill=(90, 60, 40))


def _fish(draw: ImageDraw.ImageDraw, corners: Corners, colour: Colour) -> None:
    draw.polygon(_points(corners, [(0.6, 0.5), (1, 0.2), (1, 0.8)]), fill=colour, outline=OUTLINE, width=2)
    draw.ellipse(_inner(corners, 0, 0.2, 0.75, 0.8), fill=colour, outline=OUTLINE, width=2)
    draw.ellipse(_inner(corners, 0.14, 0.38, 0.24, 0.48), fill=(128, 128, 128), outline=OUTLINE)


def _cup(draw: ImageDraw.ImageDraw, corners: Corners, colour: Colour) -> None:
    draw.arc(_inner(corners, 0.55, 0.25, 1, 0.75), 0, 360, fill=OUTLINE, width=5)
    draw.polygon(
        _points(corners, [(0, 0.05), (0.78, 0.05), (0.66, 1), (0.12, 1)]), fill=colour, outline=OUTLINE, width=2
    )


SHAPES: dict[str, Callable[[ImageDraw.ImageDraw, Corners, Colour], None]] = {
    "ball": _ball,
    "box": _box,
    "house": _house,
    "tree": _tree,
    "star": _star,
    "car": _car,
    "boat": _boat,
    "flower": _flower,
    "fish": _fish,
    "cup": _cup,
}


def draw_scene(scene: Scene, size: int) -> Image.Image:
    """The image of a scene, `size` pixels a side."""
    from PIL import Image, ImageDraw

    full = size * SMOOTHING
    image = Image.new("RGB", (full, full), GROUNDS[scene.ground])
    draw = ImageDraw.Draw(image)
    for thing in scene.things:
        x1, y1, x2, y2 = (edge * full for edge in thing.box)
        SHAPES[thing.kind](draw, (x1, y1, x2, y2), COLOURS[thing.colour])
    return image.reduce(SMOOTHING)
