"""The report of `tellapart prepare` on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tellapart.cli.errors import for_command_line
from tellapart.core.errors import Error

SHOWN = 5
"""Skipped items shown per kind; report.json has all."""


MANY_UNKNOWN = 0.1
"""Share of unknown words from which advice is printed."""


def advice(share: float) -> str:
    """What to do about many unknown words."""
    return (
        f"{share:.0%} of all words are unknown (UNK): models cannot learn or generate them. Keep rare words with "
        "--min-count 1; with --vocabulary-from, a word that the run never learned stays unknown."
    )


def print_report(report: dict[str, Any], pack: str, flags: Mapping[str, str]) -> None:
    """Print the report of a pack as tables, with flags for the arguments that reasons name."""
    console = Console(highlight=False)
    each, words = report["captions_a_picture"], report["words"]
    table = Table(title=escape(pack), title_justify="left", title_style="bold")
    table.add_column("split")
    for column in ("images", "captions", "UNK"):
        table.add_column(column, justify="right")
    for name, row in report["splits"].items():
        table.add_row(escape(name), f"{row['pictures']:,}", f"{row['captions']:,}", f"{row['unknown_share']:.2%}")
    table.add_section()
    table.add_row("all", f"{report['pictures']:,}", f"{report['captions']:,}", f"{words['unknown_share']:.2%}")
    console.print(table)
    if report["pictures"]:
        console.print(f"captions per image: {each['mean']} (least {each['least']}, most {each['most']})")
    cut = f", {words['captions_cut']:,} captions cut" if words["captions_cut"] else ""
    console.print(
        f"vocabulary: {words['vocabulary']:,} words (special ones included); {words['mean_length']} words per caption, "
        f"longest {words['longest']}{cut}"
    )
    if words["unknown_share"] > MANY_UNKNOWN:
        console.print(advice(words["unknown_share"]), soft_wrap=True)
    if "phrases" in report:
        found = report["phrases"]
        console.print(
            f"phrases: {found['mentions']:,} mentions, {found['placed']:,} of them placed on the words of "
            f"{found['captions']:,} captions, {found['with_boxes']:,} with boxes"
        )
    if "detections" in report:
        found = report["detections"]
        console.print(f"detections: {found['boxes']:,} boxes in {found['pictures']:,} images")
    if "nouns" in report:
        console.print(f"nouns: {report['nouns']['share']:.1%} of all words")
    skipped = report["skipped"]
    if not skipped["items"]:
        console.print("nothing was skipped")
        return
    console.print(f"skipped: {len(skipped['items']):,} items (all of them in report.json)")
    for kind, count in skipped["counts"].items():
        console.print(f"  {kind}: {count:,}")
        for item in [row for row in skipped["items"] if row["kind"] == kind][:SHOWN]:
            reason = for_command_line(Error(item["reason"]), flags)
            console.print(escape(f"    {item['item']} ({item['where']}): {reason}"), soft_wrap=True)
