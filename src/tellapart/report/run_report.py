"""An HTML report of trained runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from tellapart.core.errors import InputError
from tellapart.core.files import write_text
from tellapart.core.protocols import Matcher
from tellapart.data.pack import Pack
from tellapart.evaluation import full_evaluation
from tellapart.evaluation.format import readable
from tellapart.evaluation.retrieval import SplitScores, score_split
from tellapart.models.captioners.teacher_forcing import as_captioner
from tellapart.models.decoding import beam
from tellapart.objectives.context import Context
from tellapart.report import page
from tellapart.report.attention_section import attention_section
from tellapart.report.curves import learning_curves
from tellapart.report.memory_plot import memories_section
from tellapart.report.ranked_captions import Ranking, comparison_section, examples_section
from tellapart.runs.context import context_for
from tellapart.runs.run import Run, open_run
from tellapart.text.written import as_written

Section = tuple[str, str]
"""Heading and HTML."""


@dataclass(frozen=True)
class Examples:
    """Which images and queries a report shows: random ones of a split."""

    split: str = "test"
    count: int = 6
    seed: int = 0

    def rows(self, rows: np.ndarray) -> np.ndarray:
        """A random choice of these rows."""
        return np.random.default_rng(self.seed).permutation(rows)[: self.count]


def write_report(runs: Sequence[Path], data: Path, out: Path, examples: Examples | None = None) -> Path:
    """Write an HTML report of runs on the pack `data`: metrics, learning curves, examples, attention; returns `out`."""
    if not runs:
        raise InputError("`runs` is empty; name at least one run folder.")
    pack, examples = Pack(data), examples or Examples()
    opened = [open_run(folder) for folder in runs]
    scores = {run.folder: matcher_scores(run, pack, examples.split) for run in opened if isinstance(run.model, Matcher)}
    sections = [section for run in opened for section in run_sections(run, pack, examples, scores.get(run.folder))]
    if len(scores) > 1:
        rankings = [Ranking(folder.name, found) for folder, found in scores.items()]
        sections.append(("Captions found by image, compared", comparison_section(rankings, pack)))
    attention = attention_section(opened, pack, examples.split, examples.count, examples.seed)
    if attention:
        sections.append(("Attention of each word", attention))
    counts = pack.manifest["counts"]
    subtitle = (
        f"{pack.manifest['name']}: {counts['pictures']} images, {counts['captions']} captions; split {examples.split}"
    )
    write_text(out, page.page("Tellapart report", subtitle, sections))
    return out


@torch.no_grad()
def matcher_scores(run: Run, pack: Pack, split: str) -> SplitScores:
    """A matcher's scores of a split."""
    return score_split(run.model, context_for(run, pack), split)


@torch.no_grad()
def run_sections(run: Run, pack: Pack, examples: Examples, found: SplitScores | None = None) -> list[Section]:
    """The sections of one run: metrics, learning curves, examples, and memories if it has any. `found` are a matcher's
    scores."""
    context = context_for(run, pack)
    metrics = full_evaluation(run.last_stage.evaluation)(run.model, context, examples.split)
    title = f"{run.folder.name} ({run.recipe.name})"
    sections = [(f"{title}: metrics", page.table(readable(metrics), ("metric", "value", "unit")))]
    log = run.folder / "log.jsonl"
    if log.is_file():  # a model of the hub has not learned here
        curves = learning_curves(log, run.last_stage.monitor)
        sections.append((f"{title}: learning curves", page.plot(curves, "learning curves")))
    if found is not None:
        sections.append((f"{title}: images found by text", _retrieval(found, context, examples)))
        ranked = examples_section(Ranking(title, found), pack, examples.count // 2 or 1, examples.seed)
        sections.append((f"{title}: captions found by image", ranked))
    else:
        sections.append((f"{title}: captions", _captions(run, context, examples)))
    images = examples.rows(context.pack.split(examples.split).images)
    memories = memories_section(run, context, images.tolist())
    if memories:
        sections.append((f"{title}: memories", memories))
    return sections


def _retrieval(found: SplitScores, context: Context, examples: Examples) -> str:
    """Random queries with the five best images; the right one has a tick."""
    parts = []
    for caption in examples.rows(np.arange(len(found.captions))).tolist():
        best = found.scores[:, caption].topk(min(5, len(found.image_rows))).indices.tolist()
        parts.append(page.quotes([context.pack.captions[int(found.captions[caption])].text]))
        parts.append(
            page.row(
                [
                    page.figure(
                        context.pack.image_path(int(found.image_rows[image])),
                        f"{float(found.scores[image, caption]):.3f}",
                        right=image == int(found.owner[caption]),
                    )
                    for image in best
                ]
            )
        )
    return "".join(parts)


def _captions(run: Run, context: Context, examples: Examples) -> str:
    """Random images with our caption and those of the pack."""
    chosen = examples.rows(context.pack.split(examples.split).images)
    ours = beam(as_captioner(run.model), context.batches.images(chosen)).tokens.tolist()
    parts = []
    for image, tokens in zip(chosen.tolist(), ours):
        references = [context.pack.captions[caption].text for caption in context.pack.captions_of[image]]
        text = (
            f"<p><strong>{as_written(run.vocabulary.decode(tokens))}</strong></p>"
            f"<p>Captions by people:</p>{page.quotes(references)}"
        )
        parts.append(page.row([page.figure(context.pack.image_path(image), ""), page.wide(text)]))
    return "".join(parts)
