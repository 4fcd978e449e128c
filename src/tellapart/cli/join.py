"""`tellapart join IMAGES CORPUS --out PACK`: images without captions and sentences without images, in one
pack."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from tellapart.data.pack import Pack, check_overwrite
from tellapart.data.unpaired import CorpusFilter, join_unpaired
from tellapart.text.concepts import ConceptDictionary


@dataclass(frozen=True)
class JoinOptions:
    """Join a pack of images and a pack of text for learning without pairs; only test images keep their
    captions."""

    images: Positional[Annotated[Path, arg(metavar="IMAGES")]]
    """The pack whose images are to be captioned; it needs detections."""
    corpus: Positional[Annotated[Path, arg(metavar="CORPUS")]]
    """The pack of sentences, prepared with --format corpus."""
    out: Path
    """The pack to write."""
    concepts: Path | None = None
    """Your own concepts, one a line (`couch: sofa, settee`); left out, COCO's 80 classes and their synonyms."""
    multiword: Literal["phrase", "last"] = "phrase"
    """A concept of several words stands for itself, or by its last word as in the paper."""
    synonyms: bool = True
    """Count other words for COCO's classes as them: man as person."""
    least_score: float = 0.3
    """Detections below this score are no concepts."""
    most: int = 5
    """Concepts an image or a sentence has at most."""
    filters: CorpusFilter = field(default_factory=CorpusFilter)
    """Which sentences are worth learning from."""
    overwrite: bool = False
    """Replace an older pack of the same name."""


def join(options: JoinOptions) -> Pack:
    """Write the joined pack, say what was left out, return it."""
    check_overwrite(options.out, options.overwrite)
    dictionary = (
        ConceptDictionary.read(options.concepts, options.multiword)
        if options.concepts
        else ConceptDictionary.coco(options.multiword, options.synonyms)
    )
    joined = join_unpaired(
        Pack(options.images),
        Pack(options.corpus),
        options.out,
        dictionary,
        options.filters,
        options.least_score,
        options.most,
    )
    counts = ", ".join(f"{count:,} {what}" for what, count in joined.counts.items())
    print(f"{options.out}: {len(joined.pack.vocabulary):,} words; corpus: {counts}")
    for sentence in joined.report.sentences():
        print(sentence)
    return joined.pack
