"""`python -m tellapart.cli.model_card --data PACK`: the values of the model card, as tables of Markdown.

The pack holds images that no model was trained on, with the features that the models read:

    tellapart prepare COCO --out PACK --format coco
    tellapart extract PACK --like bundled:captioner
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro
from torch import Tensor

from tellapart.cli.errors import exit_code
from tellapart.core.errors import InputError
from tellapart.core.files import write_json
from tellapart.data.batches import Batches
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.evaluation.judged import joint_picks
from tellapart.inference.caption_generator import open_caption_generator
from tellapart.inference.fit_evidence import is_true
from tellapart.inference.judge import open_judge
from tellapart.inference.judging import second_of
from tellapart.inference.pack_captions import (
    CaptionsAgainst,
    Chooser,
    batches_for,
    caption_values,
    captions_against,
    look_alikes_by,
    plain_captions,
    plain_confidences,
    references_of,
)
from tellapart.inference.pack_matcher import PackMatcher, open_pack_matcher
from tellapart.metrics.captions.bootstrap import CaptionInterval, interval, paired_difference
from tellapart.metrics.captions.neighbours import LOOK_ALIKES
from tellapart.metrics.captions.ptb.tokenizer import tokenize, tokenize_groups
from tellapart.metrics.captions.values import Score

PEOPLE = "people's first caption"
JUDGE = "judge right"


@dataclass(frozen=True)
class ModelCardOptions:
    """Print the metrics of a captioner and a matcher on the images of a pack."""

    data: Path
    """The pack, with the features that the models read."""
    split: str = "all"
    """train, val, test, or all."""
    captioner: str = "bundled:captioner"
    """The captioner's run."""
    matcher: str = "bundled:matcher"
    """The matcher's run, for recall; an empty name leaves it out."""
    first: int = 0
    """Caption only the first so many images; look-alikes come from all. 0 for all."""
    captioned: Path | None = None
    """A text file with the ids of the images to caption, one per line; the others of the split are look-alikes."""
    against: bool = False
    """Also caption these images against all images of the split, as `tellapart caption --against`."""
    chooser: str = "bundled:chooser"
    """The matcher's run that chooses captions with --against."""
    chooser_features: str | None = None
    """Name of the pack's features that the chooser reads. Default: the name that it was trained with."""
    judge: tuple[str, ...] = ()
    """Matchers' runs, apart from the chooser, that pick images among look-alikes, each alone and all together; adds
    people's first captions to the table."""
    judge_features: tuple[str, ...] = ()
    """Names of the pack's features that the judges read, in their order. Default: those that they were trained with."""
    look_alikes: int = LOOK_ALIKES
    """Look-alikes per image."""
    look_alikes_by: str = ""
    """Name of the pack's features that look-alikes are found by. Default: those of the captioner."""
    out: Path | None = None
    """Write the captions of every image to this JSON file."""
    device: str = "cpu"
    """cpu, cuda, cuda:1, …"""


@dataclass(frozen=True)
class Measured:
    """The images of a pack that are captioned, and what their captions are compared with."""

    pack: Pack
    rows: np.ndarray  # [I] images of the pack
    count: int
    """The first so many images are captioned."""
    references: list[list[str]]
    similar: np.ndarray  # [I, k] look-alikes, indices of `rows`


def model_card(options: ModelCardOptions) -> dict[str, dict[str, float]]:
    """Print and return the values of each way to write captions, and of the matcher."""
    pack = Pack(options.data)
    rows, count = _chosen(pack, options)
    generator = open_caption_generator(options.captioner, options.device)
    batches = batches_for(generator, pack, options.device)
    matcher = open_judge("bundled", options.device) if generator.is_bundled else None
    by = Batches(pack, FeatureStore(pack.feature_folder(options.look_alikes_by))) if options.look_alikes_by else batches
    similar = look_alikes_by(by, rows, options.look_alikes)
    given = Measured(pack, rows, count, references_of(pack, rows), similar)
    systems: dict[str, list[str]] = {}
    confidences: dict[str, list[float]] = {}
    notes: list[str] = []
    distinct: list[bool] = []
    if not options.against:
        systems["plain"] = plain_captions(generator, batches, rows[:count], matcher)
    else:
        judge = open_judge(options.chooser, options.device)
        chooser = Chooser(judge, batches_for(judge, pack, options.device, options.chooser_features))
        systems["plain"], confidences["plain"] = plain_confidences(generator, matcher or judge, batches, rows[:count])
        against = captions_against(generator, chooser, batches, rows, count, second_of(judge, matcher))
        systems["against"], confidences["against"] = against.captions, against.confidence
        distinct = against.distinct
        notes.append(_note(systems["plain"], against))
    found, picks = _values(systems, given, options)
    judged = [note for name, values in picks.items() for note in judge_notes(values, distinct, name)]
    print(f"{count:,} captions, {len(rows):,} images, {similar.shape[1]} look-alikes each\n")
    print("\n\n".join([as_table("captions", found), *notes, *judged]))
    if options.out is not None:
        write_json(options.out, _listed(systems, confidences, given))
    if options.matcher:
        found["matcher"] = _recall(open_pack_matcher(options.matcher, pack, device=options.device), rows)
        print("\n" + as_table("among images", {f"{len(rows):,}": found["matcher"]}))
    return found


def _chosen(pack: Pack, options: ModelCardOptions) -> tuple[np.ndarray, int]:
    """Images with captions, those to caption first, and how many these are."""
    rows = np.array([row for row in pack.split(options.split).images if pack.captions_of[int(row)]])
    if len(rows) < 2:
        raise InputError(f"{pack.folder} has fewer than two captioned images in '{options.split}'; choose more.")
    if options.captioned is None:
        return rows, min(options.first or len(rows), len(rows))
    place = {pack.images[int(row)].id: int(row) for row in rows}
    ids = list(dict.fromkeys(options.captioned.read_text().split()))
    if not ids or (missing := next((one for one in ids if one not in place), None)) is not None:
        what = "no id" if not ids else f"the id '{missing}', which '{options.split}' of {pack.folder} has not"
        raise InputError(f"{options.captioned} has {what}; list ids of its images, one per line.")
    first = [place[one] for one in ids][: options.first or None]
    return np.array([*first, *sorted(set(rows.tolist()) - set(first))]), len(first)


def _values(
    systems: dict[str, list[str]], given: Measured, options: ModelCardOptions
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, Score]]]:
    """The metrics of each system; with judges also those of people's first captions, the judges' accuracy, and by judge
    and system whether it is right for each caption."""
    found = {name: caption_values(captions, given.references, given.similar) for name, captions in systems.items()}
    picks: dict[str, dict[str, Score]] = {}
    said = tokenize_groups(given.references[: given.count])
    for name, captions in systems.items():
        true = [is_true(one, group) for one, group in zip(tokenize(captions), said)]
        found[name] |= {"true by references": 100 * float(np.mean(true))}
    if options.judge:
        systems[PEOPLE] = [group[0] for group in given.references[: given.count]]
        found[PEOPLE] = _of_people(given.references, given.similar, given.count)
        picks = _judged(systems, given, options)
        for judge, values in picks.items():
            for name, score in values.items():
                found[name] |= {judge: score.corpus}
    return found, picks


def _judged(
    systems: Mapping[str, Sequence[str]], given: Measured, options: ModelCardOptions
) -> dict[str, dict[str, Score]]:
    """Whether each judge, and all together, is right for each caption of each system; by judge and system."""
    if options.judge_features and len(options.judge_features) != len(options.judge):
        raise InputError(
            f"There are {len(options.judge)} judges and {len(options.judge_features)} names in judge_features; give "
            "one name per judge, or none."
        )
    shares: list[dict[str, Tensor]] = []
    for run, features in zip(options.judge, options.judge_features or (None,) * len(options.judge)):
        judge = open_pack_matcher(run, given.pack, features, options.device)
        similar = given.similar[: given.count]
        shares.append({name: judge.log_shares(given.rows, captions, similar) for name, captions in systems.items()})
    if len(shares) == 1:
        return {JUDGE: {name: _score(joint_picks([one])) for name, one in shares[0].items()}}
    names = [f"{JUDGE} ({number})" for number in range(1, len(shares) + 1)]
    alone = {
        judge: {name: _score(joint_picks([one])) for name, one in found.items()} for judge, found in zip(names, shares)
    }
    together = {name: _score(joint_picks([found[name] for found in shares])) for name in systems}
    return {**alone, f"{JUDGE} (together)": together}


def _score(right: Tensor) -> Score:
    """The share of right captions in percent, and each."""
    each = 100 * right.double().cpu().numpy()
    return Score(float(each.mean()), each)


def judge_notes(picks: Mapping[str, Score], distinct: Sequence[bool], judge: str = JUDGE) -> list[str]:
    """Bootstrap intervals over images of the judge's accuracy, and of its gain over plain captions, as sentences."""
    if not picks:
        return []
    each = [f"{name} {one.value:.1f}% [{one.low:.1f}, {one.high:.1f}]" for name, one in _intervals(picks).items()]
    notes = [f"{judge.capitalize()}, with 95% intervals over images: " + "; ".join(each) + "."]
    if "against" in picks:
        gain = paired_difference(picks["plain"], picks["against"])
        apart = np.asarray(distinct, bool)
        inside = [f"{name} {one.each[apart].mean():.1f}%" for name, one in picks.items()] if apart.any() else []
        notes.append(
            f"Against minus plain: {gain.value:.1f} points [{gain.low:.1f}, {gain.high:.1f}]. Among the "
            f"{int(apart.sum())} images that are set apart: {', '.join(inside)}."
        )
    return notes


def _intervals(picks: Mapping[str, Score]) -> dict[str, CaptionInterval]:
    return {name: interval(score) for name, score in picks.items()}


def _listed(
    systems: dict[str, list[str]], confidences: dict[str, list[float]], given: Measured
) -> list[dict[str, object]]:
    """The captions of each image, with their confidences where they are known."""
    listed: list[dict[str, object]] = []
    for place, row in enumerate(given.rows[: given.count]):
        listed.append({"image": given.pack.images[int(row)].id})
        listed[-1] |= {name: captions[place] for name, captions in systems.items()}
        if known := {name: round(values[place], 4) for name, values in confidences.items() if values}:
            listed[-1]["confidence"] = known
    return listed


def _note(plain: Sequence[str], against: CaptionsAgainst) -> str:
    changed = sum(one != two for one, two in zip(plain, against.captions))
    return (
        f"Against: {changed} of {len(plain)} captions changed, {sum(against.distinct)} set their image apart, "
        f"{sum(against.sure)} are sure."
    )


def _of_people(references: list[list[str]], similar: np.ndarray, count: int) -> dict[str, float]:
    """First captions of people against their others; images with one caption have no other and are left out."""
    if any(len(group) < 2 for group in references[:count]):
        return {}
    first = [group[0] for group in references[:count]]
    others = [group[1:] for group in references[:count]] + references[count:]
    return caption_values(first, others, similar)


def _recall(matcher: PackMatcher, rows: np.ndarray) -> dict[str, float]:
    found = matcher.recall(rows)
    return {name: value for name, value in found.items() if "median" not in name}


def as_table(title: str, values: dict[str, dict[str, float]]) -> str:
    """Markdown with one line per entry and one column per metric.

    >>> print(as_table("x", {"a": {"CIDEr": 112.64}, "b": {"CIDEr": 100.0, "words in 400": 450.0}}))
    | x | CIDEr | words in 400 |
    |---|---|---|
    | a | 112.6 | |
    | b | 100.0 | 450 |
    """
    names = list(dict.fromkeys(name for entry in values.values() for name in entry))
    lines = [f"| {title} | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for entry, found in values.items():
        cells = [_cell(name, found[name]) if name in found else "" for name in names]
        lines.append("| " + " | ".join([entry, *cells]).replace("|  |", "| |").rstrip() + " |")
    return "\n".join(lines)


def _cell(name: str, value: float) -> str:
    return f"{value:.0f}" if name.startswith("words") else f"{value:.1f}"


def main(arguments: list[str] | None = None) -> int:
    """Print as the command line says."""
    options = tyro.cli(ModelCardOptions, args=arguments)
    return exit_code(lambda: model_card(options))


if __name__ == "__main__":
    sys.exit(main())
