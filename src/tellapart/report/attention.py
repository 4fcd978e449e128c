"""Attention of each word, drawn: the image with the box of every noun in the noun's colour, and a heat map per word.

Works for regions and grid cells: a heat map is, at every pixel, the sum of the weights of the boxes around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tellapart.core.errors import InputError
from tellapart.inference.caption_attention import CaptionAttention
from tellapart.text.written import continues

if TYPE_CHECKING:
    from PIL import Image, ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

COLOURS = ("#e6194b", "#3cb44b", "#4363d8", "#f58231", "#911eb4", "#008080", "#9a6324", "#f032e6", "#808000", "#000075")
MARGIN = 12
LABEL = 22
"""Distance from one word to the next in a box that several nouns share."""
BACKGROUND = "white"


def noun_colours(attention: CaptionAttention) -> list[str | None]:
    """One colour per noun, in the order of the words; None for other words."""
    order = np.cumsum(attention.nouns) - 1
    return [COLOURS[int(n) % len(COLOURS)] if noun else None for n, noun in zip(order, attention.nouns)]


def heat_map(weights: np.ndarray, boxes: np.ndarray, width: int, height: int) -> np.ndarray:
    """[height, width] in 0 … 1: the sum of the weights [R] of the boxes [R, 4] over each pixel, brightest 1.

    >>> heat_map(np.array([0.2, 0.8]), np.array([[0, 0, 1, 1], [0, 0, 0.5, 1]]), 2, 1).tolist()
    [[1.0, 0.2]]
    """
    across = (np.arange(width) + 0.5) / width
    down = (np.arange(height) + 0.5) / height
    inside_x = (across >= boxes[:, :1]) & (across <= boxes[:, 2:3])  # [R, W]
    inside_y = (down >= boxes[:, 1:2]) & (down <= boxes[:, 3:4])  # [R, H]
    heat = np.einsum("r,rh,rw->hw", weights, inside_y.astype(np.float64), inside_x.astype(np.float64))
    return heat / heat.max() if heat.max() > 0 else heat  # type: ignore[no-any-return]


def draw_attention(image: Image.Image, attention: CaptionAttention, title: str = "", width: int = 720) -> Image.Image:
    """The image with nouns and boxes, the caption below it, and the strip of heat maps below that."""
    from PIL import Image, ImageDraw

    inner = width - 2 * MARGIN
    large = image.convert("RGB").resize((inner, max(1, round(image.height * inner / image.width))))
    _draw_boxes(large, attention)
    columns = max(1, min(6, len(attention.words)))
    small_width = (inner - (columns - 1) * 6) // columns
    small_height = max(1, round(image.height * small_width / image.width))
    rows = -(-len(attention.words) // columns)
    line = 22
    caption = _wrapped(attention, inner)
    head = line + 8 if title else 0
    height = MARGIN + head + large.height + 8 + line * len(caption) + 10 + rows * (small_height + line + 4) + MARGIN
    sheet = Image.new("RGB", (width, height), BACKGROUND)
    pen = ImageDraw.Draw(sheet)
    if title:
        pen.text((MARGIN, MARGIN), title, fill="black", font=_font(18))
    top = MARGIN + head
    sheet.paste(large, (MARGIN, top))
    top += large.height + 8
    top = _draw_caption(pen, attention, caption, top, line)
    small = image.convert("RGB").resize((small_width, small_height))
    for number, word in enumerate(attention.words):
        left = MARGIN + (number % columns) * (small_width + 6)
        upper = top + 10 + (number // columns) * (small_height + line + 4)
        sheet.paste(_highlighted(small, attention.weights[number], attention.boxes), (left, upper))
        share = float(attention.weights[number].sum())
        label = word if share > 0.99 else f"{word} ({share:.0%})"
        pen.text(
            (left, upper + small_height + 2), label, fill=noun_colours(attention)[number] or "black", font=_font(14)
        )
    return sheet


def draw_comparison(
    image: Image.Image, attentions: Sequence[tuple[str, CaptionAttention]], width: int = 560
) -> Image.Image:
    """The attention of several models on one image, side by side, such as before and after supervision."""
    from PIL import Image

    sheets = [draw_attention(image, attention, title, width) for title, attention in attentions]
    if not sheets:
        raise InputError("Nothing to compare: give at least one caption.")
    whole = Image.new("RGB", (width * len(sheets), max(sheet.height for sheet in sheets)), BACKGROUND)
    for number, sheet in enumerate(sheets):
        whole.paste(sheet, (number * width, 0))
    return whole


def save_drawing(drawing: Image.Image, path: Path) -> None:
    """Write a drawing to a file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        drawing.save(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror or error}).") from error


def _draw_boxes(image: Image.Image, attention: CaptionAttention) -> None:
    from PIL import ImageDraw

    pen = ImageDraw.Draw(image)
    scale = np.asarray([image.width, image.height, image.width, image.height])
    for number, colour in enumerate(noun_colours(attention)):
        if colour is None:
            continue
        left, upper, right, lower = (attention.box_of(number) * scale).tolist()
        # Two nouns may share a box: each is drawn further inside, with its word below the words before.
        inset = 2 * (sum(attention.nouns[:number]) % 4)
        above = sum(
            attention.nouns[n] and bool((attention.box_of(n) == attention.box_of(number)).all()) for n in range(number)
        )
        right, lower = max(left, right - 1), max(upper, lower - 1)
        inset = min(inset, (right - left) / 2, (lower - upper) / 2)
        pen.rectangle((left + inset, upper + inset, right - inset, lower - inset), outline=colour, width=3)
        place = (left + inset + 4, upper + inset + 3 + LABEL * above)
        end = pen.textbbox(place, attention.words[number], font=_font(16))
        pen.rectangle((end[0] - 2, end[1] - 2, end[2] + 2, end[3] + 2), fill="white")
        pen.text(place, attention.words[number], fill=colour, font=_font(16))


def _wrapped(attention: CaptionAttention, width: int) -> list[list[int]]:
    """Indices of the words on each line of the caption."""
    font, used = _font(18), 0.0
    lines: list[list[int]] = [[]]
    for number, word in enumerate(attention.words):
        long = font.getlength(word + " ")
        inside = bool(lines[-1]) and continues(word, attention.words[number - 1])
        if lines[-1] and used + long > width and not inside:
            lines.append([])
            used = 0.0
        lines[-1].append(number)
        used += long
    return lines


def _draw_caption(
    pen: ImageDraw.ImageDraw, attention: CaptionAttention, lines: list[list[int]], top: int, line: int
) -> int:
    font = _font(18)
    for numbers in lines:
        left = float(MARGIN)
        for number in numbers:
            word = attention.words[number]
            if number > numbers[0] and not continues(word, attention.words[number - 1]):
                left += font.getlength(" ")
            pen.text((left, top), word, fill=noun_colours(attention)[number] or "black", font=font)
            left += font.getlength(word)
        top += line
    return top


def _highlighted(image: Image.Image, weights: np.ndarray, boxes: np.ndarray) -> Image.Image:
    """The image, bright where the word attends and dark elsewhere."""
    from PIL import Image

    heat = heat_map(weights, boxes, image.width, image.height)[..., None]
    return Image.fromarray((np.asarray(image, np.float64) * (0.2 + 0.8 * heat)).round().astype(np.uint8))


def _font(size: int) -> FreeTypeFont | ImageFont:
    from PIL import ImageFont

    return ImageFont.load_default(size)
