"""A pack written sample by sample: millions of images in little memory.

Images and captions go to the disk at once. Memory holds the counts of words, and one number per image and per caption.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from tellapart.core.checksums import write_checksums
from tellapart.core.errors import InputError
from tellapart.core.files import atomic_folder, save_array, write_json
from tellapart.data.pack import FORMAT, Pack
from tellapart.data.stream_pixels import FilesWriter, PixelsWriter
from tellapart.data.unpack_shards import Sample, suffix_of
from tellapart.text.rules import TextRules
from tellapart.text.vocabulary import SPECIAL, UNK, Vocabulary

TOGETHER, TOGETHER_BYTES = 512, 64 * 1024 * 1024
"""Samples whose captions are split into words together: so many, or whose images take so many bytes."""


@dataclass
class _Tally:
    """What a pack holds, counted while it is written."""

    count: int = 0
    images: Counter[str] = field(default_factory=Counter)
    captions: Counter[str] = field(default_factory=Counter)
    words: dict[str, Counter[str]] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    owner: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    ids: Any = field(default_factory=hashlib.sha256)
    """Of the images and their splits, as `write_pack.fingerprint_of` has it."""
    names: Any = field(default_factory=hashlib.sha256)
    """Of the images, as `stored_pixels.ids_hash` has it."""


def stream_pack(
    samples: Iterable[Sample],
    source: str,
    out: Path,
    *,
    rules: TextRules,
    split: Callable[[str], str],
    vocabulary: Vocabulary | None = None,
    side: int = 0,
) -> Pack:
    """The pack of all samples with an image and a caption.

    split: of an image's id, for samples that name none. side: store images in the pack as squares of this side; 0:
    write them as they are into the folder OUT-images.
    """
    files = out.with_name(f"{out.name}-images")
    with ExitStack() as stack:
        partial = stack.enter_context(atomic_folder(out))
        images = PixelsWriter(partial, side) if side else FilesWriter(stack.enter_context(atomic_folder(files)))
        tally = _write_samples(partial, samples, images, (rules, split, vocabulary))
        if not tally.count:
            raise InputError(f"{source} has no image with a caption.")
        known = vocabulary or rules.vocabulary_of(_counted(tally, rules))
        if len(known) == len(SPECIAL):
            raise InputError(
                f"No word occurs {rules.min_count} times, so there is no vocabulary; use a smaller `min_count`."
            )
        images.close(tally.names.hexdigest())
        known.save(partial / "vocabulary.json")
        unknown = _write_arrays(partial, tally, known)
        facts = {"source": source, "format": "stream", "rules": rules.as_dict()}
        write_json(partial / "report.json", facts | _report(tally, known, unknown))
        root = "" if side else str(files.resolve())
        write_json(partial / "pack.json", _manifest(partial, out.name, root, tally, known, rules))
        write_checksums(partial)
    return Pack(out)


def _write_samples(
    folder: Path,
    samples: Iterable[Sample],
    images: PixelsWriter | FilesWriter,
    how: tuple[TextRules, Callable[[str], str], Vocabulary | None],
) -> _Tally:
    tally, (rules, split, vocabulary) = _Tally(), how
    with (
        (folder / "pictures.jsonl").open("w", encoding="utf-8") as listed,
        (folder / "captions.jsonl").open("w", encoding="utf-8") as captions,
    ):
        for some in in_groups(samples):
            words = iter(rules.split([text for sample in some for text in sample.captions], vocabulary))
            for sample in some:
                if sample.fault:
                    tally.skipped[sample.fault] += 1
                    continue
                mine = [(text, row) for text, row in [(text, next(words)) for text in sample.captions] if row]
                suffix = suffix_of(sample.image)
                size = images.size(sample.image) if suffix and mine else None
                if size is None:
                    tally.skipped["not an image" if not suffix or mine else "image without caption"] += 1
                    continue
                number = tally.count
                name = f"{number:09d}"
                file, chosen = images.add(number, sample.image, suffix), sample.split or split(name)
                _line(listed, {"id": name, "file": file, "split": chosen, "width": size[0], "height": size[1]})
                _add_image(tally, name, chosen)
                for text, row in mine:
                    _line(captions, {"picture": number, "text": text, "words": row, "split": chosen})
                    _add_caption(tally, number, row, chosen)
    return tally


def in_groups(samples: Iterable[Sample]) -> Iterator[list[Sample]]:
    """Samples that are in memory together."""
    group: list[Sample] = []
    size = 0
    for sample in samples:
        group.append(sample)
        size += len(sample.image)
        if len(group) == TOGETHER or size >= TOGETHER_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _line(file: TextIO, row: dict[str, Any]) -> None:
    file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _add_image(tally: _Tally, name: str, split: str) -> None:
    between = "\n" if tally.count else ""
    tally.ids.update(f"{between}{name}\t{split}".encode())
    tally.names.update(f"{between}{name}".encode())
    tally.images[split] += 1
    tally.count += 1


def _add_caption(tally: _Tally, image: int, words: list[str], split: str) -> None:
    tally.captions[split] += 1
    tally.words.setdefault(split, Counter()).update(words)
    tally.owner.append(image)
    tally.lengths.append(len(words))


def _counted(tally: _Tally, rules: TextRules) -> Counter[str]:
    """The words of the captions that the rules count."""
    chosen = tally.words if rules.vocabulary == "all" else {"train": tally.words.get("train", Counter())}
    total: Counter[str] = Counter()
    for counts in chosen.values():
        total.update(counts)
    return total


def _write_arrays(folder: Path, tally: _Tally, vocabulary: Vocabulary) -> int:
    """Write tokens.npy, offsets.npy and owner.npy; returns how many words are unknown."""
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.asarray(tally.lengths, np.int64))])
    save_array(folder / "offsets.npy", offsets)
    save_array(folder / "owner.npy", np.asarray(tally.owner, np.int64))
    tokens = np.lib.format.open_memmap(folder / "tokens.npy", mode="w+", dtype=np.int32, shape=(int(offsets[-1]),))
    place = unknown = 0
    for words in _stored_words(folder):
        ids = vocabulary.encode(words)
        tokens[place : place + len(ids)] = ids
        place, unknown = place + len(ids), unknown + ids.count(UNK)
    tokens.flush()
    return unknown


def _stored_words(folder: Path) -> Iterator[list[str]]:
    with (folder / "captions.jsonl").open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)["words"]


def _manifest(
    folder: Path, name: str, root: str, tally: _Tally, vocabulary: Vocabulary, rules: TextRules
) -> dict[str, Any]:
    digest = tally.ids.copy()
    digest.update("\n".join(vocabulary.words).encode())
    for array in ("tokens", "offsets", "owner"):
        digest.update(np.load(folder / f"{array}.npy", mmap_mode="r").tobytes())
    counts = {"pictures": tally.count, "captions": len(tally.owner), "words": len(vocabulary)}
    return {
        "format": FORMAT,
        "name": name,
        "root": root,
        "fingerprint": digest.hexdigest()[:16],
        "rules": rules.as_dict(),
        "counts": counts,
    }


def _report(tally: _Tally, vocabulary: Vocabulary, unknown: int) -> dict[str, Any]:
    """The report, as `prepare_report.closing_report` has it."""
    lengths, each = np.asarray(tally.lengths), np.bincount(tally.owner, minlength=tally.count)
    share = {
        split: round(sum(count for word, count in words.items() if word not in vocabulary.ids) / words.total(), 5)
        for split, words in tally.words.items()
    }
    return {
        "pictures": tally.count,
        "captions": len(lengths),
        "captions_a_picture": {"least": int(each.min()), "mean": round(float(each.mean()), 2), "most": int(each.max())},
        "splits": {
            name: {"pictures": tally.images[name], "captions": tally.captions[name], "unknown_share": share[name]}
            for name in sorted(tally.images)
        },
        "words": {
            "vocabulary": len(vocabulary),
            "tokens": int(lengths.sum()),
            "mean_length": round(float(lengths.mean()), 2),
            "longest": int(lengths.max()),
            "captions_cut": 0,
            "unknown_share": round(unknown / max(1, int(lengths.sum())), 5),
        },
        "skipped": {
            "counts": dict(tally.skipped),
            "items": [
                {"kind": kind, "item": f"{count:,} samples", "where": "the source", "reason": "left out"}
                for kind, count in tally.skipped.items()
            ],
        },
    }
