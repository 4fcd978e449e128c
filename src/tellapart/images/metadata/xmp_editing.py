"""A description put into an XMP packet; every byte of the rest stays as it is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import escape

from tellapart.images.metadata.xmp import DC, DESCRIPTION, GENERATED, LANGUAGE, OURS, RDF, BrokenXmp, read_xmp

NEW_PACKET = (
    '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>\n'
    f'<x:xmpmeta xmlns:x="adobe:ns:meta/">\n <rdf:RDF xmlns:rdf="{RDF}">\n'
    '  <rdf:Description rdf:about="">\n  </rdf:Description>\n </rdf:RDF>\n</x:xmpmeta>\n<?xpacket end="w"?>'
).encode()
_ATTRIBUTE = rb"\s+[\w.-]+:%s\s*=\s*(?:\"[^\"]*\"|'[^']*')"


@dataclass
class _Span:
    """An element: where its start tag begins and ends, and where its end tag begins and ends."""

    name: str
    start: int
    inner: int
    inner_end: int = 0
    end: int = 0
    language: str = ""
    children: list[_Span] = field(default_factory=list)


def with_description(packet: bytes | None, text: str, *, generated: bool) -> bytes:
    """The packet with another description, marked if it was generated; BrokenXmp if it cannot be edited.

    Descriptions in other languages stay.
    """
    packet = packet or NEW_PACKET
    if packet[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise BrokenXmp("it is not UTF-8")
    packet = _set_mark(packet, text if generated else None)
    return _set_description(packet, text)


def _set_description(packet: bytes, text: str) -> bytes:
    holder, found = _find(packet, DESCRIPTION)
    item = f'<rdf:li xmlns:rdf="{RDF}" xml:lang="x-default">{_xml(text)}</rdf:li>'
    if found is None:
        whole = f'<dc:description xmlns:dc="{DC}"><rdf:Alt xmlns:rdf="{RDF}">{item}</rdf:Alt></dc:description>'
        packet = _without_attribute(packet, holder, b"description")
        return _inserted(packet, _find(packet, DESCRIPTION)[0], whole)
    items = [item for alt in found.children for item in alt.children]
    default = next((one for one in items if one.language == "x-default" and not _self_closed(one)), None)
    if default is not None and not default.children:
        return packet[: default.inner] + _xml(text).encode() + packet[default.inner_end :]
    if found.children and not _self_closed(found.children[0]):
        place = found.children[0].inner
        return packet[:place] + item.encode() + packet[place:]
    whole = f'<dc:description xmlns:dc="{DC}"><rdf:Alt xmlns:rdf="{RDF}">{item}</rdf:Alt></dc:description>'
    return packet[: found.start] + whole.encode() + packet[found.end :]


def _set_mark(packet: bytes, generated: str | None) -> bytes:
    """Set, replace or remove the mark of a generated caption."""
    holder, found = _find(packet, GENERATED)
    packet = _without_attribute(packet, holder, b"generated") if found is None else packet
    whole = (
        ""
        if generated is None
        else f'<tellapart:generated xmlns:tellapart="{OURS}">{_xml(generated)}</tellapart:generated>'
    )
    if found is not None:
        return packet[: found.start] + whole.encode() + packet[found.end :]
    return packet if not whole else _inserted(packet, _find(packet, GENERATED)[0], whole)


def _find(packet: bytes, name: str) -> tuple[_Span, _Span | None]:
    """The first rdf:Description, and the element of a property in any of them."""
    read_xmp(packet)  # raises for what must not be parsed
    spans = _Spans(packet)
    if spans.holder is None:
        raise BrokenXmp("it has no rdf:Description")
    return spans.holder, spans.named.get(name)


def _inserted(packet: bytes, holder: _Span, element: str) -> bytes:
    """The packet with another element at the end of rdf:Description."""
    if not _self_closed(holder):
        return packet[: holder.inner_end] + element.encode() + packet[holder.inner_end :]
    tag = packet[holder.start : holder.end]
    name = re.match(rb"<([^\s/>]+)", tag)
    assert name is not None
    opened = tag[: tag.rindex(b"/")] + b">"
    return packet[: holder.start] + opened + element.encode() + b"</" + name[1] + b">" + packet[holder.end :]


def _without_attribute(packet: bytes, holder: _Span, name: bytes) -> bytes:
    """The packet without a property that is an attribute of rdf:Description."""
    tag = packet[holder.start : holder.inner]
    return packet[: holder.start] + re.sub(_ATTRIBUTE % name, b"", tag) + packet[holder.inner :]


def _self_closed(span: _Span) -> bool:
    return span.inner_end == span.start


def _xml(text: str) -> str:
    return escape(" ".join(text.split("\r\n")))


class _Spans:
    """Places of the elements of a packet, in bytes."""

    def __init__(self, packet: bytes) -> None:
        self.packet = packet
        self.open: list[_Span] = []
        self.holder: _Span | None = None
        self.named: dict[str, _Span] = {}
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.skipped = len(packet) - len(packet.lstrip(b"\0 \t\r\n\xef\xbb\xbf"))
        self.parser.Parse(packet[self.skipped :].rstrip(b"\0 \t\r\n"), True)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        place = self.skipped + self.parser.CurrentByteIndex
        span = _Span(name, place, self._tag_end(place), language=attributes.get(LANGUAGE, ""))
        if self.open:
            self.open[-1].children.append(span)
        if name == f"{RDF} Description" and self.holder is None:
            self.holder = span
        self.named.setdefault(name, span)
        self.open.append(span)

    def _end(self, name: str) -> None:
        place, span = self.skipped + self.parser.CurrentByteIndex, self.open.pop()
        if self.packet[span.inner - 2 : span.inner] == b"/>":
            span.inner_end, span.end = span.start, span.inner
        else:
            span.inner_end, span.end = place, self._tag_end(place)

    def _tag_end(self, place: int) -> int:
        """Where the tag that begins at a place ends; quotes may hold a >."""
        found = re.compile(rb"<(?:[^\"'>]|\"[^\"]*\"|'[^']*')*>").match(self.packet, place)
        assert found is not None, "the packet was parsed before"
        return found.end()
