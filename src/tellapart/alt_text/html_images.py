"""The images of an HTML text, with the links and hidden parts around them."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field

from tellapart.alt_text.document import Edit
from tellapart.alt_text.html_tags import Tag, tags
from tellapart.alt_text.page_image import PageImage

LAZY = ("data-src", "data-original", "data-lazy-src", "data-lazy", "data-url", "data-image")
LAZY_SETS = ("data-srcset", "data-lazy-srcset")
VOID = (
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
)  # fmt: skip
CLICKED = ("a", "button")
_NUMBER = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:px)?\s*")
_STYLE = re.compile(r"(?:^|;)\s*(width|height)\s*:\s*(\d+(?:\.\d+)?)px", re.I)


@dataclass
class _Clicked:
    """A link or button that is open, its text so far, and the images in it."""

    tag: Tag
    text: list[str] = field(default_factory=list)
    images: list[PageImage] = field(default_factory=list)


@dataclass(frozen=True)
class HtmlImages:
    """The images of a text, and the address that its relative addresses start from (`<base href>`)."""

    images: list[PageImage]
    base: str = ""


def html_images(text: str) -> HtmlImages:
    """All `<img>` tags of a text."""
    found: list[PageImage] = []
    clicked: list[_Clicked] = []
    hidden: list[str] = []
    base = ""
    for tag in tags(text):
        if clicked and tag.text_before.strip():
            clicked[-1].text.append(tag.text_before)
        if tag.name == "base" and not base:
            base = tag.get("href") or ""
        _follow_hidden(tag, hidden)
        if tag.name in CLICKED:
            if clicked:  # links do not nest: another one ends the first
                _close(clicked.pop())
            if not tag.closing:
                clicked.append(_Clicked(tag))
        if tag.name == "img" and not tag.closing:
            image = _image(text, tag, bool(hidden))
            found.append(image)
            if clicked:
                image.link = clicked[-1].tag.get("href") or ""
                clicked[-1].images.append(image)
    for left in clicked:
        _close(left)
    return HtmlImages(found, base)


def _close(clicked: _Clicked) -> None:
    text = " ".join(" ".join(clicked.text).split()) or clicked.tag.get("aria-label") or ""
    for image in clicked.images:
        image.link_text = text


def _follow_hidden(tag: Tag, hidden: list[str]) -> None:
    """Keep the open elements inside the outermost hidden one; the list is empty outside of it."""
    if tag.closing:
        if tag.name in hidden:
            while hidden.pop() != tag.name:
                pass
    elif tag.name not in VOID and not tag.self_closing and (hidden or _is_hidden(tag)):
        hidden.append(tag.name)


def _is_hidden(tag: Tag) -> bool:
    return (tag.get("aria-hidden") or "").strip().lower() == "true"


def _image(text: str, tag: Tag, hidden: bool) -> PageImage:
    role = (tag.get("role") or "").strip().lower()
    return PageImage(
        sources=_sources(tag),
        alt=tag.get("alt"),
        start=tag.start,
        edit=lambda alt: _edit(text, tag, alt),
        title=tag.get("title"),
        width=_pixels(tag, "width"),
        height=_pixels(tag, "height"),
        named=bool((tag.get("aria-label") or tag.get("aria-labelledby") or "").strip()),
        hidden=hidden or _is_hidden(tag) or role in ("presentation", "none"),
    )


def _edit(text: str, tag: Tag, alt: str) -> Edit:
    """A new attribute follows the name of the tag: there is no doubt where that ends, whatever follows."""
    quoted = f'alt="{html.escape(alt)}"'.replace("&#x27;", "'")
    there = tag.attributes.get("alt")
    if there is None:
        return Edit(tag.name_end, tag.name_end, f" {quoted}")
    after = text[there.end : there.end + 1]
    return Edit(there.start, there.end, quoted + ("" if after.isspace() or after in ("/", ">") else " "))


def _sources(tag: Tag) -> tuple[str, ...]:
    lazy = [tag.get(name) for name in LAZY] + [one for name in LAZY_SETS for one in _largest_first(tag.get(name))]
    plain = [tag.get("src"), *_largest_first(tag.get("srcset"))]
    return tuple(dict.fromkeys(source.strip() for source in (*lazy, *plain) if source and source.strip()))


def _largest_first(srcset: str | None) -> list[str]:
    """The addresses of a srcset, the largest first.

    >>> _largest_first("a.png 1x, b.png 2x"), _largest_first("a.png 480w,b.png 800w"), _largest_first(None)
    (['b.png', 'a.png'], ['b.png', 'a.png'], [])
    """
    sizes: list[tuple[float, str]] = []
    for part in re.split(r",\s+|(?<=[wx]),", srcset or ""):
        address, _, size = part.strip().strip(",").partition(" ")
        number = _NUMBER.match(size.strip()[:-1]) if size.strip() else None
        if address:
            sizes.append((float(number[1]) if number else 1.0, address))
    return [address for _, address in sorted(sizes, key=lambda one: -one[0])]


def _pixels(tag: Tag, side: str) -> float | None:
    """A side in pixels, by style or by attribute; None for none, or for a share of the page."""
    for name, value in _STYLE.findall(tag.get("style") or ""):
        if name.lower() == side:
            return float(value)
    given = _NUMBER.fullmatch(tag.get(side) or "")
    return float(given[1]) if given else None
