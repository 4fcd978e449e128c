"""`tellapart annotate PACK`: columns computed beside the captions: which words are nouns, and sentence targets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from tyro.conf import Positional, arg

from tellapart.core.errors import InputError
from tellapart.core.progress import progress_bar
from tellapart.data.concepts_column import annotate_concepts
from tellapart.data.finish import noun_column
from tellapart.data.object_words import ObjectSettings, annotate_objects
from tellapart.data.pack import Pack
from tellapart.text.concepts import ConceptDictionary
from tellapart.text.sentence_targets import encode_sentences, load_targets


@dataclass(frozen=True)
class AnnotateOptions:
    """Compute columns beside a pack's captions: nouns, object words, visual concepts, sentence targets."""

    pack: Positional[Annotated[Path, arg(metavar="PACK")]]
    """The pack to annotate."""
    nouns: bool = False
    """Mark the nouns (column `nouns`, one bool a word)."""
    tagger: Literal["hanta", "spacy"] = "hanta"
    """What tells nouns; spaCy must be installed with en_core_web_sm."""
    sentence_targets: str | None = None
    """`minilm`, a folder or name of a transformers sentence encoder, or an .npy with one row a caption."""
    targets_name: str | None = None
    """Name of the targets' column; without it `targets-` and the encoder's name."""
    objects: bool = False
    """Turn annotated phrases (Flickr30k Entities) into object words with classes and boxes."""
    object_least: int = 20
    """A class of objects is named at least so often by the training split."""
    object_classes: Path | None = None
    """Your own list of object classes, one word a line, instead of counting."""
    object_boxes: Literal["union", "each"] = "union"
    """Of an object with several boxes: the one that holds them all, or each of them."""
    concepts: bool = False
    """Visual concepts of images (from their detections) and captions, as R2M reads them."""
    concept_list: Path | None = None
    """Your own concepts, one a line (`couch: sofa, settee`), instead of COCO's 80 classes."""
    batch: int = 128
    """Sentences encoded at once."""
    device: str = "cpu"
    """Where the encoder runs: cpu, cuda, mps."""


def annotate(options: AnnotateOptions) -> Pack:
    """Write the columns asked for, each whole or not at all, and return the pack."""
    pack = Pack(options.pack)
    if not (options.nouns or options.objects or options.concepts or options.sentence_targets):
        raise InputError("Nothing to do: say --nouns, --objects, --concepts, or --sentence-targets minilm.")
    if options.nouns:
        column = noun_column([caption.words for caption in pack.captions], pack.vocabulary, options.tagger)
        pack.save_column("nouns", column.values, column.per, column.facts)
        print(f"{pack.folder}: column nouns, {column.values.mean() if len(column.values) else 0:.1%} of all words")
    if options.objects:
        settings = ObjectSettings(options.object_least, boxes=options.object_boxes, class_file=options.object_classes)
        print(f"{pack.folder}: {annotate_objects(pack, settings).sentence()}")
    if options.concepts:
        listed = ConceptDictionary.read(options.concept_list) if options.concept_list else ConceptDictionary.coco()
        print("\n".join(f"{pack.folder}: {line}" for line in annotate_concepts(pack, listed).sentences()))
    if options.sentence_targets is not None:
        name = options.targets_name or targets_name(options.sentence_targets)
        values = _targets(pack, options)
        facts = {"model": options.sentence_targets, "width": int(values.shape[1])}
        pack.save_column(name, values.astype(np.float16), "caption", facts)
        print(f"{pack.folder}: column {name}, {values.shape[1]} numbers for each of {len(values):,} captions")
    return pack


def targets_name(model: str) -> str:
    """A column's name from an encoder's.

    >>> targets_name("minilm"), targets_name("models/My Encoder/")
    ('targets-minilm', 'targets-my-encoder')
    """
    last = Path(model).with_suffix("").name if model.endswith(".npy") else model.rstrip("/").rsplit("/", 1)[-1]
    return "targets-" + re.sub(r"[^a-z0-9]+", "-", last.lower()).strip("-")


def _targets(pack: Pack, options: AnnotateOptions) -> np.ndarray:
    model = str(options.sentence_targets)
    if model.endswith(".npy"):
        return load_targets(Path(model), len(pack.owner))
    texts = [caption.text for caption in pack.captions]
    with progress_bar(len(texts), "encoding captions") as advance:
        return encode_sentences(texts, model, options.batch, options.device, advance)
