"""One self-contained HTML file: style, images and plots are inside."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from tellapart.images.orientation import upright

STYLE = """
:root { color-scheme: light dark; --line: #8884; --good: #2a9d5c; --bad: #c8403c; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; } h1 + p { margin-top: .2rem; opacity: .75; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
table { border-collapse: collapse; }
td, th { padding: .25rem .8rem; border-bottom: 1px solid var(--line); text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 0; } img { border-radius: 6px; max-width: 100%; } figcaption { font-size: .85rem; opacity: .85; }
.row { display: flex; gap: .8rem; flex-wrap: wrap; margin: .8rem 0 1.6rem; align-items: flex-start; }
.row figure { width: 9.5rem; } .row .wide { flex: 1; min-width: 14rem; }
.right img { outline: 4px solid var(--good); } .right > strong { color: var(--good); }
li.right { color: var(--good); } li.wrong { color: var(--bad); }
blockquote { margin: .3rem 0; padding-left: .8rem; border-left: 3px solid var(--line); }
"""


def page(title: str, subtitle: str, sections: Sequence[tuple[str, str]]) -> str:
    """A whole page; sections are (heading, HTML)."""
    body = "".join(f"<section><h2>{html.escape(heading)}</h2>{content}</section>" for heading, content in sections)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>'
        f"<h1>{html.escape(title)}</h1><p>{html.escape(subtitle)}</p>{body}</body></html>\n"
    )


def table(rows: Sequence[tuple[str, ...]], header: tuple[str, ...]) -> str:
    """A table whose second column has numbers."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(_cell(text, number == 1) for number, text in enumerate(row))}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(text: str, is_number: bool) -> str:
    return f'<td class="number">{html.escape(text)}</td>' if is_number else f"<td>{html.escape(text)}</td>"


def figure(image: Path | Image.Image, caption: str, right: bool = False, size: int = 224) -> str:
    """A thumbnail with a caption; `right` marks the right answer with a tick and a colour."""
    with Image.open(image) if isinstance(image, Path) else image as opened:
        small = upright(opened).copy()
        small.thumbnail((size, size))
    file = io.BytesIO()
    small.save(file, "JPEG", quality=85)
    mark, css = ("✓ ", ' class="right"') if right else ("", "")
    words = html.escape(mark + caption)
    return (
        f'<figure{css}><img alt="{html.escape(caption)}" src="data:image/jpeg;base64,{_encoded(file.getvalue())}">'
        f"<figcaption>{words}</figcaption></figure>"
    )


def plot(image: bytes, description: str) -> str:
    """A PNG as an image."""
    return f'<img alt="{html.escape(description)}" src="data:image/png;base64,{_encoded(image)}">'


def quotes(lines: Sequence[str]) -> str:
    """Lines as block quotes."""
    return "".join(f"<blockquote>{html.escape(line)}</blockquote>" for line in lines)


def text(words: str) -> str:
    """Words as HTML."""
    return html.escape(words)


def ranked(lines: Sequence[tuple[str, bool]]) -> str:
    """A numbered list; right lines have a tick and a colour, wrong ones a cross and another."""
    items = (
        f'<li class="{"right" if right else "wrong"}">{"✓" if right else "✗"} {html.escape(line)}</li>'
        for line, right in lines
    )
    return f"<ol>{''.join(items)}</ol>"


def row(parts: Sequence[str]) -> str:
    """Parts next to each other."""
    return f'<div class="row">{"".join(parts)}</div>'


def wide(content: str) -> str:
    """The part of a row that takes the remaining width."""
    return f'<div class="wide">{content}</div>'


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()
