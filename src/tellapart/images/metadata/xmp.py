"""Descriptions in an XMP packet, which a stranger may have written: no document type, no entities, bounded in size."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from tellapart.images.metadata.text import clean_text

LARGEST = 1 << 20
"""Bytes of a packet that are parsed at most; a larger one is left alone."""
UTF16 = (b"\xff\xfe", b"\xfe\xff")
DEEPEST, MOST_ELEMENTS = 64, 20_000
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
DC = "http://purl.org/dc/elements/1.1/"
IPTC_CORE = "http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/"
OURS = "urn:tellapart:xmp:1.0:"
LANGUAGE = "http://www.w3.org/XML/1998/namespace lang"

DESCRIPTION = f"{DC} description"
ALT_TEXT = f"{IPTC_CORE} AltTextAccessibility"
GENERATED = f"{OURS} generated"
"""A generated caption that was written back: the same text elsewhere is not people's own."""
PROPERTIES = (DESCRIPTION, ALT_TEXT, GENERATED)


class BrokenXmp(ValueError):
    """A packet that is not XML, or not of the kind that is read."""


@dataclass
class Xmp:
    """The texts of a packet: for each property, texts by language."""

    texts: dict[str, dict[str, str]] = field(default_factory=dict)

    def text(self, name: str) -> str | None:
        """The text of a property: the default, otherwise English, otherwise the first."""
        by_language = self.texts.get(name, {})
        english = next((text for language, text in by_language.items() if language.lower().startswith("en")), None)
        return by_language.get("x-default") or english or next(iter(by_language.values()), None)


def read_xmp(packet: bytes) -> Xmp:
    """The texts of a packet; BrokenXmp if it is too large, has a document type, or is not XML."""
    if len(packet) > LARGEST:
        raise BrokenXmp(f"it has more than {LARGEST >> 20} MB")
    reader = _Reader()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartDoctypeDeclHandler = _reject
    parser.EntityDeclHandler = _reject
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    try:
        parser.Parse(packet if packet[:2] in UTF16 else packet.strip(b"\0 \t\r\n\xef\xbb\xbf"), True)
    except expat.ExpatError as error:
        raise BrokenXmp(f"it is not XML ({error})") from error
    return reader.found


def texts_in(packet: bytes | None) -> Xmp:
    """The same, without texts for a packet that is missing or broken."""
    try:
        return read_xmp(packet) if packet else Xmp()
    except BrokenXmp:
        return Xmp()


def _reject(*_: object) -> None:
    raise BrokenXmp("it declares a document type or entities")


class _Reader:
    """Collects the texts of PROPERTIES: their rdf:li elements, their own text, or an attribute of rdf:Description."""

    def __init__(self) -> None:
        self.found = Xmp()
        self.path: list[str] = []
        self.name = self.language = ""
        self.letters: list[str] | None = None
        self.elements = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.path.append(tag)
        self.elements += 1
        if len(self.path) > DEEPEST or self.elements > MOST_ELEMENTS:
            raise BrokenXmp("it is nested too deeply, or has too many elements")
        if tag == f"{RDF} Description":
            for name in PROPERTIES:
                if name in attributes:
                    self._keep(name, "x-default", attributes[name])
        if tag in PROPERTIES:
            self.name = tag
        if self.name:  # the element itself, or one inside it; only the innermost text counts
            self.language, self.letters = attributes.get(LANGUAGE, "x-default"), []

    def characters(self, text: str) -> None:
        if self.letters is not None:
            self.letters.append(text)

    def end(self, tag: str) -> None:
        self.path.pop()
        if self.letters is not None:
            self._keep(self.name, self.language, "".join(self.letters))
            self.letters = None
        if tag == self.name:
            self.name = ""

    def _keep(self, name: str, language: str, text: str) -> None:
        cleaned = clean_text(text)
        if cleaned is not None:
            self.found.texts.setdefault(name, {}).setdefault(language, cleaned)
