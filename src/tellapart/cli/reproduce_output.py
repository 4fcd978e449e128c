"""What `tellapart reproduce` and `reproduce_batch` print."""

from __future__ import annotations

from collections.abc import Iterable

from tellapart.reproduce.fill import Filled
from tellapart.reproduce.report_markdown import MARKS, notes, row_lines
from tellapart.reproduce.schedule import Schedule
from tellapart.reproduce.table import Table


def print_tables(tables: Iterable[Table]) -> None:
    """List tables with their rows."""
    from rich.console import Console

    console = Console()
    for table in tables:
        console.print(f"[bold]{table.name}[/bold]  {table.title}", highlight=False)
        console.print(f"    rows: {'; '.join(row.name for row in table.rows)}", highlight=False, markup=False)
        console.print(f"    tellapart reproduce {table.name} --data PACK", highlight=False)


def print_filled(filled: Filled) -> None:
    """Print a filled table."""
    from rich.console import Console
    from rich.table import Table as Grid

    console = Console()
    grid = Grid(title=f"{filled.table.name}: {filled.table.title}")
    grid.add_column("")
    grid.add_column("")
    for column in filled.table.columns:
        grid.add_column(column.name, justify="right")
    for row in filled.table.rows:
        for index, (source, cells) in enumerate(row_lines(filled, row)):
            grid.add_row(row.name if index == 0 else "", source, *cells, style=None if index == 0 else "dim")
    console.print(grid)
    for line in notes(filled):
        console.print(f"  {line}", highlight=False, style="bold yellow" if line.startswith("SHORTENED") else None)
    for row_name, reason in filled.missing.items():
        console.print(f"  not run: {row_name}: {reason}", highlight=False, markup=False)
    colours = {"held": "green", "not held": "red", "undecided": "yellow"}
    for checked in filled.claims:
        console.print(
            f"  {MARKS[checked.verdict]} {checked.verdict}: {checked.claim.text}",
            style=colours[checked.verdict],
            highlight=False,
            markup=False,
        )


def print_schedule(schedule: Schedule) -> None:
    """Print one line per job: its expected seconds, their sum so far, and the claims that have all their runs then."""
    print(
        f"{schedule.decided} of {schedule.claims} claims are decided, {schedule.open} wait for these runs"
        + ("." if schedule.timed else "; no run on this kind of device is in the cache, so the seconds are guesses.")
    )
    print(f"{'seconds':>8}{'in all':>9}{'claims':>8}  run")
    total = 0.0
    for one in schedule.jobs:
        total += one.seconds
        print(f"{one.seconds:8.0f}{total:9.0f}{schedule.decided + one.claims:8}  {one.job.label}")
