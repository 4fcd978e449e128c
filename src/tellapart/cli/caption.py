"""`tellapart caption PHOTO…`: a caption for each photo, or one that distinguishes it from a folder of others."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tellapart.cli.caption_output import CaptionedPhoto, Outputs
from tellapart.core.errors import InputError
from tellapart.core.precisions import Precision
from tellapart.images.folders import FoundPhotos, find_some_photos
from tellapart.images.formats import image_suffixes
from tellapart.images.opening import UnreadableImage
from tellapart.inference.caption_settings import NEIGHBOURS, CaptionSettings
from tellapart.inference.known_images import KnownImages
from tellapart.inference.loading import load_captioner
from tellapart.search.location import is_index


@dataclass(frozen=True)
class CaptionOptions:
    """Generate a caption for each photo. Photos that cannot be opened are skipped and listed at the end."""

    photos: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="PHOTO…")]
    """Files, folders, patterns such as 'trip/*.jpg', or - for a list on standard input."""
    captioner: str = "bundled:captioner"
    """A captioner's run folder, or hf:FOLDER. Default: the captioner in the package."""
    against: Path | None = None
    """A folder of other photos, or an index of them, of which only similar ones are read. Choose a true caption that
    tells the photo apart from the most similar of them; where nothing does, the line says so."""
    weight: float = 0.5
    """With --against: 0 for a likely and true caption, 1 for the most distinctive."""
    neighbours: int = NEIGHBOURS
    """With --against: how many of the most similar photos to compare with."""
    matcher: str | None = None
    """With --against: a matcher's run, or hf:FOLDER, that scores how well a caption identifies its photo. Default: the
    bundled chooser for the bundled captioner, otherwise the captioner itself."""
    show_attention: Path | None = None
    """Draw the attention of each word: a .png for one photo, a folder for several."""
    sidecar: bool = False
    """Write each caption into a text file next to its photo: dog.jpg, dog.txt."""
    csv: Path | None = None
    """Write photos and captions as CSV; `tellapart prepare` reads it."""
    overwrite: bool = False
    """Replace existing text files and an existing CSV."""
    json: bool = False
    """Print one JSON object at the end instead of one line per photo."""
    beam: int = 0
    """Width of each beam search. 0: 5 for the bundled captioner and 3 for others, or 10 with --against."""
    batch: int = 32
    """Photos captioned at once; more need more memory."""
    workers: int = 0
    """Threads that open photos. 0: one per core."""
    device: str = "auto"
    """cpu, cuda, …; auto uses an accelerator if there is one."""
    precision: Precision = "auto"
    """float32, int8 (exported models), bfloat16 (others), or auto: the fastest that loses little."""
    compile: bool = False
    """Compile a model of transformers (torch.compile): a minute at the start, which pays for many photos."""
    quiet: bool = False
    """No progress bar."""


@dataclass(frozen=True)
class Captions:
    """The captioned photos in the given order."""

    captions: list[CaptionedPhoto]
    skipped: list[str]
    """Why each of the others has no caption."""


def caption(options: CaptionOptions) -> Captions:
    """Caption photos and print and write the captions; InputError if no photo could be captioned."""
    _check(options)
    found = find_some_photos(options.photos, sys.stdin)
    _check_drawing(options.show_attention, found)
    settings = CaptionSettings(
        against=_others(options.against),
        neighbours=options.neighbours,
        weight=options.weight,
        matcher=options.matcher,
        attention=options.show_attention is not None,
        beam=options.beam,
        batch_size=options.batch,
        progress=not options.quiet,
    )
    captioner = load_captioner(
        options.captioner, options.device, options.workers, options.precision, compile=options.compile
    )
    stream = captioner.stream(found.photos, settings)
    captions: list[CaptionedPhoto] = []
    skipped = list(found.faults)
    with Outputs(options.show_attention, options.sidecar, options.csv, options.overwrite,
                 None if options.json else sys.stdout) as outputs:  # fmt: skip
        for photo, result in zip(found.photos, stream, strict=True):
            if isinstance(result, UnreadableImage):
                skipped.append(str(result).removesuffix("."))
            else:
                captions.append(outputs.write(photo, result))
        skipped += outputs.not_written
    if not captions:
        raise InputError("No photo could be captioned: " + "; ".join(skipped) + ".")
    finished = Captions(captions, skipped)
    _print_end(options, finished, captioner.run.folder)
    return finished


def _others(against: Path | None) -> Path | KnownImages | None:
    """A folder of photos, or the photos of an index, whose vectors are known."""
    if against is None or not is_index(str(against)):
        return against
    from tellapart.search.photo_index import open_index

    return open_index(str(against)).images()


def _check(options: CaptionOptions) -> None:
    """Raise for what is wrong whatever the photos are, before anything is opened."""
    if options.batch < 1:
        raise InputError(f"`batch` must be at least 1, not {options.batch}.")
    if options.csv is not None and options.csv.exists() and not options.overwrite:
        raise InputError(f"{options.csv} exists; choose another file, or replace it with `overwrite=True`.")


def _check_drawing(drawing: Path | None, found: FoundPhotos) -> None:
    if drawing is None:
        return
    if drawing.suffix.lower() in image_suffixes() - {".png"} and not drawing.is_dir():
        instead = drawing.with_suffix(".png")
        raise InputError(f"`show_attention` writes .png files, not {drawing.suffix}; give {instead}, or a folder.")
    if drawing.suffix.lower() == ".png" and len(found.photos) > 1:
        raise InputError(f"`show_attention` names one file, {drawing}, for {len(found.photos)} photos; give a folder.")


def _print_end(options: CaptionOptions, result: Captions, captioner: Path) -> None:
    if options.json:
        captions = [captioned.plain() for captioned in result.captions]
        printed = {"captioner": str(captioner), "captions": captions, "skipped": result.skipped}
        print(json.dumps(printed, ensure_ascii=False, indent=2))
        return
    for line in result.skipped:
        print(f"skipped: {line}", file=sys.stderr)
