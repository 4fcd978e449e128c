"""`tellapart alt-text SITE_OR_FILES`: alternative texts for the images of HTML and Markdown files."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from tellapart.alt_text.captioning import PageCaptioner
from tellapart.alt_text.changes import diff, write
from tellapart.alt_text.pages import Page, find_pages, read_page
from tellapart.alt_text.proposal import Proposal
from tellapart.alt_text.propose import CONFIDENCE, Proposer, Replaced
from tellapart.alt_text.reviewed import COLUMNS, Reviewed, read_reviewed
from tellapart.cli.errors import for_command_line, option_names
from tellapart.core.errors import InputError
from tellapart.core.files import atomic_path
from tellapart.core.precisions import Precision
from tellapart.core.progress import Progress

if TYPE_CHECKING:
    from tellapart.inference.captioning import PhotoCaptioner
    from tellapart.inference.light.captioning import LightCaptioner

SHOWN = 20


@dataclass(frozen=True)
class AltTextOptions:
    """Propose alternative texts for images without one. By default print a diff; nothing is written without --write,
    and nothing is ever fetched."""

    paths: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="SITE_OR_FILES")]
    """A folder of HTML and Markdown files, searched recursively, or such files."""
    write: bool = False
    """Write the texts into the files, instead of printing a diff. Nothing else in a file changes."""
    json: bool = False
    """Print all proposals as JSON instead of a diff."""
    csv: Path | None = None
    """Write all proposals into this file instead of printing a diff: to review them, edit the column alt."""
    reviewed: Path | None = None
    """Take the texts from such a CSV or JSON file that you have edited, instead of generating captions."""
    unsure: bool = False
    """Take uncertain captions, too. Default: they are listed for review, and not written."""
    confidence: float = CONFIDENCE
    """The least confidence of a caption that counts as certain, 0 … 1."""
    replace: tuple[Replaced, ...] = ()
    """Replace other texts, too: empty (alt="") and file-names (alt="dog.jpg")."""
    root: Path | None = None
    """The folder of the site, if it is not the given one: addresses with a slash start there."""
    site_address: str = ""
    """The public address of the site, such as https://example.org, if pages name images by it."""
    captioner: str = "bundled:captioner"
    """A captioner's run folder, or hf:FOLDER."""
    device: str = "auto"
    """cpu, cuda, …; auto uses an accelerator if there is one."""
    precision: Precision = "auto"
    """float32, int8 (exported models), bfloat16 (others), or auto: the fastest that loses little."""
    compile: bool = False
    """Compile a model of transformers (torch.compile): a minute at the start, which pays for many images."""
    batch: int = 32
    """Images of a page captioned at once; more need more memory."""
    quiet: bool = False
    """No progress bar, and no list of images for review."""


@dataclass(frozen=True)
class AltTexts:
    """All proposals, and the pages that changed or would change."""

    proposals: list[Proposal]
    pages: int
    changed: list[Path]
    skipped: list[str]
    """Why other pages could not be read."""


def alt_text(options: AltTextOptions) -> AltTexts:
    """Propose texts; print a diff, or write files."""
    if options.write and (options.json or options.csv):
        raise InputError("Write the pages, or write proposals to review: give `write`, or one of `json` and `csv`.")
    pages = find_pages(options.paths, options.root, options.site_address)
    proposer = _proposer(options)
    proposals: list[Proposal] = []
    changed: list[Path] = []
    skipped: list[str] = []
    progress = Progress(enabled=not options.quiet)
    for path, site in progress.track(iter(pages), len(pages), "pages"):
        try:
            page = read_page(path, site)
            found = proposer.propose(page)
            if _put(page, found, options):
                changed.append(path)
        except InputError as error:
            skipped.append(str(error).removesuffix("."))
            continue
        proposals += found
    finished = AltTexts(proposals, len(pages), changed, skipped)
    _print_end(options, finished)
    return finished


def _proposer(options: AltTextOptions) -> Proposer | Reviewed:
    if options.reviewed is not None:
        return Reviewed(read_reviewed(options.reviewed), options.replace)
    from tellapart.inference.loading import load_captioner

    if options.batch < 1:
        raise InputError(f"`batch` must be at least 1, not {options.batch}.")

    def load() -> PhotoCaptioner | LightCaptioner:
        return load_captioner(options.captioner, options.device, precision=options.precision, compile=options.compile)

    captions = PageCaptioner(load, options.batch)
    return Proposer(captions, options.replace, options.unsure, options.confidence)


def _put(page: Page, proposals: list[Proposal], options: AltTextOptions) -> bool:
    """Write a page or print its diff; whether it changes."""
    if options.write:
        return write(page.document, proposals)
    shown = diff(page.document, proposals)
    if shown and not options.json and options.csv is None:
        print(shown, end="", flush=True)
    return bool(shown)


def _print_end(options: AltTextOptions, result: AltTexts) -> None:
    if options.json:
        counts = dict(Counter(one.status for one in result.proposals))
        values = {"pages": result.pages, "counts": counts, "images": [one.plain() for one in result.proposals]}
        print(json.dumps({**values, "skipped": result.skipped}, ensure_ascii=False, indent=2))
    if options.csv is not None:
        with atomic_path(options.csv) as partial, partial.open("w", encoding="utf-8", newline="") as file:
            rows = csv.DictWriter(file, COLUMNS)
            rows.writeheader()
            rows.writerows(one.plain() for one in result.proposals)
    for line in (*_summary(options, result), *(f"skipped: {fault}" for fault in result.skipped)):
        print(line, file=sys.stderr)


def _summary(options: AltTextOptions, result: AltTexts) -> Iterator[str]:
    by_status = Counter(one.status for one in result.proposals)
    if not options.quiet and not options.json:
        for_review = [one for one in result.proposals if one.status in ("review", "skipped")]
        for one in for_review[:SHOWN]:
            note = for_command_line(InputError(one.note), option_names(AltTextOptions))
            yield f"{one.page}:{one.line}: {one.image}: {one.alt or 'no text'} ({note})"
        if len(for_review) > SHOWN:
            yield f"… and {len(for_review) - SHOWN} more; --csv FILE has all."
    verb = "changed" if options.write else "to change"
    yield (
        f"Pages: {result.pages}, {verb}: {len(result.changed)}. Images without text: {by_status['caption']} captioned, "
        f"{by_status['own']} described by people, {by_status['decorative']} decorative, {by_status['review']} for "
        f"review, {by_status['skipped']} skipped."
    )
