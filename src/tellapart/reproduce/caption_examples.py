"""Captions of the same images by several rows of a table: CL's Figure 2, R2M's Figures 6 and 7.

Images are not selected by eye. Where self-retrieval was measured, some are drawn at random of those that only the last
row's caption finds, and as many of those that only the first row's finds; elsewhere, of those whose caption changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tellapart.core.errors import InputError
from tellapart.data.concepts_column import IMAGE_CONCEPTS, stored_dictionary
from tellapart.data.pack import Pack
from tellapart.reproduce.cache import Cache, Result
from tellapart.reproduce.caption_measures import CAPTIONS, ROWS, asked_places
from tellapart.reproduce.row_recipes import row_hash
from tellapart.reproduce.table import Table
from tellapart.text.vocabulary import PAD

ABOUT = (
    "Written by `python -m tellapart.cli.caption_examples` from stored captions; do not edit.\n"
    "Images are drawn at random."
)


@dataclass(frozen=True)
class Example:
    """One image with its captions."""

    image: str
    captions: tuple[str, ...]
    """By row of the table."""
    reference: str
    """A caption of the data set, or nothing."""
    concepts: tuple[str, ...]
    """What a detector found, where the pack has concepts; the most certain first."""


@dataclass(frozen=True)
class CaptionExamples:
    """Examples by what they are examples of, and what all captions of the split have in common."""

    rows: tuple[str, ...]
    sections: Mapping[str, tuple[Example, ...]]
    counts: Mapping[str, tuple[str, ...]]
    """By name: a value for each row, or a single one for all."""


def caption_examples(
    table: Table,
    rows: Sequence[str],
    cache: Cache,
    pack: Pack,
    *,
    count: int = 8,
    seed: int = 0,
    references: bool = False,
) -> CaptionExamples:
    """Examples of these rows of a table from the runs with this seed on a pack.

    references: whether examples have a caption of the data set. Not every data set may be published.
    """
    if len(rows) < 2:
        raise InputError("Name at least two rows whose captions to compare.")
    runs = [_run(table, row, cache, pack, seed) for row in rows]
    stored = [cache.items(run.key, "captions") for run in runs]
    if any(not np.array_equal(items[ROWS], stored[0][ROWS]) for items in stored):
        raise InputError(f"The runs of {', '.join(rows)} captioned different images; run them again on one pack.")
    captions = [items[CAPTIONS].tolist() for items in stored]  # by row, then by image
    image_rows = stored[0][ROWS]
    changed = np.asarray([first != last for first, last in zip(captions[0], captions[-1])])
    groups = {f"changed from {rows[0]} to {rows[-1]}": changed}
    hits = [cache.items(run.key, "self-retrieval").get("top1") for run in (runs[0], runs[-1])]
    before, after = hits
    asked = asked_places(len(changed))
    if before is not None and after is not None and len(before) == len(after) == len(asked):
        once, now = (np.zeros(len(changed), bool) for _ in range(2))
        once[asked], now[asked] = before > 0, after > 0
        groups = {
            f"found first by {rows[-1]} alone": changed & now & ~once,
            f"found first by {rows[0]} alone": changed & once & ~now,
        }
    sections = {
        f"{int(chosen.sum()):,} of {len(chosen):,} images: caption {what}": tuple(
            _example(pack, int(image_rows[place]), [own[place] for own in captions], references)
            for place in _drawn(np.flatnonzero(chosen), count)
        )
        for what, chosen in groups.items()
    }
    counts = {"captions that change": (f"{100 * changed.mean():.1f}%",), **_counts(captions)}
    if pack.has_column(IMAGE_CONCEPTS):
        counts |= _concept_counts(captions, image_rows, pack)
    return CaptionExamples(tuple(rows), sections, counts)


def _run(table: Table, row: str, cache: Cache, pack: Pack, seed: int) -> Result:
    wanted = row_hash(table.only((row,)).rows[0])
    for result in cache.all_results:
        if (result.recipe_hash, result.fingerprint, result.seed) == (wanted, pack.fingerprint, seed):
            return result
    raise InputError(
        f"The cache has no run of '{row}' of {table.name} with seed {seed} on {pack.folder}; reproduce the table first."
    )


def _drawn(places: np.ndarray, count: int) -> list[int]:
    """Some of these places at random, always the same ones."""
    return sorted(np.random.default_rng(0).permutation(places)[:count].tolist())


def _example(pack: Pack, row: int, captions: list[str], references: bool) -> Example:
    own = pack.captions_of[row] if references else []
    reference = pack.captions[own[0]].text if own else ""
    return Example(pack.images[row].id, tuple(captions), reference, _concepts(pack, row))


def _concepts(pack: Pack, row: int) -> tuple[str, ...]:
    if not pack.has_column(IMAGE_CONCEPTS):
        return ()
    words = pack.vocabulary.words
    return tuple(words[index] for index in pack.column(IMAGE_CONCEPTS).values[row][::-1].tolist() if index != PAD)


def _counts(captions: Sequence[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    return {
        "words per caption": tuple(f"{np.mean([len(text.split()) for text in own]):.1f}" for own in captions),
        "different captions": tuple(f"{100 * len(set(own)) / len(own):.1f}%" for own in captions),
        "different words": tuple(f"{len({word for text in own for word in text.split()}):,}" for own in captions),
    }


def _concept_counts(
    captions: Sequence[Sequence[str]], image_rows: np.ndarray, pack: Pack
) -> dict[str, tuple[str, ...]]:
    """How many of the detected concepts captions name, and how many others they name."""
    dictionary = stored_dictionary(pack)
    detected = [set(_concepts(pack, int(row))) for row in image_rows]
    total = max(sum(map(len, detected)), 1)
    named, others = [], []
    for own in captions:
        said = [set(dictionary.of_sentence(text.split())) for text in own]
        named.append(f"{100 * sum(len(a & b) for a, b in zip(said, detected)) / total:.1f}%")
        others.append(f"{sum(len(a - b) for a, b in zip(said, detected)) / len(own):.2f}")
    return {"detected concepts named": tuple(named), "other concepts named per caption": tuple(others)}


def examples_as_markdown(found: CaptionExamples, title: str) -> str:
    """A page: what all captions have in common, then the examples."""
    heads = " | ".join(found.rows)
    lines = [f"# {title}", "", ABOUT, "", f"| | {heads} |", "|---|" + "---|" * len(found.rows)]
    for name, values in found.counts.items():
        cells = values if len(values) == len(found.rows) else (values[0], *("" for _ in found.rows[1:]))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    for what, examples in found.sections.items():
        lines += ["", f"## {what}", "", *_example_table(found.rows, examples)]
    return "\n".join(lines) + "\n"


def _example_table(rows: Sequence[str], examples: Sequence[Example]) -> list[str]:
    heads, lines = ["image", *rows], [[example.image, *example.captions] for example in examples]
    if any(example.concepts for example in examples):
        heads.insert(1, "detected")
        lines = [[line[0], ", ".join(example.concepts), *line[1:]] for line, example in zip(lines, examples)]
    if any(example.reference for example in examples):
        heads.append("one of the data set's captions")
        lines = [[*line, example.reference] for line, example in zip(lines, examples)]
    return [f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *lines)]
