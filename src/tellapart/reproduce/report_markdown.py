"""A filled table as Markdown, and the texts that all reports share."""

from __future__ import annotations

import math

from tellapart.reproduce.fill import Filled, metric_of
from tellapart.reproduce.statistics import Estimate
from tellapart.reproduce.table import Column, Row

MARKS = {"held": "✓", "not held": "✗", "undecided": "?"}
OURS = "here"
LOPSIDED = 0.25
"""Share of an interval's half width that a value may be off its middle and still be written with ±."""


def command(filled: Filled) -> str:
    """The command that makes this table."""
    seeds = f" --seeds {filled.seeds}" if filled.seeds else ""
    features = " ".join(features_of(filled))
    return f"tellapart reproduce {filled.table.name} --data PACK{seeds}" + (
        f" --features {features}" if features else ""
    )


def features_of(filled: Filled) -> list[str]:
    """Names of the features that its runs were trained on."""
    return sorted({result.features for runs in filled.results.values() for result in runs if result.features})


def notes(filled: Filled) -> list[str]:
    """What a reader must know before reading a value."""
    data = filled.data
    used = ", ".join(features_of(filled)) or "none"
    lines = [f"Data: {data.pack} ({data.fingerprint}), features {used}, test split."]
    if data.share < 1:
        lines.append(
            f"SHORTENED: every row was trained for {data.share:.1%} of its epochs to fit a budget; "
            "values are lower than after a full training, most of all for rows that learn slowly."
        )
    lines.extend(filled.table.notes)
    if any(metric_of(c, runs) != c.metric for c in filled.table.columns for runs in filled.results.values()):
        lines.append("Recall is the mean over folds of 1,000 test images, as the paper's on COCO is.")
    lines.append(_hardware(filled))
    counts = {len(runs) for runs in filled.results.values()}
    images = "bootstrap interval over test images, [ ] its ends where the value is not in its middle"
    if counts == {1}:
        lines.append(f"One run per row: ± is a 95% {images}.")
    elif counts:
        seeds = f"{min(counts)}" if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
        alone = f"; for a row with one seed, a {images}" if 1 in counts else ""
        lines.append(f"{seeds} seeds per row: ± is a 95% t interval of the mean over seeds{alone}.")
    return lines


def _hardware(filled: Filled) -> str:
    """The devices of the runs, and how long one took."""
    runs = [result for results in filled.results.values() for result in results]
    if not runs:
        return "Nothing has been run."
    devices = _devices({run.device for run in runs})
    shortest, longest = min(run.seconds for run in runs), max(run.seconds for run in runs)
    return f"Trained on {devices}, several runs at once; {shortest:.0f} to {longest:.0f} s per run."


def _devices(names: set[str]) -> str:
    """
    >>> _devices({"cpu", "GPU", "GPU, TF32"}), _devices({"GPU, TF32"})
    ('GPU, partly with TF32 and cpu', 'GPU, TF32')
    """
    found = []
    for name in sorted(names):
        plain = name.removesuffix(", TF32")
        found.append(f"{plain}, partly with TF32" if {plain, f"{plain}, TF32"} <= names else name)
    return " and ".join(dict.fromkeys(found))


def shown(estimate: Estimate | None, decimals: int) -> str:
    """A value and its interval: ± half its width, or its ends where the value is not in its middle.

    >>> shown(Estimate(9.8, 8.6, 11.1, "images"), 1), shown(Estimate(9.8, 7.7, 10.2, "images"), 1)
    ('9.8 ± 1.2', '9.8 [7.7, 10.2]')
    """
    if estimate is None:
        return "–"
    value = f"{estimate.value:.{decimals}f}"
    if estimate.margin is None:
        return value
    if abs(estimate.value - (estimate.low + estimate.high) / 2) > LOPSIDED * estimate.margin:
        return f"{value} [{estimate.low:.{decimals}f}, {estimate.high:.{decimals}f}]"
    return f"{value} ± {estimate.margin:.{decimals}f}"


def row_lines(filled: Filled, row: Row) -> list[tuple[str, list[str]]]:
    """Our values, then the paper's by data set: (source, cells)."""
    cells = [filled.cells.get((row.name, column.name)) for column in filled.table.columns]
    ours = [
        shown(None if cell is None else cell.estimate(), column.decimals)
        for cell, column in zip(cells, filled.table.columns)
    ]
    lines = [(OURS, ours)]
    for data, values in row.published.items():
        lines.append((f"paper, {data}", [_published(value, c) for value, c in zip(values, filled.table.columns)]))
    return lines


def _published(value: float | None, column: Column) -> str:
    return "–" if value is None else f"{value:.{column.decimals}f}"


def as_markdown(filled: Filled, image: str = "", level: int = 2, suffix: str = "") -> str:
    """The table as Markdown. suffix: what the heading adds to tell two tables of one name apart."""
    table = filled.table
    out = [f"{'#' * level} {table.name}{suffix}", "", f"{table.title}. {table.paper}.", ""]
    out += [*(f"- {line}" for line in notes(filled)), f"- Made by `{command(filled)}`.", ""]
    out += ["| | | " + " | ".join(column.name for column in table.columns) + " |"]
    out += ["|---|---|" + "---:|" * len(table.columns)]
    for row in table.rows:
        for index, (source, cells) in enumerate(row_lines(filled, row)):
            name = f"**{row.name}**" if index == 0 else ""
            out.append(f"| {name} | {source} | " + " | ".join(cells) + " |")
    if filled.missing:
        out += ["", "Not run: " + "; ".join(f"{row} ({why})" for row, why in filled.missing.items()) + "."]
    if filled.claims:
        out += ["", "| claim | here | checks |", "|---|---|---|"]
        for checked in filled.claims:
            checks = "<br>".join(f"{check.text}: {estimate_text(check.estimate)}" for check in checked.checks)
            out.append(f"| {checked.claim.text} | **{checked.verdict}** | {checks} |")
    if image:
        out += ["", f"![{table.title}]({image})"]
    return "\n".join(out)


def estimate_text(estimate: Estimate | None) -> str:
    """A difference with its interval and what the interval is over."""
    if estimate is None or math.isnan(estimate.value):
        return "no result"
    if math.isnan(estimate.low):
        return f"{estimate.value:.2f} ({estimate.how})"
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}] ({estimate.how})"
