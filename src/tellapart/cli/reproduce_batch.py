"""`python -m tellapart.cli.reproduce_batch`: many tables' runs on a machine with torch, numpy and safetensors only.

    python -m tellapart.cli.reproduce_batch --tables convse/table3,ltd/table1 --data PACK --seeds 3 --jobs 6 \
        --device cuda --cache OUT --limit 540

Its cache is small (figures and ranks, no weights); `tellapart reproduce TABLE --data PACK --add OUT` takes it over.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from tellapart.papers.tables import find_tables
from tellapart.reproduce.runner import run_rows


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tellapart.cli.reproduce_batch", description=__doc__)
    parser.add_argument("--tables", required=True, help="names, joined by commas; NAME/* for all of a paper's")
    parser.add_argument("--rows", nargs="+", default=(), metavar="ROW", help="only these rows (one table only)")
    parser.add_argument("--data", type=Path, required=True, help="the pack")
    parser.add_argument("--features", default="", help="names of features, one a kind, joined by commas")
    parser.add_argument("--seeds", type=int, default=None)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, default=None, help="where run folders lie; /dev/shm/runs is fastest")
    parser.add_argument("--limit", type=float, default=None, help="seconds")
    parser.add_argument("--share", type=float, default=1.0, help="share of every recipe's epochs")
    parser.add_argument("--resident", action="store_true", help="keep features on the device")
    parser.add_argument("--replay", action="store_true", help="record steps as CUDA graphs and replay them")
    parser.add_argument("--keep", action="store_true", help="keep run folders with their weights")
    chosen = parser.parse_args(arguments)
    tables = find_tables(chosen.tables.split(","))
    if chosen.rows:
        tables = [table.only(tuple(chosen.rows)) for table in tables]
    outcome = run_rows(
        tables,
        chosen.data,
        tuple(name for name in chosen.features.split(",") if name),
        chosen.seeds,
        chosen.device,
        chosen.jobs,
        chosen.cache,
        chosen.limit,
        chosen.scratch,
        chosen.share,
        chosen.resident,
        chosen.keep,
        chosen.replay,
    )
    print(json.dumps(asdict(outcome), indent=1))
    return 1 if outcome.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
