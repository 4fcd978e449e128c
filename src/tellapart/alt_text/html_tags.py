"""The tags of an HTML text with the places of their attributes. Broken HTML is read as browsers read it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_NEXT = re.compile(r"<(?:!--|!\[CDATA\[|(/?)([A-Za-z][^\s/>]*))")
_SPACE = re.compile(r"[\s/]*")
_NAME = re.compile(r"=?[^\s=/>]*")
_EQUALS = re.compile(r"\s*=\s*")
_UNQUOTED = re.compile(r"[^\s>]*")
RAW = ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")
"""Elements whose content is text, whatever tags it seems to have."""


@dataclass(frozen=True)
class Attribute:
    """The value of an attribute, and the place of all of it: name, equals sign, quotes and value."""

    value: str
    start: int
    end: int


@dataclass
class Tag:
    """A start or end tag. `name_end` is where its name ends in the text."""

    name: str
    start: int
    name_end: int
    end: int = 0
    closing: bool = False
    self_closing: bool = False
    attributes: dict[str, Attribute] = field(default_factory=dict)
    text_before: str = ""
    """The text between the tag before and this one."""

    def get(self, name: str) -> str | None:
        """The value of an attribute; None if the tag has none of this name."""
        found = self.attributes.get(name)
        return None if found is None else found.value


def tags(text: str) -> Iterator[Tag]:
    """All tags in order, without those in comments, CDATA, scripts and styles."""
    place = text_start = 0
    while (found := _NEXT.search(text, place)) is not None:
        if found[2] is None:
            place = _after(text, "-->" if found[0] == "<!--" else "]]>", found.end())
            continue
        tag = _tag(text, found)
        if tag is None:  # the file ends inside it
            return
        tag.text_before = html.unescape(text[text_start : tag.start])
        yield tag
        place = text_start = tag.end
        if tag.name in RAW and not tag.closing and not tag.self_closing:
            end = re.compile(rf"</{tag.name}(?=[\s/>])", re.I).search(text, place)
            place = text_start = len(text) if end is None else end.start()


def _after(text: str, mark: str, place: int) -> int:
    found = text.find(mark, place)
    return len(text) if found < 0 else found + len(mark)


def _tag(text: str, found: re.Match[str]) -> Tag | None:
    """The tag at a place; None if the text ends before it does."""
    tag = Tag(found[2].lower(), found.start(), found.end(), closing=bool(found[1]))
    place = found.end()
    while True:
        gap = _SPACE.match(text, place)
        assert gap is not None
        place = gap.end()
        if place >= len(text):
            return None
        if text[place] == ">":
            tag.end, tag.self_closing = place + 1, gap[0].endswith("/")
            return tag
        place = _attribute(text, place, tag)


def _attribute(text: str, start: int, tag: Tag) -> int:
    """Read one attribute and return where it ends. The first of two with one name counts."""
    name = _NAME.match(text, start)
    assert name is not None
    end, value = name.end(), ""
    equals = _EQUALS.match(text, end)
    if equals is not None and equals.end() < len(text):
        end = equals.end()
        quote = text[end]
        if quote in "\"'":
            close = text.find(quote, end + 1)
            close = len(text) if close < 0 else close
            value, end = text[end + 1 : close], min(len(text), close + 1)
        else:
            unquoted = _UNQUOTED.match(text, end)
            assert unquoted is not None
            value, end = unquoted[0], unquoted.end()
    tag.attributes.setdefault(name[0].lower(), Attribute(html.unescape(value), start, end))
    return end
