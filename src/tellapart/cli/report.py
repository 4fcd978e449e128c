"""`tellapart report RUN… --data PACK --out report.html`: what runs learned, with images to look at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import tyro

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
from tellapart.runs.context import context_for
from tellapart.runs.run import Run, open_run


@dataclass(frozen=True)
class ReportOptions:
    """Write an HTML report of trained runs: figures, learning curves, retrieval and captioning examples, and what
    R2M's memories attended to."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN …")]
    """Run folders."""
    data: Path
    """The pack to show examples from."""
    out: Path = Path("report.html")
    """The file to write."""
    split: str = "test"
    """The split that figures and examples are taken from."""
    examples: int = 6
    """Images and queries to show for each run."""
    seed: int = 0
    """Which examples: drawn at random, not chosen by hand."""


def report(options: ReportOptions) -> Path:
    """Write the report and say where it is."""
    if not options.runs:
        raise InputError("There is no run to report on: name run folders, as in `tellapart report runs/a --data pack`.")
    pack = Pack(options.data)
    sections: list[tuple[str, str]] = []
    runs = [open_run(folder) for folder in options.runs]
    for run in runs:
        sections += run_sections(run, pack, options)
    looks = attention_section(runs, pack, options.split, options.examples, options.seed)
    if looks:
        sections.append(("Where the words look", looks))
    counts = pack.manifest["counts"]
    subtitle = (
        f"{pack.manifest['name']}: {counts['pictures']} images, {counts['captions']} captions; split {options.split}"
    )
    write_text(options.out, page.page("Tellapart report", subtitle, sections))
    print(f"Report: {options.out.resolve()}")
    return options.out


@torch.no_grad()
def run_sections(run: Run, pack: Pack, options: ReportOptions) -> list[tuple[str, str]]:
    context = context_for(run, pack)
    figures = full_evaluation(run.last_stage.evaluation)(run.model, context, options.split)
    curves = page.plot(learning_curves(run.folder / "log.jsonl", run.last_stage.monitor), "learning curves")
    title = f"{run.folder.name} ({run.recipe.name})"
    sections = [
        (f"{title}: figures", page.table(readable(figures), ("figure", "value"))),
        (f"{title}: learning", curves),
    ]
    if isinstance(run.model, Matcher):
        sections.append((f"{title}: finding images by words", _retrieval(run, context, options)))
    else:
        sections.append((f"{title}: telling", _captions(run, context, options)))
    memories = memories_section(run, context, _chosen(context, options).tolist())
    if memories:
        sections.append((f"{title}: memories", memories))
    return sections


def _chosen(context: Context, options: ReportOptions) -> np.ndarray:
    images = context.pack.split(options.split).images
    return np.random.default_rng(options.seed).permutation(images)[: options.examples]


def _retrieval(run: Run, context: Context, options: ReportOptions) -> str:
    """Random queries with the five best images; the true one is ticked."""
    found: SplitScores = score_split(run.model, context, options.split)
    chosen = np.random.default_rng(options.seed).permutation(len(found.captions))[: options.examples]
    parts = []
    for caption in chosen.tolist():
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


def _captions(run: Run, context: Context, options: ReportOptions) -> str:
    """Random images with our caption and what people said."""
    chosen = _chosen(context, options)
    ours = beam(as_captioner(run.model), context.batches.images(chosen)).tokens.tolist()
    parts = []
    for image, tokens in zip(chosen.tolist(), ours):
        said = [context.pack.captions[caption].text for caption in context.pack.captions_of[image]]
        words = f"<p><strong>{run.vocabulary.decode(tokens)}</strong></p><p>What people said:</p>{page.quotes(said)}"
        parts.append(page.row([page.figure(context.pack.image_path(image), ""), page.wide(words)]))
    return "".join(parts)
