"""Where each word looked, drawn: the image with every noun's box in the noun's colour, and a heat map a word.

Works for regions and for grid cells alike: a heat map adds up, at every pixel, the weights of the boxes it lies in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from tellapart.core.errors import InputError
from tellapart.core.protocols import Captioner
from tellapart.core.types import Images
from tellapart.models.decoding import Decoded, greedy
from tellapart.text.vocabulary import END, PAD, Vocabulary

if TYPE_CHECKING:
    from PIL import Image, ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

COLOURS = ("#e6194b", "#3cb44b", "#4363d8", "#f58231", "#911eb4", "#008080", "#9a6324", "#f032e6", "#808000", "#000075")
MARGIN = 12
LABEL = 22
"""From one word to the next in a box that several nouns share."""
BACKGROUND = "white"


@dataclass(frozen=True)
class AttentionSupervision:
    """A caption and where its words looked."""

    words: tuple[str, ...]
    attention: np.ndarray  # [T, R]; rows may add up to less than one where the model looked away
    boxes: np.ndarray  # [R, 4] fractions of width and height
    nouns: tuple[bool, ...]

    def __post_init__(self) -> None:
        if self.attention.shape != (len(self.words), len(self.boxes)) or len(self.nouns) != len(self.words):
            raise InputError(
                f"{len(self.words)} words, {len(self.nouns)} noun marks, {len(self.boxes)} boxes and attention of "
                f"shape {self.attention.shape} do not belong together."
            )

    def box_of(self, word: int) -> np.ndarray:
        """The box looked at most [4]."""
        return self.boxes[int(self.attention[word].argmax())]

    @property
    def colours(self) -> list[str | None]:
        """One colour a noun, in the order they are said; None for other words."""
        order = np.cumsum(self.nouns) - 1
        return [COLOURS[int(n) % len(COLOURS)] if noun else None for n, noun in zip(order, self.nouns)]


@torch.no_grad()
def attention_of(
    model: object,
    images: Images,
    vocabulary: Vocabulary,
    nouns: Sequence[bool] | np.ndarray | None = None,
    max_words: int = 20,
) -> AttentionSupervision:
    """Let a captioner speak greedily about one image; `nouns` [V] marks the vocabulary's nouns. Left out, a tagger
    reads the sentence."""
    if not isinstance(model, Captioner):
        raise InputError(f"{type(model).__name__} writes no captions, so there is no attention to draw.")
    if len(images) != 1 or images.boxes is None:
        raise InputError("Attention is drawn for one image, with features that have boxes (grid or regions).")
    if not looks(model):
        raise InputError(f"{type(model).__name__} looks at nothing, so there is no attention to draw.")
    return attention_of_caption(greedy(model, images, max_words), images, 0, vocabulary, nouns)


def looks(model: object) -> bool:
    """Whether a captioner attends to an image's rows: one that sees the image once has no keys in its state."""
    return isinstance(model, Captioner) and "keys" in getattr(model, "image_state", ())


def attention_of_caption(
    said: Decoded,
    images: Images,
    row: int,
    vocabulary: Vocabulary,
    nouns: Sequence[bool] | np.ndarray | None = None,
) -> AttentionSupervision:
    """Where the words of sentence `row` looked in image `row`; for sentences of any decoder."""
    if said.attention is None or images.boxes is None:
        raise InputError("This captioner looks at nothing in particular, so there is no attention to draw.")
    ids = said.tokens[row].tolist()
    ids = [index for index in (ids[: ids.index(END)] if END in ids else ids) if index != PAD]
    real = images.mask[row].cpu()
    attention = said.attention[row, : len(ids)].cpu()[:, real].numpy()
    words = tuple(vocabulary.words[index] for index in ids)
    if nouns is None:
        from tellapart.text.nouns import mark_nouns

        marks = tuple(bool(mark) for mark in mark_nouns([words])[0])
    else:
        marks = tuple(bool(nouns[index]) for index in ids)
    return AttentionSupervision(words, attention, images.boxes[row].cpu()[real].numpy(), marks)


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
    return heat / heat.max() if heat.max() > 0 else heat


def draw_attention(
    image: Image.Image, attention: AttentionSupervision, title: str = "", width: int = 720
) -> Image.Image:
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
        sheet.paste(_lit(small, attention.attention[number], attention.boxes), (left, upper))
        share = float(attention.attention[number].sum())
        label = word if share > 0.99 else f"{word} ({share:.0%})"
        pen.text((left, upper + small_height + 2), label, fill=attention.colours[number] or "black", font=_font(14))
    return sheet


def draw_comparison(
    image: Image.Image, attentions: Sequence[tuple[str, AttentionSupervision]], width: int = 560
) -> Image.Image:
    """Several models' looks at one image, side by side: before and after supervision, say."""
    from PIL import Image

    sheets = [draw_attention(image, attention, title, width) for title, attention in attentions]
    if not sheets:
        raise InputError("There is nothing to compare: give at least one caption.")
    whole = Image.new("RGB", (width * len(sheets), max(sheet.height for sheet in sheets)), BACKGROUND)
    for number, sheet in enumerate(sheets):
        whole.paste(sheet, (number * width, 0))
    return whole


def save_drawing(drawing: Image.Image, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        drawing.save(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror or error}); choose another place.") from error


def _draw_boxes(image: Image.Image, attention: AttentionSupervision) -> None:
    from PIL import ImageDraw

    pen = ImageDraw.Draw(image)
    scale = np.asarray([image.width, image.height, image.width, image.height])
    for number, colour in enumerate(attention.colours):
        if colour is None:
            continue
        left, upper, right, lower = (attention.box_of(number) * scale).tolist()
        # Two nouns may share a box: each is drawn a little further in, its word below the words before.
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


def _wrapped(attention: AttentionSupervision, width: int) -> list[list[int]]:
    """Numbers of the words on each line of the caption."""
    font, used = _font(18), 0.0
    lines: list[list[int]] = [[]]
    for number, word in enumerate(attention.words):
        long = font.getlength(word + " ")
        if lines[-1] and used + long > width:
            lines.append([])
            used = 0.0
        lines[-1].append(number)
        used += long
    return lines


def _draw_caption(
    pen: ImageDraw.ImageDraw, attention: AttentionSupervision, lines: list[list[int]], top: int, line: int
) -> int:
    font = _font(18)
    for numbers in lines:
        left = float(MARGIN)
        for number in numbers:
            pen.text((left, top), attention.words[number], fill=attention.colours[number] or "black", font=font)
            left += font.getlength(attention.words[number] + " ")
        top += line
    return top


def _lit(image: Image.Image, weights: np.ndarray, boxes: np.ndarray) -> Image.Image:
    """The image, bright where the word looked and dark where it did not."""
    from PIL import Image

    heat = heat_map(weights, boxes, image.width, image.height)[..., None]
    return Image.fromarray((np.asarray(image, np.float64) * (0.2 + 0.8 * heat)).round().astype(np.uint8))


def _font(size: int) -> FreeTypeFont | ImageFont:
    from PIL import ImageFont

    return ImageFont.load_default(size)
