"""A filled table for people and programs: JSON, Markdown, HTML, the terminal."""

from __future__ import annotations

import html
import math
from pathlib import Path
from typing import Any

from tellapart.core.files import write_json, write_text
from tellapart.reproduce.collect import Filled, figure_of
from tellapart.reproduce.plots import drawn_svg
from tellapart.reproduce.statistics import Estimate
from tellapart.reproduce.table import Column, Row

MARKS = {"held": "✓", "not held": "✗", "undecided": "?"}
OURS = "here"
LOPSIDED = 0.25
"""Share of an interval's half width that a value may lie off its middle and still be written with ±."""


def write_reports(filled: Filled, folder: Path) -> list[Path]:
    """NAME.json, NAME.md, NAME.html and, where there is something to draw, NAME.svg, where NAME is the table's with a
    dash for its slash."""
    stem = filled.table.name.replace("/", "-")
    drawn = drawn_svg(filled)
    paths = [folder / f"{stem}.{kind}" for kind in ("json", "md", "html")]
    write_json(paths[0], as_plain(filled))
    image = f"{stem}.svg" if drawn else ""
    write_text(paths[1], as_markdown(filled, image) + "\n")
    write_text(paths[2], as_html(filled, drawn))
    if drawn:
        write_text(folder / image, drawn)
        paths.append(folder / image)
    return paths


def command(filled: Filled) -> str:
    """What makes this table."""
    seeds = f" --seeds {filled.seeds}" if filled.seeds else ""
    features = " ".join(features_of(filled))
    return f"tellapart reproduce {filled.table.name} --data PACK{seeds}" + (
        f" --features {features}" if features else ""
    )


def features_of(filled: Filled) -> list[str]:
    """Names of the features its runs were trained on."""
    return sorted({result.features for runs in filled.results.values() for result in runs if result.features})


def honest_lines(filled: Filled) -> list[str]:
    """What a reader must know before reading a figure."""
    data = filled.data
    used = ", ".join(features_of(filled)) or "none"
    lines = [f"Data: {data.pack} ({data.fingerprint}), features {used}, test split."]
    if data.share < 1:
        lines.append(
            f"SHORTENED: every row was trained for {data.share:.1%} of its epochs to fit a budget; "
            "figures are lower than a full training gives, and rows that learn slowly suffer most."
        )
    lines.extend(filled.table.notes)
    if any(figure_of(c, runs) != c.metric for c in filled.table.columns for runs in filled.results.values()):
        lines.append("Recall is the mean over folds of 1,000 test images, as the paper's on COCO is.")
    lines.append(_hardware(filled))
    counts = {len(runs) for runs in filled.results.values()}
    images = "bootstrap interval over test images, [ ] its ends where the value is not its middle"
    if counts == {1}:
        lines.append(f"One run a row: ± is a 95% {images}.")
    elif counts:
        seeds = f"{min(counts)}" if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
        alone = f"; of a row with one seed, a {images}" if 1 in counts else ""
        lines.append(f"{seeds} seeds a row: ± is a 95% t interval of the mean over seeds{alone}.")
    return lines


def _hardware(filled: Filled) -> str:
    """What the runs were made on, and how long one took."""
    runs = [result for results in filled.results.values() for result in results]
    if not runs:
        return "Nothing has been run."
    devices = ", ".join(sorted({run.device for run in runs}))
    shortest, longest = min(run.seconds for run in runs), max(run.seconds for run in runs)
    return f"Trained on {devices}, several runs at once; {shortest:.0f} to {longest:.0f} s a run."


def shown(estimate: Estimate | None, decimals: int) -> str:
    """A value and its interval: ± half its width, or its ends where the value does not lie in its middle.

    >>> shown(Estimate(9.8, 8.6, 11.1, "pictures"), 1), shown(Estimate(9.8, 7.7, 10.2, "pictures"), 1)
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


def _lines(filled: Filled, row: Row) -> list[tuple[str, list[str]]]:
    """Our figures, then the paper's by data set: (who, cells)."""
    cells = [filled.cells.get((row.name, column.name)) for column in filled.table.columns]
    ours = [
        shown(None if cell is None else cell.estimate(), column.decimals)
        for cell, column in zip(cells, filled.table.columns)
    ]
    lines = [(OURS, ours)]
    for data, figures in row.published.items():
        lines.append((f"paper, {data}", [_published(f, c) for f, c in zip(figures, filled.table.columns)]))
    return lines


def _published(figure: float | None, column: Column) -> str:
    return "–" if figure is None else f"{figure:.{column.decimals}f}"


def as_markdown(filled: Filled, image: str = "", level: int = 2, apart: str = "") -> str:
    """apart: what sets this table apart from another of its name."""
    table = filled.table
    out = [f"{'#' * level} {table.name}{apart}", "", f"{table.title}. {table.paper}.", ""]
    out += [*(f"- {line}" for line in honest_lines(filled)), f"- Made by `{command(filled)}`.", ""]
    out += ["| | | " + " | ".join(column.name for column in table.columns) + " |"]
    out += ["|---|---|" + "---:|" * len(table.columns)]
    for row in table.rows:
        for index, (who, cells) in enumerate(_lines(filled, row)):
            name = f"**{row.name}**" if index == 0 else ""
            out.append(f"| {name} | {who} | " + " | ".join(cells) + " |")
    if filled.missing:
        out += ["", "Not run: " + "; ".join(f"{row} ({why})" for row, why in filled.missing.items()) + "."]
    if filled.claims:
        out += ["", "| claim | here | judged by |", "|---|---|---|"]
        for judged in filled.claims:
            checks = "<br>".join(f"{check.text}: {_judged(check.estimate)}" for check in judged.checks)
            out.append(f"| {judged.claim.text} | **{judged.verdict}** | {checks} |")
    if image:
        out += ["", f"![{table.title}]({image})"]
    return "\n".join(out)


def _judged(estimate: Estimate | None) -> str:
    if estimate is None or math.isnan(estimate.value):
        return "no result"
    if math.isnan(estimate.low):
        return f"{estimate.value:.2f} ({estimate.how})"
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}] ({estimate.how})"


def as_html(filled: Filled, drawn: str = "") -> str:
    table = filled.table
    head = "".join(f"<th>{html.escape(column.name)}</th>" for column in table.columns)
    body = []
    for row in table.rows:
        for index, (who, cells) in enumerate(_lines(filled, row)):
            name = html.escape(row.name) if index == 0 else ""
            numbers = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
            kind = "ours" if index == 0 else "paper"
            body.append(f'<tr class="{kind}"><th>{name}</th><th>{html.escape(who)}</th>{numbers}</tr>')
    notes = "".join(f"<li>{html.escape(line)}</li>" for line in honest_lines(filled))
    missing = "".join(f"<li>{html.escape(row)}: {html.escape(why)}</li>" for row, why in filled.missing.items())
    claims = "".join(
        f'<tr class="{judged.verdict.replace(" ", "-")}"><td>{MARKS[judged.verdict]} {judged.verdict}</td>'
        f"<td>{html.escape(judged.claim.text)}</td><td>"
        + "<br>".join(html.escape(f"{check.text}: {_judged(check.estimate)}") for check in judged.checks)
        + "</td></tr>"
        for judged in filled.claims
    )
    image = drawn[drawn.index("<svg") :] if drawn else ""
    return _PAGE.format(
        title=html.escape(f"{table.name}: {table.title}"),
        paper=html.escape(table.paper),
        notes=notes,
        head=head,
        body="\n".join(body),
        missing=f"<h2>Not run</h2><ul>{missing}</ul>" if missing else "",
        claims=f"<h2>Claims</h2><table>{claims}</table>" if claims else "",
        image=image,
        command=html.escape(command(filled)),
    )


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 15px/1.45 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; color: #222 }}
table {{ border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }}
td, th {{ padding: .25rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #eee }}
tbody th, h2 + table td {{ text-align: left; white-space: normal }}
tr.ours {{ font-weight: 600 }} tr.paper {{ color: #777 }} tr.paper th {{ font-weight: 400 }}
tr.held td:first-child {{ color: #1a7f37 }} tr.not-held td:first-child {{ color: #b3261e }}
tr.undecided td:first-child {{ color: #8a6d00 }} svg {{ max-width: 100%; height: auto }}
</style>
<h1>{title}</h1><p>{paper}</p><ul>{notes}</ul>
<table><thead><tr><th></th><th></th>{head}</tr></thead><tbody>
{body}
</tbody></table>
{missing}{claims}{image}
<p><code>{command}</code></p></html>
"""


def as_plain(filled: Filled) -> dict[str, Any]:
    """Everything, for programs."""
    table, data = filled.table, filled.data
    rows = []
    for row in table.rows:
        cells: dict[str, Any] = {}
        for place, column in enumerate(table.columns):
            cell = filled.cells.get((row.name, column.name))
            own = None if cell is None else cell.estimate()
            published = {name: figures[place] for name, figures in row.published.items() if place < len(figures)}
            cells[column.name] = {
                **(_plain(own) or {"value": None}),
                "runs": {} if cell is None else dict(cell.values),
                "published": published,
            }
        rows.append({"name": row.name, "recipe": row.recipe.name, "overrides": list(row.overrides), "cells": cells})
    return {
        "table": table.name,
        "paper": table.paper,
        "title": table.title,
        "data": {
            "pack": data.pack,
            "fingerprint": data.fingerprint,
            "features": dict(data.features),
            "share_of_epochs": data.share,
        },
        "notes": honest_lines(filled),
        "rows": rows,
        "missing": dict(filled.missing),
        "claims": [
            {
                "text": judged.claim.text,
                "verdict": judged.verdict,
                "checks": [
                    {"text": check.text, "verdict": check.verdict, **(_plain(check.estimate) or {"value": None})}
                    for check in judged.checks
                ],
            }
            for judged in filled.claims
        ],
        "curves": [
            {"row": row, "curve": title, "points": [list(point) for point in points]}
            for (row, title), points in filled.curves.items()
        ],
        "command": command(filled),
    }


def _plain(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    numbers = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return {**{name: None if math.isnan(v) else v for name, v in numbers.items()}, "how": estimate.how}


def print_filled(filled: Filled) -> None:
    """To the terminal."""
    from rich.console import Console
    from rich.table import Table as Grid

    console = Console()
    grid = Grid(title=f"{filled.table.name}: {filled.table.title}")
    grid.add_column("")
    grid.add_column("")
    for column in filled.table.columns:
        grid.add_column(column.name, justify="right")
    for row in filled.table.rows:
        for index, (who, cells) in enumerate(_lines(filled, row)):
            grid.add_row(row.name if index == 0 else "", who, *cells, style=None if index == 0 else "dim")
    console.print(grid)
    for line in honest_lines(filled):
        console.print(f"  {line}", highlight=False, style="bold yellow" if line.startswith("SHORTENED") else None)
    for row_name, why in filled.missing.items():
        console.print(f"  not run: {row_name}: {why}", highlight=False, markup=False)
    colours = {"held": "green", "not held": "red", "undecided": "yellow"}
    for judged in filled.claims:
        console.print(
            f"  {MARKS[judged.verdict]} {judged.verdict}: {judged.claim.text}",
            style=colours[judged.verdict],
            highlight=False,
            markup=False,
        )
