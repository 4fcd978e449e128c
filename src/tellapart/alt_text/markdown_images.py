"""The images of a Markdown text: `![…](…)`, `![…][…]`, and the `<img>` tags in it. Code is not read."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from tellapart.alt_text.document import Edit
from tellapart.alt_text.html_images import html_images
from tellapart.alt_text.page_image import PageImage

_IMAGE = re.compile(
    r"""(?<!\\)!\[(?P<alt>(?:\\.|[^\[\]\\]|\[[^\[\]]*\])*)\]
    (?:\(\s*(?:<(?P<angled>[^<>\n]*)>|(?P<plain>(?:\\.|[^\s()\\]|\([^\s()]*\))*))
       (?:\s+(?P<title>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\((?:\\.|[^()\\])*\)))?\s*\)
     |\[(?P<label>[^\[\]]*)\])?""",
    re.VERBOSE,
)
_DEFINITION = re.compile(
    r"""^[ ]{0,3}\[(?P<label>(?:\\.|[^\[\]\\])+)\]:[ \t]*\n?[ \t]*(?:<(?P<angled>[^<>\n]*)>|(?P<plain>\S+))
    (?:[ \t]*\n?[ \t]+(?P<title>"[^"\n]*"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*$""",
    re.VERBOSE | re.MULTILINE,
)
_FENCE = re.compile(r"^(?P<indent>[ \t>]*(?:[-*+]|\d{1,9}[.)])?[ \t]*)(?P<mark>`{3,}|~{3,})(?P<rest>[^\n]*)$")
_LIST = re.compile(r"^\s{0,3}(?:[-*+]|\d{1,9}[.)])\s")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(?:.|\n(?!\s*\n))*?(?<!`)\1(?!`)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LINK_START = re.compile(r"(?<!!)\[(?P<text>[^\[\]\n]{0,500})$")
_LINK_END = re.compile(r"(?P<text>[^\[\]\n]*)\]\(\s*<?(?P<address>[^\s<>)]*)")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_SPECIAL = re.compile(r"([\\\[\]`*_<])")


def markdown_images(text: str) -> list[PageImage]:
    """All images of a text, in order."""
    shown = without_code(text)
    definitions = {_label(found["label"]): found for found in _DEFINITION.finditer(shown)}
    images = [image for found in _IMAGE.finditer(shown) if (image := _image(shown, found, definitions)) is not None]
    return sorted([*images, *html_images(shown).images], key=lambda image: image.start)


def without_code(text: str) -> str:
    """The text with spaces for code and comments, so that places stay the same."""
    lines = text.splitlines(keepends=True)
    for number in _code_lines(lines):
        lines[number] = _blank(lines[number])
    return _COMMENT.sub(lambda found: _blank(found[0]), _CODE.sub(lambda found: _blank(found[0]), "".join(lines)))


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)


def _code_lines(lines: list[str]) -> Iterator[int]:
    """Lines of fenced and indented code. Lines that are indented after a list belong to the list."""
    fence, in_list, before_blank, in_code = "", False, True, False
    for number, line in enumerate(lines):
        found = _FENCE.match(line.rstrip("\r\n"))
        if fence:
            yield number
            if found is not None and found["mark"].startswith(fence) and not found["rest"].strip():
                fence = ""
            continue
        if found is not None and not (found["mark"][0] == "`" and "`" in found["rest"]):
            fence = found["mark"]
            yield number
            continue
        blank, indented = not line.strip(), line.startswith(("    ", "\t"))
        if _LIST.match(line):
            in_list = True
        elif not blank and not line.startswith((" ", "\t")) and before_blank:
            in_list = False
        in_code = indented and not blank and not in_list and (before_blank or in_code)
        if in_code:
            yield number
        before_blank = blank


def _image(text: str, found: re.Match[str], definitions: dict[str, re.Match[str]]) -> PageImage | None:
    """An image; None for brackets without a definition."""
    target = found
    if found["plain"] is None and found["angled"] is None:
        label = _label(found["label"] or found["alt"])
        if label not in definitions:
            return None
        target = definitions[label]
    address = target["angled"] if target["angled"] is not None else target["plain"]
    title = target["title"]
    alt = found["alt"].strip()
    place = found.start("alt")
    end = found.end("alt")
    image = PageImage(
        sources=(_plain(address),) if address.strip() else (),
        alt=alt or None,
        start=found.start(),
        edit=lambda new: Edit(place, end, escaped(new)),
        title=_plain(title[1:-1]) if title else None,
    )
    _add_link(text, image, found.end())
    return image


def _add_link(text: str, image: PageImage, end: int) -> None:
    """The link around an image: [![](small.png) some text](large.png)."""
    before = _LINK_START.search(text[max(0, image.start - 500) : image.start])
    after = _LINK_END.match(text, end)
    if before is not None and after is not None:
        image.link, image.link_text = after["address"], f"{before['text']} {after['text']}".strip()


def _label(text: str) -> str:
    return " ".join(text.split()).casefold()


def _plain(text: str) -> str:
    return html.unescape(_ESCAPED.sub(r"\1", text)).strip()


def escaped(text: str) -> str:
    """A text as Markdown writes it between the brackets of an image.

    >>> escaped("a [red] dog_house")
    'a \\\\[red\\\\] dog\\\\_house'
    """
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
