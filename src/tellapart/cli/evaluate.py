"""`tellapart evaluate RUN --data PACK --split test`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tellapart.core.precisions import Precision
from tellapart.data.pack import Pack
from tellapart.evaluation.chunks import CHUNK
from tellapart.evaluation.format import readable
from tellapart.inference.pack_matcher import open_pack_matcher
from tellapart.runs.evaluate import default_path, evaluate_run, write_evaluation
from tellapart.runs.own_processing import prepared


@dataclass(frozen=True)
class EvaluateOptions:
    """Evaluate a trained run on a split of a pack."""

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """A run folder, or hf:FOLDER."""
    data: Path
    """The pack to evaluate on."""
    split: str = "test"
    """train, val, test, or all."""
    features: str | None = None
    """Name of the pack's features. Default: the name that the run was trained with."""
    evaluation: str | None = None
    """Which metrics: grounding, captions, retrieval, … Default: those that selected the run's best epoch."""
    cxc: tuple[Path, ...] = ()
    """Ratings of Crisscrossed Captions (sits_val.csv, sits_test.csv): any caption rated 3 or more counts as found.
    For a matcher, and a pack prepared from COCO's or Karpathy's JSON."""
    eccv: Path | None = None
    """The folder with eccv_image_to_caption.json and eccv_caption_to_image.json of ECCV Caption: mAP@R, R-precision and
    R@1 with many correct answers. For a matcher, and COCO's test split by Karpathy."""
    judge: Path | None = None
    """A matcher's run that must pick each image among its nine nearest look-alikes from a captioner's caption alone.
    Choose one that took no part in training the captioner."""
    judge_features: str | None = None
    """Name of the pack's features that the judge reads. Default: the name that it was trained with."""
    device: str = "cpu"
    """cpu, cuda, cuda:1, …"""
    precision: Precision = "auto"
    """Of a model of transformers, and of such a judge: float32 (auto), bfloat16 or float16."""
    compile: bool = False
    """Compile a model of transformers (torch.compile): a minute at the start, which pays for large splits."""
    batch: int = 0
    """Images, or captions, read at once; more need more memory. 0: as many as suits the evaluation, 8 to 256."""
    json: bool = False
    """Print JSON instead of a table, as in the file: BLEU, METEOR, ROUGE-L, CIDEr, SPICE, CHAIR, nDCG, R-precision and
    mAP@R as fractions, all other shares in percent. The table has everything in percent."""
    out: Path | None = None
    """Write the metrics here. Default: RUN/evaluation-SPLIT.json (nowhere for a run that comes with the package)."""


def evaluate(options: EvaluateOptions) -> dict[str, float]:
    """Print, write and return the metrics by name."""
    judge = None
    if options.judge is not None:
        judge = open_pack_matcher(
            options.judge, Pack(options.data), options.judge_features, options.device, options.batch or CHUNK
        )
        prepared(judge.run, options.precision)
    found = evaluate_run(
        options.run,
        options.data,
        options.split,
        features=options.features,
        evaluation=options.evaluation,
        cxc=options.cxc,
        eccv=options.eccv,
        judge=judge,
        device=options.device,
        precision=options.precision,
        compile=options.compile,
        batch=options.batch,
    )
    out = options.out or default_path(options.run, options.split)
    if out is not None:
        write_evaluation(found, out)
    if options.json:
        print(json.dumps(found.values, indent=2))
    else:
        _print_table(found.values, f"{options.run.name} on {options.data.name}, {options.split}")
    return found.values


def _print_table(values: dict[str, float], title: str) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title)
    table.add_column("metric")
    table.add_column("value", justify="right")
    table.add_column("unit")
    for row in readable(values):
        table.add_row(*row)
    Console(markup=False).print(table)  # a folder may be called [x]
