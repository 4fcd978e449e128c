"""`tellapart prepare SOURCE --out PACK`: images and captions into a pack."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from tellapart.cli.errors import option_names
from tellapart.cli.prepare_report import print_report
from tellapart.data.pack import Pack
from tellapart.data.prepare import prepare_pack, stored_words
from tellapart.data.readers import READERS
from tellapart.data.readers.source import ReaderOptions
from tellapart.data.store_pixels import store_pixels
from tellapart.data.write_pack import check_overwrite
from tellapart.runs.bundled import run_folder
from tellapart.search import captioned_photos
from tellapart.text.rules import TextRules, preset
from tellapart.text.vocabulary import Vocabulary

RULES = ("lower", "words", "min_count", "max_length", "vocabulary")
"""Options that change one text rule."""


@dataclass(frozen=True)
class PrepareOptions:
    """Read images and captions in any known format and write them as one pack."""

    source: Positional[Annotated[str, arg(metavar="SOURCE")]]
    """A folder or file of images and captions; an index, for the captions that people edited in it; hf:NAME, a data set
    of the model hub; shards at an address such as s3://bucket/shards; or `scenes`, the built-in data."""
    out: Path
    """The pack to write. It appears when it is complete."""
    format: Literal["auto", "folder", "coco", "karpathy", "flickr", "posts", "parts", "corpus", "index"] = "auto"
    """Format of the source; `auto` recognises it."""
    images: Path | None = None
    """Folder of the images. Default: the source itself."""
    captions_file: Path | None = None
    """The file of captions. Default: found by its name."""
    image_column: str | None = None
    """Column that names the image (CSV, TSV, JSONL)."""
    caption_column: str | None = None
    """Column that holds the caption."""
    split_column: str | None = None
    """Column that says train, val or test."""
    encoding: str = "utf-8"
    """Encoding of the text files."""
    entities: str = "auto"
    """Flickr30k Entities to add: a folder, `auto` (added if found in the source), or `none`."""
    detections: str = "auto"
    """Detections to add, as JSONL or COCO results JSON: a file, `auto`, or `none`."""
    corpus: Path | None = None
    """Sentences without images to add, in the split `corpus`: a .txt or .txt.gz file."""
    rules: str | None = None
    """Text rules: default, contrastive-captioning, neuraltalk, grounded-captioning, vse, ltd or r2m."""
    lower: bool | None = None
    """Rule: convert to lower case."""
    words: Literal["ptb", "ptb-marks", "no-punctuation", "letters", "spaces", "wordpiece"] | None = None
    """Rule: how text is split into words; wordpiece needs --vocabulary-from."""
    min_count: int | None = None
    """Rule: words that occur fewer times than this become UNK."""
    max_length: int | None = None
    """Rule: cut captions after this many words; 0 keeps them whole."""
    vocabulary: Literal["train", "all", "corpus"] | None = None
    """Rule: which captions the vocabulary is counted on."""
    vocabulary_from: Path | None = None
    """A pack or run whose vocabulary (and text rules, if stored) to use, so that its models fit this pack;
    bundled:captioner is the one that comes with the package."""
    split: str | None = None
    """Shares of train, val and test if the source names no splits. Default: 0.8/0.1/0.1, and 0.99/0.01 for a
    corpus."""
    seed: int = 0
    """Random seed of those splits and of scenes."""
    join_restval: bool = False
    """Use the images of Karpathy's restval as train."""
    check: Literal["header", "full"] = "header"
    """`header` reads sizes and finds truncated files; `full` decodes every image."""
    keep_uncaptioned: bool = False
    """Keep images without a caption."""
    nouns: bool = True
    """Mark the nouns of every caption (the column `nouns`)."""
    store_pixels: int = 0
    """Also store the images in the pack, as squares of this side in pixels, for training on machines without the image
    files. 0: do not. `tellapart extract PACK --store-pixels N` adds them later."""
    stream: bool = False
    """Write shards (tar, parquet, arrow, hf:NAME) or a table (CSV, TSV, JSONL; rows of an image together) into the pack
    sample by sample, in little memory: for millions of images. With --store-pixels their images are in the pack alone.
    Nouns are not marked."""
    scene_count: int = 600
    """Number of scenes to draw."""
    scene_size: int = 160
    """Width and height of a scene in pixels."""
    overwrite: bool = False
    """Replace an existing pack, with all features extracted into it."""
    json: bool = False
    """Print the report as JSON."""


def prepare(options: PrepareOptions) -> Pack:
    """Write the pack, print its report, return it."""
    pack = _scenes(options) if options.source == "scenes" else _prepared(options)
    if options.json:
        print(json.dumps({"pack": str(pack.folder), **pack.report}, ensure_ascii=False))
    else:
        print_report(pack.report, str(pack.folder), option_names(PrepareOptions))
    return pack


def _scenes(options: PrepareOptions) -> Pack:
    from tellapart.data.scenes import make_scenes

    check_overwrite(options.out, options.overwrite)
    pack = make_scenes(options.out, options.scene_count, options.seed, options.scene_size)
    if options.store_pixels:
        store_pixels(pack, options.store_pixels, progress=not options.json)
    return pack


def _prepared(options: PrepareOptions) -> Pack:
    rules, vocabulary = choose_rules(options)
    return prepare_pack(
        options.source,
        options.out,
        format=options.format,
        options=ReaderOptions(
            options.encoding,
            options.captions_file,
            image_column=options.image_column,
            caption_column=options.caption_column,
            split_column=options.split_column,
            images=options.images,
            keep_uncaptioned=options.keep_uncaptioned,
        ),
        entities=options.entities,
        detections=options.detections,
        corpus=options.corpus,
        rules=rules,
        vocabulary=vocabulary,
        split=options.split,
        seed=options.seed,
        join_restval=options.join_restval,
        check=options.check,
        nouns=options.nouns,
        overwrite=options.overwrite,
        readers={"index": captioned_photos.READER, **READERS},
        store_side=options.store_pixels,
        stream=options.stream,
        progress=not options.json,
    )


def choose_rules(options: PrepareOptions) -> tuple[TextRules, Vocabulary | None]:
    """The preset with the changed rules, and the vocabulary to reuse, if any."""
    vocabulary, stored = None, None
    if options.vocabulary_from is not None:
        vocabulary, stored = stored_words(run_folder(options.vocabulary_from))
    rules = stored if stored is not None and options.rules is None else preset(options.rules or "default")
    changed = {name: value for name in RULES if (value := getattr(options, name)) is not None}
    if changed.get("max_length") == 0:
        changed["max_length"] = None
    return replace(rules, **changed), vocabulary
