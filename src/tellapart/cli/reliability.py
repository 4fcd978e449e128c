"""`python -m tellapart.cli.reliability CAPTIONS.json --data PACK --out DIAGRAM.svg`: is the confidence calibrated?

CAPTIONS.json is what `python -m tellapart.cli.model_card --out CAPTIONS.json` writes. A caption counts as true by the
pack's references (`inference.fit_evidence.is_true`). Choose images that the confidence was not fitted on.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from tellapart.cli.errors import exit_code
from tellapart.core.errors import InputError
from tellapart.core.files import read_json, write_text
from tellapart.data.pack import Pack
from tellapart.inference.fit_evidence import is_true
from tellapart.inference.word_evidence import FOLDER
from tellapart.metrics.captions.ptb.tokenizer import tokenize_groups
from tellapart.metrics.reliability import BINS, Bin, at_threshold, calibration_error, reliability
from tellapart.report.reliability_plot import reliability_svg
from tellapart.runs.bundled import MODELS

SETTINGS = {"plain": "sure", "against": "sure_against"}
"""The threshold of each way to write captions."""


@dataclass(frozen=True)
class ReliabilityOptions:
    """Print how often captions of each confidence are true, and draw it."""

    captions: Annotated[Path, tyro.conf.Positional]
    """Captions with confidences, as model_card --out writes them."""
    data: Path
    """The pack with the references."""
    out: Path | None = None
    """Write the diagram to this SVG file."""
    bins: int = BINS
    """Bins of equal width."""
    evidence: Path = MODELS / FOLDER
    """The folder with the thresholds."""


def print_reliability(options: ReliabilityOptions) -> dict[str, list[Bin]]:
    """Print a table for each way to write captions, draw them, and return their bins."""
    listed: list[dict[str, Any]] = read_json(options.captions)
    references = _references(Pack(options.data), [one["image"] for one in listed])
    settings = read_json(options.evidence / "evidence.json")["settings"]
    drawn: dict[str, tuple[list[Bin], float]] = {}
    for name, setting in SETTINGS.items():
        if not all(name in one.get("confidence", {}) for one in listed):
            continue
        found = [float(one["confidence"][name]) for one in listed]
        true = [is_true(one[name], group) for one, group in zip(listed, references)]
        bins = reliability(found, true, options.bins)
        drawn[name] = bins, float(settings[setting])
        print(_table(name, bins))
        over = at_threshold(found, true, drawn[name][1])
        print(
            f"\n{len(true)} captions, {100 * sum(true) / len(true):.1f}% true; expected calibration error "
            f"{100 * calibration_error(bins):.1f} points. Sure from {100 * drawn[name][1]:.0f}%: {over.count} "
            f"captions, {100 * over.true:.1f}% true; of the others {100 * over.true_below:.1f}%.\n"
        )
    if not drawn:
        raise InputError(f"{options.captions} has no confidences; write it with model_card and the bundled models.")
    if options.out is not None:
        write_text(options.out, reliability_svg(drawn))
    return {name: bins for name, (bins, _) in drawn.items()}


def _references(pack: Pack, ids: list[str]) -> list[list[str]]:
    row = {image.id: number for number, image in enumerate(pack.images)}
    if missing := next((one for one in ids if one not in row), None):
        raise InputError(f"{pack.folder} has no image '{missing}'; give the pack that the captions belong to.")
    return tokenize_groups([[pack.captions[k].text for k in pack.captions_of[row[one]]] for one in ids])


def _table(name: str, bins: list[Bin]) -> str:
    lines = [f"| {name}: confidence | captions | mean confidence | true |", "|---|---|---|---|"]
    for one in bins:
        values = f"{100 * one.confidence:.0f}% | {100 * one.true:.0f}%" if one.count else "- | -"
        lines.append(f"| {100 * one.low:.0f} to {100 * one.high:.0f}% | {one.count} | {values} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Print as the command line says."""
    options = tyro.cli(ReliabilityOptions, args=arguments)
    return exit_code(lambda: print_reliability(options))


if __name__ == "__main__":
    sys.exit(main())
