"""What the JSON API takes and gives."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence

from pydantic import BaseModel, Field

from tellapart.search.query import Found
from tellapart.serve import describe
from tellapart.serve.library import Row

LONGEST_CAPTION = 2000


class Problem(BaseModel):
    """What is wrong and what to do next."""

    detail: str


class About(BaseModel):
    """The index that is served, and what may be sent."""

    photos: int
    captions: bool
    """Whether there is a captioner."""
    attention: bool
    """Whether its nouns have boxes."""
    upload_bytes: int
    upload_pixels: int


class FoundPhoto(BaseModel):
    id: str
    name: str
    score: float | None
    caption: str | None
    taken: datetime.datetime | None
    width: int
    height: int


class FoundPhotos(BaseModel):
    """Best first."""

    found: list[FoundPhoto]


class PhotoDetails(BaseModel):
    """An image of the index."""

    id: str
    name: str
    caption: str | None
    """A person's words where there are any, the captioner's otherwise."""
    edited: bool
    written: str | None
    """The captioner's words."""
    taken: datetime.datetime | None
    width: int
    height: int


class NewCaption(BaseModel):
    caption: str | None = Field(max_length=LONGEST_CAPTION)
    """null, or nothing but spaces, goes back to the captioner's words."""


class Word(BaseModel):
    word: str
    noun: bool
    box: tuple[float, float, float, float] | None
    """Where a noun looked: left, top, right, bottom in fractions of width and height."""


class Sentence(BaseModel):
    text: str
    words: list[Word]
    found: float | None
    """How sure it finds its photo among the most similar ones of the index, 0 … 1."""


class Described(BaseModel):
    """A photo that was sent."""

    plain: Sentence | None
    """The likeliest sentence; null without a captioner."""
    apart: Sentence | None
    """The sentence that tells it apart from the index's; null where there is nothing to tell it apart from."""
    similar: list[FoundPhoto]
    preview: str
    """The photo upright and small, as a data: address."""
    width: int
    height: int


def found_images(found: Sequence[Found]) -> list[FoundPhoto]:
    return [
        FoundPhoto(
            id=one.content,
            name=one.path.rsplit("/", 1)[-1],
            score=round(one.score, 4) if math.isfinite(one.score) else None,
            caption=one.caption,
            taken=one.taken,
            width=one.width,
            height=one.height,
        )
        for one in found
    ]


def image(row: Row) -> PhotoDetails:
    return PhotoDetails(id=row.identity, **{name: value for name, value in vars(row).items() if name != "identity"})


def sentence(said: describe.Sentence | None) -> Sentence | None:
    if said is None:
        return None
    words = [Word(word=one.word, noun=one.noun, box=one.box) for one in said.words]
    return Sentence(text=said.text, words=words, found=said.found)
