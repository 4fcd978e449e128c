"""Reading images and captions in any known format and writing them as one pack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.core.files import read_json
from tellapart.core.paths import OnePath
from tellapart.core.progress import progress_bar
from tellapart.data.add_pixels import add_pixels
from tellapart.data.assemble import assemble
from tellapart.data.extra_sources import add_corpus, read_extra_detections, read_extra_phrases
from tellapart.data.hub_dataset import HUB, hub_samples
from tellapart.data.pack import Pack
from tellapart.data.readers import READERS, Reader, recognise
from tellapart.data.readers.parts import parts_in
from tellapart.data.readers.source import ReaderOptions
from tellapart.data.splits import decide_splits, hashed_split, parse_shares
from tellapart.data.store_pixels import store_pixels
from tellapart.data.stream_pack import stream_pack
from tellapart.data.stream_table import is_table, table_samples
from tellapart.data.unpack_shards import Sample, samples_of, shards_at, shards_in, unpack
from tellapart.data.write_pack import check_overwrite
from tellapart.data.write_prepared import count_vocabulary, drop_unusable_sentences, write_prepared
from tellapart.images.checking import Check
from tellapart.images.remote import is_address
from tellapart.text.rules import TextRules, preset
from tellapart.text.vocabulary import Vocabulary

SPLIT = "0.8/0.1/0.1"
CORPUS_SPLIT = "0.99/0.01"
"""The default of a source that is nothing but a corpus: it needs no test split."""


def prepare_pack(
    source: OnePath,
    out: OnePath,
    *,
    format: str = "auto",
    options: ReaderOptions | None = None,
    entities: str = "auto",
    detections: str = "auto",
    corpus: OnePath | None = None,
    rules: TextRules | str = "default",
    vocabulary: Vocabulary | None = None,
    split: str | None = None,
    seed: int = 0,
    join_restval: bool = False,
    check: Check = "header",
    nouns: bool = True,
    overwrite: bool = False,
    readers: Mapping[str, Reader] = READERS,
    store_side: int = 0,
    stream: bool = False,
    progress: bool = False,
) -> Pack:
    """The pack written to `out`; its `report` lists what it holds and every item that was left out.

    format: a name in `readers`, or `auto` to recognise it. entities, detections: a path, `auto` (used if found next
    to the source) or `none`. corpus: a file of sentences without images. rules: text rules, or a preset's name.
    vocabulary: used instead of counting one. split: shares of train, val and test for sources that name no splits.
    Shards (tar, parquet, arrow), in folders or at addresses that fsspec reads (s3://…), and data sets of the hub
    (`hf:NAME`) are first unpacked into the folder OUT-images; photos of an index that are at addresses are fetched
    into it.
    store_side: also store the images in the pack, as squares of this side in pixels; 0: do not.
    stream: write shards, or a table, into the pack sample by sample, in little memory: for millions of images. The rows
    of a table give paths from its folder or from `options.images`, those of one image together. With `store_side`
    their images are stored in the pack alone. Nouns are not marked.
    """
    named, source, out, options = str(source), Path(source), Path(out), options or ReaderOptions()
    beside = out.with_name(f"{out.name}-images")
    check_overwrite(out, overwrite)
    rules = preset(rules) if isinstance(rules, str) else rules
    if rules.needs_vocabulary:  # subwords are neither nouns nor parts of annotated phrases
        nouns, entities = False, "none" if entities == "auto" else entities
    samples = _samples(named, stream, options) if format == "auto" else None
    if stream:
        splits_by = partial(hashed_split, shares=parse_shares(split or SPLIT), seed=seed)
        given = _streamable(samples, named)
        return stream_pack(given, named, out, rules=rules, vocabulary=vocabulary, split=splits_by, side=store_side)
    if samples is not None:
        source = unpack(samples, named, beside)
    form = recognise(source, readers) if format == "auto" else format
    if not source.exists():
        raise InputError(f"{source} does not exist; check the path.")
    read = readers[form].read(source, replace(options, fetched=beside))
    shares = parse_shares(split or (CORPUS_SPLIT if form == "corpus" else SPLIT))
    splits = decide_splits(read, shares, seed, join_restval)
    if corpus is not None:
        add_corpus(Path(corpus), options.encoding, read, splits[1])
    shown = progress and len(read.images) > 0
    with progress_bar(len(read.images), "checking images", enabled=shown) as advance:
        kept = options.keep_uncaptioned
        assembled = assemble(read, rules, splits, check, kept, advance=advance, vocabulary=vocabulary)

    folder = source if source.is_dir() else source.parent
    detected = read_extra_detections(detections, options.encoding, folder, assembled)
    vocabulary = vocabulary or count_vocabulary(rules, assembled.captions, detected)
    drop_unusable_sentences(assembled, rules, vocabulary)
    phrases = read_extra_phrases(entities, options.encoding, folder, assembled, rules)
    pack = write_prepared(
        out,
        assembled,
        name=read.name,
        root=str(assembled.root),
        vocabulary=vocabulary,
        rules=rules,
        phrases=phrases,
        detections=detected,
        nouns=nouns,
        facts={"source": str(source), "format": form},
    )
    for part in parts_in(source) if read.without_files else ():
        add_pixels(pack, part)
    if store_side:
        store_pixels(pack, store_side, progress=progress)
    return pack


def _streamable(samples: Iterator[Sample] | None, source: str) -> Iterator[Sample]:
    if samples is None:
        raise InputError(
            f"`stream` reads shards (tar, parquet, arrow), a table (CSV, TSV, JSONL) and hf:NAME; {source} is none."
        )
    return samples


def _samples(source: str, stream: bool, options: ReaderOptions) -> Iterator[Sample] | None:
    """The samples of shards, of a data set of the hub, or of a table to stream; None for other sources."""
    if is_address(source):
        return _remote_samples(source, stream, options)
    if stream and is_table(source):
        return table_samples(source, options)
    if source.startswith(HUB) and not Path(source.removeprefix(HUB)).is_dir():
        return hub_samples(source.removeprefix(HUB))
    shards = shards_in(Path(source.removeprefix(HUB)))
    return samples_of(shards) if shards else None


def _remote_samples(source: str, stream: bool, options: ReaderOptions) -> Iterator[Sample]:
    if is_table(source):
        if not stream:
            raise InputError(f"{source}: a table at an address is read with `stream=True`.")
        return table_samples(source, options)
    shards = shards_at(source)
    if not shards:
        raise InputError(f"{source} has no shards (tar, parquet, arrow); other formats are read from folders.")
    return samples_of(shards)


def stored_words(folder: Path) -> tuple[Vocabulary, TextRules | None]:
    """The vocabulary of a pack or run, and the text rules it was counted with if they are stored."""
    vocabulary = Vocabulary.load(folder / "vocabulary.json")
    for name in ("pack.json", "data.json"):  # of a pack, of a run
        if (folder / name).is_file():
            return vocabulary, TextRules(**read_json(folder / name)["rules"])
    return vocabulary, None
