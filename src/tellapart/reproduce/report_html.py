"""A filled table as an HTML page."""

from __future__ import annotations

import html

from tellapart.reproduce.fill import Filled
from tellapart.reproduce.report_markdown import MARKS, command, estimate_text, notes, row_lines


def as_html(filled: Filled, drawn: str = "") -> str:
    """The table as one HTML page; drawn: an SVG to show below it."""
    table = filled.table
    head = "".join(f"<th>{html.escape(column.name)}</th>" for column in table.columns)
    body = []
    for row in table.rows:
        for index, (source, cells) in enumerate(row_lines(filled, row)):
            name = html.escape(row.name) if index == 0 else ""
            numbers = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
            kind = "ours" if index == 0 else "paper"
            body.append(f'<tr class="{kind}"><th>{name}</th><th>{html.escape(source)}</th>{numbers}</tr>')
    lines = "".join(f"<li>{html.escape(line)}</li>" for line in notes(filled))
    missing = "".join(f"<li>{html.escape(row)}: {html.escape(why)}</li>" for row, why in filled.missing.items())
    claims = "".join(
        f'<tr class="{checked.verdict.replace(" ", "-")}"><td>{MARKS[checked.verdict]} {checked.verdict}</td>'
        f"<td>{html.escape(checked.claim.text)}</td><td>"
        + "<br>".join(html.escape(f"{check.text}: {estimate_text(check.estimate)}") for check in checked.checks)
        + "</td></tr>"
        for checked in filled.claims
    )
    image = drawn[drawn.index("<svg") :] if drawn else ""
    return _PAGE.format(
        title=html.escape(f"{table.name}: {table.title}"),
        paper=html.escape(table.paper),
        notes=lines,
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
