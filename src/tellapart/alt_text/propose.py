"""Alternative texts for the images of pages that have none.

Each image is captioned so that its text tells it apart from the other images of its page. What people wrote comes
first: the title of the image on the page, and the alternative text or description in its metadata.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from tellapart.alt_text.decorative import SMALL, why_decorative
from tellapart.alt_text.image_facts import ImageFacts, image_facts
from tellapart.alt_text.page_image import PageImage
from tellapart.alt_text.pages import Page
from tellapart.alt_text.proposal import Proposal
from tellapart.alt_text.wording import LONGEST, alternative_text
from tellapart.core.errors import InputError
from tellapart.images.formats import SUFFIXES
from tellapart.inference.caption import Caption

Replaced = Literal["empty", "file-names"]
Captions = Callable[[Sequence[Path], Sequence[Path]], Sequence[Caption | Exception]]
"""Captions of images, each told apart from some others: (images, others) -> captions, or why there is none."""
CACHED = 10_000
CONFIDENCE = 0.8
"""The least confidence of a caption that is written without review: higher than for photos in an album, since many
images of sites are not such photos as the captioner learned from."""
SMALL_IMAGE = "small, and the captioner knows larger photos"
DRAWN = "a screenshot, diagram or drawing, and the captioner knows photos"


@dataclass(frozen=True)
class _Waiting:
    """A proposal that waits for the caption of a file."""

    proposal: Proposal
    image: PageImage
    file: Path
    doubts: tuple[str, ...]


class Proposer:
    """Proposes alternative texts page by page."""

    def __init__(
        self,
        captions: Captions,
        replaced: Sequence[Replaced] = (),
        unsure: bool = False,
        confidence: float = CONFIDENCE,
    ) -> None:
        """unsure: take captions that a person should review. confidence: the least that a sure one has."""
        if not 0 <= confidence <= 1:
            raise InputError(f"`confidence` must be from 0 to 1, not {confidence}.")
        self.captions, self.replaced, self.unsure, self.confidence = captions, tuple(replaced), unsure, confidence
        self.facts = functools.lru_cache(CACHED)(image_facts)

    def propose(self, page: Page) -> list[Proposal]:
        """A proposal for each image without alternative text, in the order of the page."""
        uses = Counter(one.file for one in page.files)
        results: list[Proposal | _Waiting] = []
        shown: dict[Path, None] = {}
        """Files that are not decorative: those that a caption must tell its image apart from."""
        for number, (image, resolved) in enumerate(zip(page.images, page.files)):
            facts = ImageFacts() if resolved.file is None else self.facts(resolved.file)
            name = "" if resolved.file is None else resolved.file.name
            why = why_decorative(image, facts, name, uses[resolved.file]) if resolved.file or image.hidden else ""
            if resolved.file is not None and not why and not facts.fault:
                shown[resolved.file] = None
            if lacks_text(image, self.replaced):
                results.append(self._one(page, number, facts, why))
        return self._captioned(results, list(shown))

    def _one(self, page: Page, number: int, facts: ImageFacts, decorative: str) -> Proposal | _Waiting:
        """The proposal for an image, or one that waits for its caption."""
        image, resolved = page.images[number], page.files[number]
        source = image.sources[0] if image.sources else ""
        empty = Proposal(page.path, page.document.line(image.start), source, "skipped", note=resolved.fault)
        if decorative:
            # Markdown writes no alternative text and an empty one alike.
            edit = image.edit("") if image.alt is not None or page.document.is_html else None
            edit = None if image.alt == "" else edit
            return replace(empty, status="decorative", alt="", note=decorative, edit=edit)
        own = image.title or facts.description
        if own and own.strip():
            text = alternative_text(own)
            note = "from its title" if image.title else "from its metadata"
            note += f", cut to {LONGEST} characters" if text.endswith("…") and not own.strip().endswith("…") else ""
            return replace(empty, status="own", alt=text, note=note, edit=image.edit(text))
        if resolved.file is None or facts.fault:
            return replace(empty, note=resolved.fault or facts.fault)
        if facts.drawn and not self.unsure:
            return replace(empty, status="review", note=f"{DRAWN}; describe it yourself")
        width, height = image.width or facts.width, image.height or facts.height
        doubts = [DRAWN] if facts.drawn else [SMALL_IMAGE] if max(width, height) <= SMALL else []
        return _Waiting(empty, image, resolved.file, tuple(doubts))

    def _captioned(self, results: Iterable[Proposal | _Waiting], shown: Sequence[Path]) -> list[Proposal]:
        results = list(results)
        files = list(dict.fromkeys(one.file for one in results if isinstance(one, _Waiting)))
        found = dict(zip(files, self.captions(files, shown), strict=True)) if files else {}
        finished = [one if isinstance(one, Proposal) else self._finish(one, found[one.file]) for one in results]
        return list(_same_noted(finished))

    def _finish(self, waiting: _Waiting, caption: Caption | Exception) -> Proposal:
        if isinstance(caption, Exception):
            return replace(waiting.proposal, note=str(caption).removesuffix("."))
        text = alternative_text(caption.text)
        doubts = list(waiting.doubts)
        if caption.sure is False or (caption.confidence is not None and caption.confidence < self.confidence):
            doubts.append("not sure")
        if waiting.image.link is not None and not _is_image(waiting.image.link):
            doubts.append("alone in a link; say where the link leads")
        notes = ["nothing sets it apart from the others of its page"] if caption.distinct is False else []
        found = replace(waiting.proposal, alt=text, note="; ".join(doubts + notes), confidence=caption.confidence)
        if doubts and not self.unsure:
            return replace(found, status="review")
        return replace(found, status="caption", edit=waiting.image.edit(text))


def lacks_text(image: PageImage, replaced: Sequence[Replaced] = ()) -> bool:
    """Whether an image needs an alternative text. An empty one says that it is decorative, and counts as given unless
    `replaced` names "empty"; the name of a file is given, too, unless it names "file-names"."""
    if image.named:
        return False
    if image.alt is None:
        return True
    if not image.alt.strip():
        return "empty" in replaced
    return "file-names" in replaced and _is_file_name(image.alt, image.sources)


def _is_file_name(alt: str, sources: Sequence[str]) -> bool:
    """Whether a text is only the address of the image or the name of its file, as some programs write."""
    names = {name.lower() for source in sources for name in (source, PurePosixPath(source).name)}
    return alt.strip().lower() in names and alt.strip().lower().endswith((*SUFFIXES, ".svg"))


def _is_image(address: str) -> bool:
    return address.lower().split("?")[0].split("#")[0].endswith(SUFFIXES)


def _same_noted(proposals: Sequence[Proposal]) -> Iterator[Proposal]:
    """The proposals of a page, with a note where another image has the same text."""
    files: dict[str, set[str]] = {}
    for one in proposals:
        if one.status == "caption" and one.alt:
            files.setdefault(one.alt, set()).add(one.image)
    for one in proposals:
        others = files.get(one.alt or "", set()) - {one.image}
        same = f"the same text as {sorted(others)[0]}" if one.status == "caption" and others else ""
        yield replace(one, note="; ".join(filter(None, (one.note, same)))) if same else one
