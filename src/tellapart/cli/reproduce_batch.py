"""`python -m tellapart.cli.reproduce_batch`: the runs of many tables on a machine with torch, numpy, Pillow and
safetensors only.

    python -m tellapart.cli.reproduce_batch --tables convse/table3,ltd/table1 --data PACK --seeds 3 --jobs 6 \
        --device cuda --cache OUT --limit 540 --order claims

Its cache is small (values and ranks, no weights). `tellapart reproduce TABLE --data PACK --add OUT` adds it to another.
`--plan` prints the order of the runs and starts none.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import get_args

from tellapart.cli.reproduce_output import print_schedule
from tellapart.core.shared_gpu import shared_gpu
from tellapart.papers.tables import find_tables
from tellapart.reproduce.plan import plan
from tellapart.reproduce.runner import report_skipped, run_tables
from tellapart.reproduce.schedule import schedule
from tellapart.reproduce.settings import Order, ReproduceSettings


def main(arguments: list[str] | None = None) -> int:
    """Run the tables and print the outcome as JSON, or only print the plan; returns 1 if a run failed."""
    chosen = _parser().parse_args(arguments)
    tables = find_tables(chosen.tables.split(","))
    if chosen.rows:
        tables = [table.only(tuple(chosen.rows)) for table in tables]
    settings = ReproduceSettings(
        data=chosen.data,
        cache=chosen.cache,
        features=tuple(name for name in chosen.features.split(",") if name),
        seeds=chosen.seeds,
        share=chosen.share,
        device=chosen.device,
        jobs=chosen.jobs,
        seconds_limit=chosen.limit,
        order=chosen.order,
        scratch=chosen.scratch,
        resident=chosen.resident,
        replay=chosen.replay,
        compile=chosen.compile,
        pixels=chosen.pixels,
        keep=chosen.keep,
        tf32=chosen.tf32,
    )
    if chosen.plan:
        planned = plan(tables, settings)
        report_skipped(planned, say)
        print_schedule(schedule(planned, settings))
        return 0
    with shared_gpu() if chosen.share_gpu else contextlib.nullcontext():
        outcome = run_tables(tables, settings, say)
    print(json.dumps(asdict(outcome), indent=1))
    return 1 if outcome.failed else 0


def say(text: str) -> None:
    """Print a line on standard error."""
    print(text, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tellapart.cli.reproduce_batch",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tables", required=True, help="names joined by commas; NAME/* for all tables of a paper")
    parser.add_argument("--rows", nargs="+", default=(), metavar="ROW", help="only these rows (of one table)")
    parser.add_argument("--data", type=Path, required=True, help="the pack")
    parser.add_argument("--features", default="", help="names of features, one per kind, joined by commas")
    parser.add_argument("--seeds", type=int, default=None, help="runs per row; default: as many as the table says")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, or several joined by commas")
    parser.add_argument("--jobs", type=int, default=1, help="runs at once, each in its own process")
    parser.add_argument("--cache", type=Path, required=True, help="folder for results")
    parser.add_argument("--scratch", type=Path, default=None, help="folder for run folders; /dev/shm/runs is fastest")
    parser.add_argument("--limit", type=float, default=None, help="seconds to spend")
    parser.add_argument(
        "--order",
        choices=get_args(Order),
        default="longest",
        help="which runs start first: the longest, or those that decide most claims for their time",
    )
    parser.add_argument("--plan", action="store_true", help="print the order of the runs, and run nothing")
    parser.add_argument("--share", type=float, default=1.0, help="share of every recipe's epochs to train")
    parser.add_argument("--resident", action="store_true", help="keep features on the device")
    parser.add_argument("--replay", action="store_true", help="record steps as CUDA graphs and replay them")
    parser.add_argument("--compile", action="store_true", help="compile backbones that learn")
    parser.add_argument("--pixels", default="auto", help="where images are kept: device, stream or auto")
    parser.add_argument("--share-gpu", action="store_true", help="let jobs compute at the same time (NVIDIA's MPS)")
    parser.add_argument("--tf32", action="store_true", help="round factors of matrix products to TF32, which is faster")
    parser.add_argument("--keep", action="store_true", help="keep run folders with their weights")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
