"""The JSON that the API accepts and returns."""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Iterable, Sequence

from pydantic import BaseModel, Field

from tellapart.search import edit_history
from tellapart.search.answer import Answer
from tellapart.search.query import Found
from tellapart.serve import describe, library

MAX_CAPTION = 2000


class Problem(BaseModel):
    """What is wrong and what to do."""

    detail: str


class Indexing(BaseModel):
    """An update of the index that is running, here or in another process."""

    done: int
    total: int | None = Field(description="Photos in the folders; null if they were not counted.")


class IndexInfo(BaseModel):
    """The index and the limits of uploads."""

    photos: int
    indexed: datetime.datetime | None = Field(description="When the last complete update ended.")
    skipped: int = Field(description="Files that the last complete update could not read.")
    indexing: Indexing | None = Field(description="Progress of an update; null if none is running.")
    originals: bool = Field(description="Whether the server sends the files of photos as they are.")
    captions: bool = Field(description="Whether there is a captioner for uploaded photos.")
    attention: bool = Field(description="Whether the nouns of captions have boxes and attention.")
    max_upload_bytes: int
    max_upload_pixels: int


class PhotoSummary(BaseModel):
    """A photo in a list."""

    id: str
    name: str
    caption: str | None
    taken: datetime.datetime | None
    width: int
    height: int
    sure: bool | None = Field(
        description="Whether the generated caption is probably true; null for an edited caption, and where unknown."
    )
    score: float | None = Field(None, description="Cosine similarity to the query; null where there is no query.")
    probability: float | None = Field(
        None, description="Probability that the photo matches a text; null for other queries and without calibration."
    )
    weak: bool = Field(False, description="Whether the photo matches only perhaps; such photos come last.")
    by_caption: bool = Field(False, description="Whether the caption that people wrote has the words of the query.")
    copies: int = Field(0, description="Copies and photos of the same burst that were found too.")


class PhotoList(BaseModel):
    """Photos, best match or newest first."""

    photos: list[PhotoSummary]


class UnknownWord(BaseModel):
    """A word of a query that is not known."""

    word: str
    suggestions: list[str] = Field(description="Similar words that are known, best first.")


class SearchResult(BaseModel):
    """Photos that match a query: clear matches first, then weak ones."""

    photos: list[PhotoSummary]
    unknown: list[UnknownWord] = Field(description="Words that nothing was learned about and that no caption has.")
    corrected: str | None = Field(description="The query with the best suggestions; null if some word has none.")
    calibrated: bool = Field(description="Whether the photos have probabilities.")


class FilterChoices(BaseModel):
    """What a search can be limited to."""

    folders: list[str]
    cameras: list[str]
    first: datetime.date | None = Field(description="Day of the oldest photo with a date.")
    last: datetime.date | None
    places: bool = Field(description="Whether some photo has coordinates.")


class PhotoDetails(BaseModel):
    """A photo of the index."""

    id: str
    name: str
    folder: str = Field(description="Folder of the photo, starting with the name of the indexed folder.")
    caption: str | None = Field(description="The edited caption if there is one, the generated caption otherwise.")
    edited: bool
    generated_caption: str | None
    taken: datetime.datetime | None
    width: int
    height: int
    camera: str | None
    latitude: float | None = Field(description="Degrees, north positive; null where the server sends no originals.")
    longitude: float | None = Field(description="Degrees, east positive; null where the server sends no originals.")
    sure: bool | None = Field(
        description="Whether the generated caption is probably true; null for an edited caption, and where unknown."
    )


class NewCaption(BaseModel):
    """An edited caption."""

    caption: str | None = Field(max_length=MAX_CAPTION, description="null or blank restores the generated caption.")


class Edit(BaseModel):
    """A caption that a person saved."""

    caption: str | None = Field(description="null: the generated caption was restored.")
    saved: datetime.datetime


class EditList(BaseModel):
    """The edits of a photo, newest first."""

    edits: list[Edit]


class Word(BaseModel):
    """A word of a caption."""

    text: str
    noun: bool
    box: tuple[float, float, float, float] | None = Field(
        description="Region with the most attention: left, top, right, bottom as fractions of width and height."
    )
    attention: list[list[float]] | None = Field(
        description="Attention over the photo: rows of a square grid from the top, highest 1."
    )


class Difference(BaseModel):
    """A word of a caption that sets the photo apart."""

    word: str
    photos: list[str] = Field(description="Ids of the similar photos that show less of it.")


class Caption(BaseModel):
    """A generated caption."""

    text: str
    words: list[Word]
    posterior: float | None = Field(
        description="Probability that the caption belongs to this photo and not to the most similar ones of the index."
    )
    distinct: bool | None = Field(
        description="Whether the caption fits this photo better than every similar one. If false, nothing true sets "
        "it apart, and the caption is the most likely one. null for the most likely caption."
    )
    differences: list[Difference] = Field(description="The words that set the photo apart.")
    confused_with: list[PhotoSummary] = Field(description="Similar photos that the caption fits at least as well.")
    confidence: float | None = Field(
        description="Probability that the caption is true of the photo; null for models without calibration."
    )
    sure: bool | None = Field(description="Whether the confidence reaches its threshold; null without confidence.")


class Description(BaseModel):
    """An uploaded photo."""

    caption: Caption | None = Field(description="The most likely caption; null without a captioner.")
    distinctive_caption: Caption | None = Field(
        description="The caption that sets the photo apart from similar ones; null if the index has no other photo."
    )
    similar: list[PhotoSummary]
    preview: str = Field(description="A small upright copy of the photo as a data: URL.")
    width: int
    height: int


def found_photos(found: Sequence[Found]) -> list[PhotoSummary]:
    """Search results for the API."""
    return [
        PhotoSummary(
            id=one.content,
            name=one.path.rsplit("/", 1)[-1],
            caption=one.caption,
            taken=one.taken,
            width=one.width,
            height=one.height,
            sure=one.sure,
            score=round(one.score, 4) if math.isfinite(one.score) else None,
            probability=one.probability,
            weak=one.weak,
            by_caption=one.by_caption,
            copies=len(one.copies),
        )
        for one in found
    ]


def search_result(found: Answer) -> SearchResult:
    """The answer to a query for the API."""
    return SearchResult(
        photos=found_photos(found.photos),
        unknown=[UnknownWord(word=one.word, suggestions=list(one.suggestions)) for one in found.unknown],
        corrected=found.corrected,
        calibrated=found.calibrated,
    )


def photo_summaries(photos: Iterable[library.Photo]) -> list[PhotoSummary]:
    """Photos of the index for a list."""
    own = {field.name for field in dataclasses.fields(library.Photo)}
    fields = [name for name in PhotoSummary.model_fields if name in own]
    return [PhotoSummary(**{name: getattr(photo, name) for name in fields}) for photo in photos]


def edit_list(edits: Sequence[edit_history.Edit]) -> EditList:
    """The edits of a photo for the API."""
    return EditList(edits=[Edit(**vars(edit)) for edit in reversed(edits)])


def photo_details(photo: library.Photo, with_place: bool = False) -> PhotoDetails:
    """A photo of the index for the API; without its place unless visitors may know it."""
    hidden = {} if with_place else {"latitude": None, "longitude": None}
    return PhotoDetails(**{**vars(photo), **hidden})


def caption(generated: describe.Caption | None) -> Caption | None:
    """A generated caption for the API."""
    if generated is None:
        return None
    words = [Word(**vars(word)) for word in generated.words]
    differences = [
        Difference(word=one.word, photos=[photo.content for photo in one.photos]) for one in generated.differences
    ]
    return Caption(
        text=generated.text,
        words=words,
        posterior=generated.posterior,
        distinct=generated.distinct,
        differences=differences,
        confused_with=found_photos(generated.confused_with),
        confidence=generated.confidence,
        sure=generated.sure,
    )
