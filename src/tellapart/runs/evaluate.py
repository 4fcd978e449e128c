"""Metrics of a run on a split of a pack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tellapart.core.device import usable_device
from tellapart.core.errors import InputError
from tellapart.core.files import write_json, write_text
from tellapart.core.model_names import is_hub
from tellapart.data.pack import Pack
from tellapart.evaluation import Evaluation, Rows, evaluate
from tellapart.evaluation.distinctive import JudgeCaptions
from tellapart.runs.bundled import PREFIX
from tellapart.runs.context import context_for
from tellapart.runs.own_processing import compiled, only_prepared
from tellapart.runs.run import open_run


def evaluate_run(
    run: Path | str,
    data: Path,
    split: str = "test",
    *,
    features: str | None = None,
    evaluation: str | None = None,
    cxc: Sequence[Path] = (),
    eccv: Path | None = None,
    judge: JudgeCaptions | None = None,
    device: str = "cpu",
    precision: str = "auto",
    compile: bool = False,
    batch: int = 0,
) -> Evaluation:
    """The metrics of a run on a split of the pack `data`.

    features: name of the pack's features; default: the name that the run was trained with.
    evaluation: a name in `EVALUATIONS`; default: the one that selected the run's best epoch.
    cxc: files with ratings of Crisscrossed Captions, for a matcher and a pack prepared from COCO's JSON files.
    eccv: the folder of ECCV Caption's two files, for a matcher and such a pack.
    judge: says which images a captioner's captions identify among their look-alikes.
    precision, compile: of a model of transformers; float32 by default, and not compiled.
    batch: images, or captions, read at once; 0: as many as suits the evaluation, 8 to 256.
    """
    if batch < 0:
        raise InputError(f"`batch` must be at least 1, or 0 for the default, not {batch}.")
    usable_device(device)
    opened = open_run(run, device=device)
    only_prepared(opened, precision)
    if compile:
        compiled(opened)
    context = replace(context_for(opened, Pack(data), features, device), batch=batch)
    return evaluate(opened.model, context, split, evaluation or opened.last_stage.evaluation, cxc, judge, eccv=eccv)


def write_evaluation(found: Evaluation, path: Path) -> None:
    """Write metrics as JSON, and their table of details, if any, as NAME-classes.csv next to them."""
    write_json(path, found.values)
    if found.rows:
        write_text(path.with_name(f"{path.stem}-classes.csv"), as_csv(found.rows))


def default_path(run: Path | str, split: str) -> Path | None:
    """Where the metrics of a run are written by default: in its folder, or nowhere for a model that is no run here.

    >>> default_path("runs/find", "test"), default_path("bundled:matcher", "test")
    (PosixPath('runs/find/evaluation-test.json'), None)
    """
    return None if str(run).startswith(PREFIX) or is_hub(run) else Path(run) / f"evaluation-{split}.json"


def as_csv(rows: Rows) -> str:
    """Rows with the same columns as comma-separated text."""
    lines = [",".join(rows[0])]
    for row in rows:
        lines.append(",".join(f"{value:.2f}" if isinstance(value, float) else str(value) for value in row.values()))
    return "\n".join(lines) + "\n"
