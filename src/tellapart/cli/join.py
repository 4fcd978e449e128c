"""`tellapart join IMAGES CORPUS --out PACK`: images without captions and sentences without images in one pack."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from tellapart.data.join import CorpusFilter, join_unpaired
from tellapart.data.pack import Pack
from tellapart.text.concepts import ConceptDictionary


@dataclass(frozen=True)
class JoinOptions:
    """Join a pack of images and a pack of text for learning without pairs. Only test images keep their captions."""

    images: Positional[Annotated[Path, arg(metavar="IMAGES")]]
    """The pack of images to caption; it needs detections."""
    corpus: Positional[Annotated[Path, arg(metavar="CORPUS")]]
    """The pack of sentences, prepared with --format corpus."""
    out: Path
    """The pack to write."""
    concepts: Path | None = None
    """Your own concepts, one per line (`couch: sofa, settee`). Default: COCO's 80 classes and their synonyms."""
    multiword: Literal["phrase", "last"] = "phrase"
    """How a concept of several words is written: as a phrase, or as its last word as in the paper."""
    synonyms: bool = True
    """Map synonyms to COCO's classes: man to person."""
    least_score: float = 0.3
    """Detections below this score are ignored."""
    most: int = 5
    """Largest number of concepts per image and per sentence."""
    filters: CorpusFilter = field(default_factory=CorpusFilter)
    """Which sentences of the corpus to keep."""
    overwrite: bool = False
    """Replace an existing pack."""


def join(options: JoinOptions) -> Pack:
    """Write the joined pack, print what it holds, return it."""
    dictionary = (
        ConceptDictionary.read(options.concepts, options.multiword)
        if options.concepts
        else ConceptDictionary.coco(options.multiword, options.synonyms)
    )
    joined = join_unpaired(
        Pack(options.images),
        Pack(options.corpus),
        options.out,
        dictionary=dictionary,
        filters=options.filters,
        least_score=options.least_score,
        most=options.most,
        overwrite=options.overwrite,
    )
    counts = ", ".join(f"{count:,} {what}" for what, count in joined.counts.items())
    print(f"{options.out}: {len(joined.pack.vocabulary):,} words; corpus: {counts}")
    for sentence in joined.report.sentences():
        print(sentence)
    return joined.pack
