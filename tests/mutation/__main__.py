"""`PYTHONPATH=tests python -m mutation --sample 500 --seed 20 --results FILE`: run a sample of mutants.

Verdicts are added to FILE, one line of JSON per mutant, so that a run continues where the last one stopped. A mutant is
killed if a test fails, or if the tests take five times as long as without it.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path

from mutation.judge import KILLED, SURVIVED, TIMED_OUT, OneModule, judge, preload
from mutation.mapping import PACKAGES, judges_of, modules
from mutation.mutants import Mutant, mutants_of

LEAST_LIMIT = 60.0


def main() -> None:
    """Run mutants until the sample is done or the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=500, help="mutants, an equal share of each package")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--packages", nargs="+", default=list(PACKAGES), choices=PACKAGES)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many seconds")
    parser.add_argument("--again", action="store_true", help="run the survivors of FILE again, and nothing else")
    options = parser.parse_args()
    known = read_results(options.results)
    chosen = [one for one in sampled(options.sample, options.seed) if one.module.split(".")[1] in options.packages]
    if options.again:
        pending = [one for one in chosen if known.get(one.key) == SURVIVED]
    else:
        pending = [one for one in chosen if one.key not in known]
    preload()
    started, seconds = time.monotonic(), read_seconds(options.results)
    for mutant in pending:
        if time.monotonic() - started > options.seconds:
            break
        verdict = run(mutant, seconds, options.results)
        known[mutant.key] = verdict
        append(options.results, {"mutant": mutant.key, "verdict": verdict})
        print(f"{verdict:>9}  {mutant.key}", flush=True)
    summarise({one.key: known[one.key] for one in chosen if one.key in known})


def sampled(size: int, seed: int) -> list[Mutant]:
    """An equal share of each package, packages in order; the sample of a seed changes only with the code."""
    found: list[Mutant] = []
    for place, package in enumerate(PACKAGES):
        everything = [one for name, path in modules(package).items() for one in mutants_of(path, name)]
        share = size // len(PACKAGES) + (place < size % len(PACKAGES))
        found += random.Random(f"{seed} {package}").sample(everything, min(share, len(everything)))
    return found


def run(mutant: Mutant, seconds: dict[str, float], results: Path) -> str:
    """The verdict on one mutant. A test file runs once without a change, to know that it passes and how long it
    takes."""
    tests = judges_of(mutant.module)
    for test in tests:
        if test not in seconds:
            verdict, seconds[test] = judge(None, [test], 900)
            if verdict != SURVIVED:
                sys.exit(f"{test} fails without a change.")
            append(results, {"test": test, "seconds": round(seconds[test], 1)})
    if not tests:
        return SURVIVED
    limit = max(LEAST_LIMIT, 5 * sum(seconds[test] for test in tests))
    return judge(OneModule(mutant.module, mutant.path, mutant.source()), tests, limit)[0]


def append(path: Path, line: dict[str, object]) -> None:
    """Add a line of JSON."""
    with path.open("a") as stream:
        stream.write(json.dumps(line) + "\n")


def read_lines(path: Path) -> list[dict[str, object]]:
    """All lines; none where there is no file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def read_results(path: Path) -> dict[str, str]:
    """Verdicts by mutant, the last of each."""
    return {str(line["mutant"]): str(line["verdict"]) for line in read_lines(path) if "mutant" in line}


def read_seconds(path: Path) -> dict[str, float]:
    """How long test files take without a change."""
    return {str(line["test"]): float(str(line["seconds"])) for line in read_lines(path) if "test" in line}


def summarise(verdicts: dict[str, str]) -> None:
    """Print the share killed, by package and in all."""
    for package in (*PACKAGES, ""):
        own = [verdict for key, verdict in verdicts.items() if key.startswith(f"tellapart.{package}")]
        if own:
            dead = sum(verdict in (KILLED, TIMED_OUT) for verdict in own)
            print(f"{package or 'all':>10}: {dead} of {len(own)} killed, {dead / len(own):.1%}")


if __name__ == "__main__":
    main()
