"""`tellapart prepare SOURCE --out PACK`: images and captions in, one pack out."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from tellapart.core.errors import InputError
from tellapart.core.files import read_json
from tellapart.core.progress import progress_bar
from tellapart.data.assemble import assemble, decide_splits, parse_shares
from tellapart.data.finish import count_vocabulary, drop_unspeakable, finish_pack
from tellapart.data.joins import join_corpus, join_detections, join_entities
from tellapart.data.pack import Pack, check_overwrite
from tellapart.data.prepare_report import print_report
from tellapart.data.readers import READERS, ReaderOptions, recognise
from tellapart.runs.bundled import run_folder
from tellapart.search import captioned_photos
from tellapart.text.rules import TextRules, preset
from tellapart.text.vocabulary import Vocabulary

ALL_READERS = {"index": captioned_photos.READER, **READERS}


@dataclass(frozen=True)
class PrepareOptions:
    """Read images and captions in any known format and write them as one pack."""

    source: Positional[Annotated[str, arg(metavar="SOURCE")]]
    """A folder or file of images and captions; an index, for the captions that people mended in it; or `scenes`, the
    built-in data."""
    out: Path
    """The pack to write. It appears whole or not at all."""
    format: Literal["auto", "folder", "coco", "karpathy", "flickr", "posts", "corpus", "index"] = "auto"
    """How to read the source; `auto` recognises it."""
    images: Path | None = None
    """Folder of the images, where it is not the source itself."""
    captions_file: Path | None = None
    """The file of captions, where it is not found by its name."""
    image_column: str | None = None
    """Column that names the image (CSV, TSV, JSONL)."""
    caption_column: str | None = None
    """Column that holds the caption."""
    split_column: str | None = None
    """Column that says train, val or test."""
    encoding: str = "utf-8"
    """Of the text files."""
    entities: str = "auto"
    """Flickr30k Entities to join: a folder, `auto` (joined when found in the source), or `none`."""
    detections: str = "auto"
    """Detections to join, as JSONL or COCO results JSON: a file, `auto`, or `none`."""
    corpus: Path | None = None
    """Sentences with no images to join, in the split `corpus`: a .txt or .txt.gz file."""
    rules: str | None = None
    """Text rules: default, contrastive-captioning, neuraltalk, grounded-captioning, vse, ltd or r2m."""
    lower: bool | None = None
    """Rule: turn capitals into small letters."""
    words: Literal["ptb", "ptb-marks", "no-punctuation", "letters", "spaces"] | None = None
    """Rule: what is a word."""
    min_count: int | None = None
    """Rule: words seen fewer times than this become UNK."""
    max_length: int | None = None
    """Rule: cut captions after this many words; 0 keeps them whole."""
    vocabulary: Literal["train", "all", "corpus"] | None = None
    """Rule: which sentences the vocabulary is counted on."""
    vocabulary_from: Path | None = None
    """A pack or run whose vocabulary (and text rules, where it has them) is used instead, so that its models fit;
    bundled:captioner for the one that came with the package."""
    split: str = "0.8/0.1/0.1"
    """Shares of train, val and test where the source says nothing about splits."""
    seed: int = 0
    """For those splits, and for scenes."""
    join_restval: bool = False
    """Count the images of Karpathy's restval as train."""
    check: Literal["header", "full"] = "header"
    """`header` reads sizes and looks for cut files; `full` decodes every image."""
    keep_uncaptioned: bool = False
    """Keep images that have no caption, too."""
    nouns: bool = True
    """Mark the nouns of every caption (the column `nouns`)."""
    scene_count: int = 600
    """How many scenes to draw."""
    scene_size: int = 160
    """Width and height of a scene in pixels."""
    overwrite: bool = False
    """Replace an older pack of the same name, with all that was extracted into it."""
    json: bool = False
    """Print the closing report as JSON."""


def prepare(options: PrepareOptions) -> Pack:
    """Write the pack, print the closing report, return the opened pack."""
    check_overwrite(options.out, options.overwrite)
    if options.source == "scenes":
        from tellapart.data.scenes import make_scenes

        pack = make_scenes(options.out, options.scene_count, options.seed, options.scene_size)
    else:
        pack = _prepare_source(Path(options.source), options)
    report = read_json(pack.folder / "report.json")
    if options.json:
        print(json.dumps({"pack": str(pack.folder), **report}, ensure_ascii=False))
    else:
        print_report(report, str(pack.folder))
    return pack


def _prepare_source(path: Path, options: PrepareOptions) -> Pack:
    rules, vocabulary = choose_rules(options)
    form = recognise(path, ALL_READERS) if options.format == "auto" else options.format
    if not path.exists():
        raise InputError(f"{path} does not exist; check the path.")
    reader_options = ReaderOptions(
        options.encoding,
        options.captions_file,
        options.image_column,
        options.caption_column,
        options.split_column,
        options.images,
        options.keep_uncaptioned,
    )
    source = ALL_READERS[form].read(path, reader_options)
    shares = parse_shares("0.99/0.01" if form == "corpus" and options.split == "0.8/0.1/0.1" else options.split)
    splits = decide_splits(source, shares, options.seed, options.join_restval)
    if options.corpus is not None:
        join_corpus(options.corpus, options.encoding, source, splits[1])
    with progress_bar(len(source.images), "checking images", enabled=not options.json) as advance:
        assembled = assemble(source, rules, splits, options.check, options.keep_uncaptioned, advance)

    folder = path if path.is_dir() else path.parent
    detections = join_detections(options.detections, options.encoding, folder, assembled)
    vocabulary = vocabulary or count_vocabulary(rules, assembled.captions, detections)
    drop_unspeakable(assembled, rules, vocabulary)
    phrases = join_entities(options.entities, options.encoding, folder, assembled, rules)
    facts = {"source": str(path), "format": form}
    root = str(assembled.root)
    return finish_pack(
        options.out, source.name, root, assembled, vocabulary, rules, phrases, detections, options.nouns, facts
    )


def choose_rules(options: PrepareOptions) -> tuple[TextRules, Vocabulary | None]:
    """The preset with the overridden rules, and the vocabulary to reuse, if any."""
    vocabulary, rules = None, preset(options.rules or "default")
    if options.vocabulary_from is not None:
        origin = run_folder(options.vocabulary_from)
        vocabulary = Vocabulary.load(origin / "vocabulary.json")
        # pack.json in a pack, data.json in a run: both tell by which rules the words were cut.
        files = (origin / "pack.json", origin / "data.json")
        described = [path for path in files if path.is_file()]
        if described and options.rules is None:
            rules = TextRules(**read_json(described[0])["rules"])
    given = {name: getattr(options, name) for name in ("lower", "words", "min_count", "max_length", "vocabulary")}
    changed = {name: value for name, value in given.items() if value is not None}
    if changed.get("max_length") == 0:
        changed["max_length"] = None
    return replace(rules, **changed), vocabulary
