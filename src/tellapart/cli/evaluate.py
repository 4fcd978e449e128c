"""`tellapart evaluate RUN --data PACK --split test`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch
import tyro

from tellapart.core.device import usable_device
from tellapart.core.errors import InputError
from tellapart.core.files import write_json, write_text
from tellapart.data.pack import Pack
from tellapart.evaluation import EVALUATIONS, TABLES
from tellapart.evaluation.format import readable
from tellapart.evaluation.retrieval import evaluate_with_cxc
from tellapart.runs.bundled import PREFIX
from tellapart.runs.context import context_for
from tellapart.runs.run import open_run


@dataclass(frozen=True)
class EvaluateOptions:
    """Evaluate a trained run on a split of a pack."""

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """A run folder."""
    data: Path
    """The pack to evaluate on."""
    split: str = "test"
    """train, val, test, or all."""
    features: str | None = None
    """Name of the pack's features; left out, the name the run was trained with."""
    evaluation: str | None = None
    """Which figures: grounding, captions, retrieval, …; left out, those that chose the run's best epoch."""
    cxc: tuple[Path, ...] = ()
    """Crisscrossed Captions' ratings (sits_val.csv, sits_test.csv): any caption rated 3 or more counts as found. For a
    matcher, and a pack prepared from COCO's or Karpathy's JSON."""
    device: str = "cpu"
    """cpu, cuda, cuda:1, …"""
    json: bool = False
    """Print JSON instead of a table."""
    out: Path | None = None
    """Write the figures here; left out, RUN/evaluation-SPLIT.json (nowhere for a run that came with the package)."""


def evaluate(options: EvaluateOptions) -> dict[str, float]:
    """The figures by name, printed and written."""
    usable_device(options.device)
    run = open_run(options.run, device=options.device)
    context = context_for(run, Pack(options.data), options.features, options.device)
    name = options.evaluation or run.last_stage.evaluation
    rows: list[dict[str, float | str]] = []
    with torch.no_grad():
        if options.cxc:
            figures = evaluate_with_cxc(run.model, context, options.split, options.cxc)
        elif name in TABLES:
            figures, rows = TABLES[name](run.model, context, options.split)
        else:
            figures = fullest_evaluation(name)(run.model, context, options.split)
    out = options.out or default_place(str(options.run), options.split)
    if out is not None:
        write_json(out, figures)
        if rows:
            write_text(out.with_name(f"{out.stem}-classes.csv"), as_csv(rows))
    if options.json:
        print(json.dumps(figures, indent=2))
    else:
        _print_table(figures, f"{options.run.name} on {options.data.name}, {options.split}")
    return figures


def default_place(run: str, split: str) -> Path | None:
    """Beside a run's weights, unless the package itself holds them.

    >>> default_place("runs/find", "test"), default_place("bundled:matcher", "test")
    (PosixPath('runs/find/evaluation-test.json'), None)
    """
    return None if run.startswith(PREFIX) else Path(run) / f"evaluation-{split}.json"


def fullest_evaluation(name: str) -> Callable[..., dict[str, float]]:
    """Training watches a light evaluation; its full form, where there is one, is called NAME-full.

    A run that was judged by its loss alone (R2M, which may look at no caption) is evaluated by its captions.
    """
    name = "captions" if name == "loss" else name
    if name not in EVALUATIONS:
        raise InputError(f"There is no evaluation '{name}'; choose among {', '.join(EVALUATIONS)}.")
    return EVALUATIONS.get(f"{name}-full", EVALUATIONS[name])


def as_csv(rows: list[dict[str, float | str]]) -> str:
    """Rows of one kind as comma-separated text, names first."""
    lines = [",".join(rows[0])]
    for row in rows:
        lines.append(",".join(f"{value:.2f}" if isinstance(value, float) else str(value) for value in row.values()))
    return "\n".join(lines) + "\n"


def _print_table(figures: dict[str, float], title: str) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title)
    table.add_column("figure")
    table.add_column("value", justify="right")
    for name, text in readable(figures):
        table.add_row(name, text)
    Console(markup=False).print(table)  # a folder may be called [x]
