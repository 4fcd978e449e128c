"""`tellapart annotate PACK`: columns computed for a pack's captions, such as nouns and sentence targets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from tellapart.core.errors import InputError
from tellapart.data.annotate import annotate_nouns, annotate_targets
from tellapart.data.annotate_objects import ObjectSettings, annotate_objects
from tellapart.data.concepts_column import annotate_concepts
from tellapart.data.pack import Pack
from tellapart.text.concepts import ConceptDictionary


@dataclass(frozen=True)
class AnnotateOptions:
    """Compute columns for a pack's captions: nouns, object words, visual concepts, sentence targets."""

    pack: Positional[Annotated[Path, arg(metavar="PACK")]]
    """The pack to annotate."""
    nouns: bool = False
    """Mark the nouns (column `nouns`, one bool per word)."""
    tagger: Literal["hanta", "spacy"] = "hanta"
    """The part-of-speech tagger; spaCy must be installed with en_core_web_sm."""
    sentence_targets: str | None = None
    """`minilm`, a folder or name of a transformers sentence encoder, or an .npy with one row per caption."""
    targets_name: str | None = None
    """Name of the targets' column. Default: `targets-` and the encoder's name."""
    objects: bool = False
    """Turn annotated phrases (Flickr30k Entities) into object words with classes and boxes."""
    object_least: int = 20
    """Smallest number of times that the training split names a class of objects."""
    object_classes: Path | None = None
    """Your own list of object classes, one word per line, instead of counting."""
    object_boxes: Literal["union", "each"] = "union"
    """For an object with several boxes: the one box that holds them all, or each of them."""
    concepts: bool = False
    """Visual concepts of images (from their detections) and captions, as R2M reads them."""
    concept_list: Path | None = None
    """Your own concepts, one per line (`couch: sofa, settee`), instead of COCO's 80 classes."""
    batch: int = 128
    """Captions per batch of the encoder."""
    device: str = "cpu"
    """Device of the encoder: cpu, cuda, mps."""


def annotate(options: AnnotateOptions) -> Pack:
    """Write the requested columns, print a line for each, return the pack."""
    pack = Pack(options.pack)
    if not (options.nouns or options.objects or options.concepts or options.sentence_targets):
        raise InputError("Nothing to do: give --nouns, --objects, --concepts, or --sentence-targets minilm.")
    if options.nouns:
        values = annotate_nouns(pack, tagger=options.tagger).values
        print(f"{pack.folder}: column nouns, {values.mean() if len(values) else 0:.1%} of all words")
    if options.objects:
        settings = ObjectSettings(options.object_least, boxes=options.object_boxes, class_file=options.object_classes)
        print(f"{pack.folder}: {annotate_objects(pack, settings).sentence()}")
    if options.concepts:
        listed = ConceptDictionary.read(options.concept_list) if options.concept_list else ConceptDictionary.coco()
        print("\n".join(f"{pack.folder}: {line}" for line in annotate_concepts(pack, listed).sentences()))
    if options.sentence_targets is not None:
        name = annotate_targets(
            pack,
            options.sentence_targets,
            name=options.targets_name,
            batch=options.batch,
            device=options.device,
            progress=True,
        )
        values = pack.column(name).values
        print(f"{pack.folder}: column {name}, {values.shape[1]} numbers for each of {len(values):,} captions")
    return pack
