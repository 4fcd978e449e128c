"""`PYTHONPATH=tests:src python -m torture`: run campaigns, and print one table.

Every case is drawn from the seed and its number. Outcomes are added to `--results`, so that a run continues where the
last one stopped. `--case` runs one case again, in this process, with its traceback.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from torture import results, shim
from torture.campaign import Campaign, Case, Skipped, spread
from torture.campaigns import CAMPAIGNS
from torture.runner import make, run

WORLDS: dict[Callable[[Path], None], Path] = {}


def main() -> int:
    """Run the chosen campaigns; 0 if no case failed."""
    options = _options()
    shim.restart_with_shim(options.library or Path(tempfile.gettempdir()) / f"torture-shim-{os.getuid()}")
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        totals = {name: _campaign(name, options, Path(folder)) for name in options.campaigns}
    print(results.table(totals))
    failed = {name: total.failures for name, total in totals.items() if total.failures}
    for name, failures in failed.items():
        for number, fault in sorted(failures.items())[: options.shown]:
            print(f"{name} --case {number}: {fault}")
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, prog="torture")
    parser.add_argument("campaigns", nargs="*", default=list(CAMPAIGNS), help=f"default: all of {', '.join(CAMPAIGNS)}")
    parser.add_argument("--seed", type=int, default=23)
    parser.add_argument("--results", type=Path, help="progress file; default: none is kept")
    parser.add_argument("--sample", action="store_true", help="a few cases of each campaign")
    parser.add_argument("--cases", type=int, help="at most so many cases of each campaign, the first ones")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no further cases after so long")
    parser.add_argument("--again", action="store_true", help="run the failed cases of the progress file, no others")
    parser.add_argument("--case", type=int, help="run this case alone")
    parser.add_argument("--shown", type=int, default=20, help="failures to print per campaign")
    parser.add_argument("--library", type=Path, help="folder for the compiled library")
    options = parser.parse_args()
    if unknown := set(options.campaigns) - set(CAMPAIGNS):
        parser.error(f"unknown campaign {', '.join(sorted(unknown))}; choose from {', '.join(CAMPAIGNS)}")
    return options


def _campaign(name: str, options: argparse.Namespace, folder: Path) -> results.Total:
    campaign = CAMPAIGNS[name]
    total = results.read(options.results, options.seed).get(name, results.Total())
    try:
        if campaign.needs_shim and not shim.is_loaded():
            raise Skipped("needs Linux and a C compiler")
        _preload(campaign)
        own = _world(campaign, folder, name)
        numbers = _numbers(campaign, options, own, total)
    except (Skipped, ImportError) as reason:
        return results.Total(skipped=str(reason))
    if options.case is not None:
        campaign.run(Case(options.case, options.seed, own, Path(tempfile.mkdtemp(dir=own.parent))))
        return total
    started = time.monotonic()
    while numbers and time.monotonic() - started < options.seconds:
        some, numbers = numbers[: campaign.chunk], numbers[campaign.chunk :]
        outcome = run(campaign, some, options.seed, own)
        results.append(options.results, name, options.seed, some, outcome)
        total.add(some, outcome)
        left = f", {len(numbers)} left" if numbers else ""
        print(f"{name}: {len(total.done)} cases, {len(total.failures)} failures{left}", file=sys.stderr, flush=True)
    return total


def _world(campaign: Campaign, folder: Path, name: str) -> Path:
    """The folder of a campaign; campaigns that make the same one share it."""
    if campaign.make not in WORLDS:
        own = folder / name / "world"
        own.mkdir(parents=True)
        make(campaign, own)
        WORLDS[campaign.make] = own
    return WORLDS[campaign.make]


def _numbers(campaign: Campaign, options: argparse.Namespace, own: Path, total: results.Total) -> list[int]:
    """The cases that are still to run."""
    if options.again:
        return sorted(total.failures)
    everything = campaign.count(own)
    chosen = spread(everything, campaign.sample) if options.sample else list(range(everything))
    return [number for number in chosen[: options.cases] if number not in total.done]


def _preload(campaign: Campaign) -> None:
    """Import what the cases use, once; nothing of it may start threads that hold locks."""
    warnings.filterwarnings("ignore", message=".*fork.*")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for module in campaign.preload:
        importlib.import_module(module)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


if __name__ == "__main__":
    sys.exit(main())
