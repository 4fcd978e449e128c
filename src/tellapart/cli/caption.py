"""`tellapart caption PHOTO…`: a sentence for each photo, or the one that tells it apart from a folder of others."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from tellapart.cli.caption_output import CaptionedPhoto, Outputs
from tellapart.core.device import usable_device
from tellapart.core.errors import InputError
from tellapart.core.progress import Progress
from tellapart.core.protocols import Matcher
from tellapart.core.types import Images
from tellapart.images.folders import FoundPhotos, find_some_photos
from tellapart.images.formats import image_suffixes
from tellapart.inference.caption_generator import CaptionGenerator, Sentences, open_caption_generator, open_judge
from tellapart.inference.feature_extractor import FeatureExtractor
from tellapart.inference.neighbours import Neighbours
from tellapart.report.attention import looks

PLAIN_BEAM, DISTINCTIVE_BEAM = 3, 10


@dataclass(frozen=True)
class CaptionOptions:
    """Write a sentence about each photo. A photo that cannot be opened is skipped and listed at the end."""

    photos: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="PHOTO…")]
    """Files, folders, patterns such as 'trip/*.jpg', or - for a list on standard input."""
    captioner: str = "bundled:captioner"
    """A captioner's run folder; left out, the captioner that comes with the package."""
    against: Path | None = None
    """A folder of other photos: of the likely sentences, the one that tells the photo apart from those most like it."""
    weight: float = 0.5
    """With --against: 0 tells what is likeliest, 1 what is most distinctive."""
    neighbours: int = 10
    """With --against: how many photos of the folder, those most like it, a photo is told apart from."""
    matcher: str | None = None
    """With --against: a matcher's run that judges how well a sentence finds its photo; left out, the captioner does."""
    show_attention: Path | None = None
    """Draw where each word looked: a .png for one photo, a folder for several."""
    sidecar: bool = False
    """Write each caption into a text file beside its photo: dog.jpg, dog.txt."""
    csv: Path | None = None
    """Write photos and captions as CSV; `tellapart prepare` reads it."""
    overwrite: bool = False
    """Replace text files and a CSV that are there already."""
    json: bool = False
    """Print one JSON object at the end instead of a line a photo."""
    beam: int = 0
    """Sentences considered at a time. 0: 3, or 10 with --against."""
    batch: int = 32
    """Photos captioned at once; more need more memory."""
    workers: int = 0
    """Threads that open photos. 0: one a core."""
    device: str = "auto"
    """cpu, cuda, …; auto takes an accelerator where there is one."""
    quiet: bool = False
    """No progress bar."""


@dataclass(frozen=True)
class Captions:
    """What became of the photos asked for, in their order."""

    captions: list[CaptionedPhoto]
    skipped: list[str]
    """Why each of the others has none."""


@dataclass(frozen=True)
class _Told:
    """Some of the photos, told; or only what is wrong with them."""

    photos: list[int]
    images: Images | None
    sentences: Sentences | None
    faults: dict[int, str]


def caption(options: CaptionOptions) -> Captions:
    """Caption photos, print and write what was asked for; an InputError where not one could be captioned."""
    _reject(options)
    found = find_some_photos(options.photos, sys.stdin)
    if options.show_attention and options.show_attention.suffix.lower() == ".png" and len(found.photos) > 1:
        raise InputError(f"--show-attention {options.show_attention} is one image, for {len(found.photos)} photos; "
                         "give a folder.")  # fmt: skip
    device = usable_device(options.device)
    generator = open_caption_generator(options.captioner, device)
    if options.show_attention and not (looks(generator.run.model) and generator.look.kind != "vector"):
        raise InputError(
            f"{generator.run.folder} sees an image as a whole and attends to no part of it, so there is no attention "
            "to show; use a captioner such as adaptive-attention or tell-averaged, trained on a grid or regions."
        )
    extractor = FeatureExtractor(generator.look, device, options.workers)
    progress = Progress(enabled=not options.quiet)
    captions: list[CaptionedPhoto] = []
    skipped = list(found.faults)
    if options.against is None:
        told = _plain(options, found, generator, extractor)
    else:
        told = _apart(options, found, generator, _album(options, found, generator, extractor, progress))
    with Outputs(generator.run.vocabulary, options.show_attention, options.sidecar, options.csv, options.overwrite,
                 None if options.json else sys.stdout) as outputs:  # fmt: skip
        done = _one_by_one(told, found.photos, outputs, skipped)
        for captioned in progress.track(done, len(found.photos), "captioning"):
            if captioned is not None:
                captions.append(captioned)
        skipped += outputs.left_alone
    if not captions:
        raise InputError("No photo could be captioned: " + "; ".join(skipped) + ".")
    result = Captions(captions, skipped)
    _close(options, result, generator)
    return result


def _reject(options: CaptionOptions) -> None:
    """What is wrong whatever the photos are, said before anything is opened."""
    if options.beam < 0 or options.batch < 1 or options.neighbours < 1:
        raise InputError("--batch and --neighbours are at least 1, and --beam is 1 or more (0 for the usual).")
    if options.matcher is not None and options.against is None:
        raise InputError("--matcher judges sentences among other photos; give those with --against FOLDER.")
    if not 0 <= options.weight <= 1:
        raise InputError(f"--weight lies between 0 (likeliest) and 1 (most distinctive); it is {options.weight}.")
    drawn = options.show_attention
    if drawn is not None and drawn.suffix.lower() in image_suffixes() - {".png"} and not drawn.is_dir():
        instead = drawn.with_suffix(".png")
        raise InputError(f"--show-attention draws .png files, not {drawn.suffix}: give {instead}, or a folder.")
    if options.csv is not None and options.csv.exists() and not options.overwrite:
        raise InputError(f"{options.csv} is there already; choose another file, or replace it with --overwrite.")


def _plain(
    options: CaptionOptions, found: FoundPhotos, generator: CaptionGenerator, extractor: FeatureExtractor
) -> Iterator[_Told]:
    for looked in extractor.look_at(found.photos, options.batch):
        sentences = generator.tell(looked.images, options.beam or PLAIN_BEAM) if looked.photos else None
        yield _Told(looked.photos, looked.images, sentences, looked.faults)


@dataclass(frozen=True)
class _Album:
    """Photos asked for, which stand first, and those to tell them apart from; a photo may be both."""

    known: Neighbours
    others: np.ndarray  # rows of the readable photos of the folder
    judge: Matcher | None


def _album(
    options: CaptionOptions,
    found: FoundPhotos,
    generator: CaptionGenerator,
    extractor: FeatureExtractor,
    progress: Progress,
) -> _Album:
    """Every photo, asked for or only to compare with, is looked at once."""
    assert options.against is not None
    judge = None if options.matcher is None else open_judge(options.matcher, generator, extractor.device)
    others = find_some_photos(options.against).photos
    everything = list({os.path.realpath(photo): photo for photo in (*found.photos, *others)}.values())
    place = {os.path.realpath(photo): row for row, photo in enumerate(everything)}
    known = Neighbours(len(everything), generator.look, extractor.device)
    batches = -(-len(everything) // options.batch)
    for looked in progress.track(extractor.look_at(everything, options.batch), batches, "looking, batches"):
        known.add(looked)
    rows = np.asarray([place[os.path.realpath(photo)] for photo in others])
    return _Album(known, rows[known.readable[rows]], judge)


def _apart(options: CaptionOptions, found: FoundPhotos, generator: CaptionGenerator, album: _Album) -> Iterator[_Told]:
    known = album.known
    for first in range(0, len(found.photos), options.batch):
        rows = np.arange(first, min(first + options.batch, len(found.photos)))
        faults = {int(row): known.faults[int(row)] for row in rows[~known.readable[rows]]}
        rows = rows[known.readable[rows]]
        if not len(rows):
            yield _Told([], None, None, faults)
            continue
        among, neighbours = known.around(rows, album.others, options.neighbours)
        images = known.images(rows)
        beam = options.beam or DISTINCTIVE_BEAM
        sentences = generator.tell_apart(images, among, neighbours, beam, options.weight, album.judge)
        yield _Told(rows.tolist(), images, sentences, faults)


def _one_by_one(
    batches: Iterator[_Told], photos: list[Path], outputs: Outputs, skipped: list[str]
) -> Iterator[CaptionedPhoto | None]:
    """Each photo as it is written; None for one that was skipped."""
    for told in batches:
        for fault in told.faults.values():
            skipped.append(fault)
            yield None
        for row, photo in enumerate(told.photos):
            assert told.images is not None and told.sentences is not None
            yield outputs.write(photos[photo], told.sentences, told.images, row)


def _close(options: CaptionOptions, result: Captions, generator: CaptionGenerator) -> None:
    if options.json:
        import json

        captions = [captioned.plain() for captioned in result.captions]
        printed = {"captioner": str(generator.run.folder), "captions": captions, "skipped": result.skipped}
        print(json.dumps(printed, ensure_ascii=False, indent=2))
    elif result.skipped:
        for line in result.skipped:
            print(f"skipped: {line}", file=sys.stderr)
