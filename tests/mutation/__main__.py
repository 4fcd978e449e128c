"""`PYTHONPATH=tests python -m mutation --sample 500 --seed 20 --results FILE`: run a sample of mutants.

Verdicts are added to FILE, one line of JSON per mutant, so that a run continues where the last one stopped. A mutant is
killed if a test fails or the tests exceed `--limit`. The tests must pass without a change: run `make quick` first.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from mutation.judge import KILLED, SURVIVED, TIMED_OUT, OneModule, judge, preload
from mutation.mapping import PACKAGES, judges_of, modules
from mutation.mutants import Mutant, mutants_of


def main() -> None:
    """Run mutants until the sample is done or the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=500, help="mutants, an equal share of each package")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--packages", nargs="+", default=list(PACKAGES), choices=PACKAGES)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many seconds")
    parser.add_argument("--limit", type=float, default=300, help="seconds for the tests of one mutant")
    parser.add_argument("--only", default="", help="only mutants whose name has this text, known or not")
    parser.add_argument("--again", action="store_true", help="run the survivors of FILE again, and nothing else")
    options = parser.parse_args()
    known = read_results(options.results)
    chosen = [one for one in sampled(options.sample, options.seed) if one.module.split(".")[1] in options.packages]
    if options.only:
        pending = [one for one in chosen if options.only in one.key]
    elif options.again:
        pending = [one for one in chosen if known.get(one.key) == SURVIVED]
    else:
        pending = [one for one in chosen if one.key not in known]
    preload()
    started = time.monotonic()
    for mutant in pending:
        if time.monotonic() - started > options.seconds:
            break
        judges = judges_of(mutant.module)
        changed = OneModule(mutant.module, mutant.path, mutant.source())
        verdict = judge(changed, judges, options.limit) if judges else SURVIVED
        known[mutant.key] = verdict
        with options.results.open("a") as stream:
            stream.write(json.dumps({"mutant": mutant.key, "verdict": verdict}) + "\n")
        print(f"{verdict:>9}  {mutant.key}", flush=True)
    print("\n".join(report([(one, known[one.key]) for one in chosen if one.key in known], equivalent())))


def sampled(size: int, seed: int) -> list[Mutant]:
    """An equal share of each package, packages in order; the sample of a seed changes only with the code."""
    found: list[Mutant] = []
    for place, package in enumerate(PACKAGES):
        everything = [one for name, path in modules(package).items() for one in mutants_of(path, name)]
        share = size // len(PACKAGES) + (place < size % len(PACKAGES))
        found += random.Random(f"{seed} {package}").sample(everything, min(share, len(everything)))
    return found


def read_results(path: Path) -> dict[str, str]:
    """Verdicts by mutant, the last of each; none where there is no file."""
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
    return {line["mutant"]: line["verdict"] for line in lines}


def equivalent() -> dict[str, str]:
    """Key -> reason of the mutants that no input can tell from the code, each one reviewed."""
    lines = (Path(__file__).parent / "equivalent.txt").read_text().splitlines()
    pairs = (line.rpartition(" | ") for line in lines if line and not line.startswith("#"))
    return {key: reason for key, _, reason in pairs}


def report(verdicts: Sequence[tuple[Mutant, str]], same: Mapping[str, str]) -> list[str]:
    """Every survivor with its reason, then the shares killed, of all mutants and of those that are not equivalent."""
    alive = [one for one, verdict in verdicts if verdict == SURVIVED]
    lines = [f"line {one.line}: {one.key}\n    {same.get(one.key, 'NOT NOTICED')}" for one in alive]
    for package in (*PACKAGES, ""):
        own = [pair for pair in verdicts if pair[0].module.startswith(f"tellapart.{package}")]
        if own:
            dead = sum(verdict in (KILLED, TIMED_OUT) for _, verdict in own)
            equal = sum(verdict == SURVIVED and one.key in same for one, verdict in own)
            lines.append(
                f"{package or 'all':>10}: killed {dead} of {len(own)} ({dead / len(own):.1%}), {equal} equivalent with "
                f"reasons; {dead / max(len(own) - equal, 1):.1%} of the others"
            )
    return lines


if __name__ == "__main__":
    main()
