"""The progress file: one line of JSON per part of a campaign, so that a run continues where the last one stopped."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from torture.runner import Outcome


@dataclass
class Total:
    """What has come of a campaign so far."""

    done: set[int] = field(default_factory=set)
    failures: dict[int, str] = field(default_factory=dict)
    seconds: float = 0.0
    peak: int = 0
    skipped: str = ""

    def add(self, numbers: list[int], outcome: Outcome) -> None:
        """Count further cases; of a case that was run again the last outcome counts."""
        self.done.update(numbers)
        kept = {number: fault for number, fault in self.failures.items() if number not in numbers}
        self.failures = kept | outcome.failures
        self.seconds += outcome.seconds
        self.peak = max(self.peak, outcome.peak)


def read(path: Path | None, seed: int) -> dict[str, Total]:
    """Totals by campaign of the lines with this seed; a last line that a kill cut off is skipped."""
    totals: dict[str, Total] = {}
    if path is None or not path.is_file():
        return totals
    for line in path.read_text().splitlines():
        try:
            found = json.loads(line)
        except json.JSONDecodeError:
            continue
        if found["seed"] == seed:
            failures = {int(number): fault for number, fault in found["failures"].items()}
            total = totals.setdefault(found["campaign"], Total())
            total.add(found["cases"], Outcome(failures, found["peak"], found["seconds"]))
    return totals


def append(path: Path | None, campaign: str, seed: int, numbers: list[int], outcome: Outcome) -> None:
    """Add the outcome of some cases."""
    if path is None:
        return
    line = {"campaign": campaign, "seed": seed, "cases": numbers, **vars(outcome)}
    with path.open("a") as stream:
        stream.write(json.dumps(line) + "\n")


def table(totals: dict[str, Total]) -> str:
    """One row per campaign, as Markdown.

    >>> print(table({"mutated-images": Total(set(range(2000)), {7: "crash"}, 61.0, 3 << 28)}))
    | campaign | cases | failures | duration | peak memory |
    |---|---:|---:|---:|---:|
    | mutated-images | 2,000 | 1 | 1 min 01 s | 768 MB |
    """
    rows = ["| campaign | cases | failures | duration | peak memory |", "|---|---:|---:|---:|---:|"]
    for name, total in totals.items():
        if total.skipped:
            rows.append(f"| {name} | skipped: {total.skipped} | | | |")
        else:
            minutes, seconds = divmod(round(total.seconds), 60)
            spent = f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"
            rows.append(f"| {name} | {len(total.done):,} | {len(total.failures)} | {spent} | {total.peak >> 20} MB |")
    return "\n".join(rows)
