"""The reports of a filled table: JSON, Markdown, HTML and a plot."""

from __future__ import annotations

from pathlib import Path

from tellapart.core.files import write_json, write_text
from tellapart.reproduce.fill import Filled
from tellapart.reproduce.plots import draw_svg
from tellapart.reproduce.report_html import as_html
from tellapart.reproduce.report_json import as_plain
from tellapart.reproduce.report_markdown import as_markdown


def write_reports(filled: Filled, folder: Path) -> list[Path]:
    """Write NAME.json, NAME.md, NAME.html and, if there is something to draw, NAME.svg; returns their paths. NAME is
    the table's name with a dash for its slash."""
    stem = filled.table.name.replace("/", "-")
    drawn = draw_svg(filled)
    paths = [folder / f"{stem}.{kind}" for kind in ("json", "md", "html")]
    write_json(paths[0], as_plain(filled))
    image = f"{stem}.svg" if drawn else ""
    write_text(paths[1], as_markdown(filled, image) + "\n")
    write_text(paths[2], as_html(filled, drawn))
    if drawn:
        write_text(folder / image, drawn)
        paths.append(folder / image)
    return paths
