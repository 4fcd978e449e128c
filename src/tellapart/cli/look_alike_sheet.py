"""`python -m tellapart.cli.look_alike_sheet --data PACK --out sheet.png`: groups of look-alikes with their captions.

Every image of a group is captioned twice: by itself, and against the others of its group. A person then counts how many
captions are right, partly right and wrong; sheet.json, next to the sheet, lists the images and captions.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import tyro

from tellapart.cli.errors import exit_code
from tellapart.core.files import write_json
from tellapart.data.batches import Batches
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.inference.loading import load_captioner
from tellapart.inference.pack_captions import look_alikes_by
from tellapart.report.look_alike_sheet import Shown, look_alike_groups, write_look_alike_sheet


@dataclass(frozen=True)
class SheetOptions:
    """Draw groups of look-alikes with their captions, and list them."""

    data: Path
    """The pack."""
    out: Path
    """The sheet, a .png file."""
    look_alikes_by: str
    """Name of the pack's features that look-alikes are found by."""
    split: str = "all"
    """train, val, test, or all."""
    groups: int = 10
    """Groups of look-alikes."""
    size: int = 4
    """Images per group."""
    first: int = 0
    """Groups begin at this image of the split."""
    captioner: str = "bundled"
    """The captioner's run."""


def look_alike_sheet(options: SheetOptions) -> list[dict[str, object]]:
    """Write the sheet and the list; returns the list."""
    pack = Pack(options.data)
    rows = pack.split(options.split).images[options.first :]
    by = Batches(pack, FeatureStore(pack.feature_folder(options.look_alikes_by)))
    groups = look_alike_groups(look_alikes_by(by, rows, 12 * options.size), options.groups, options.size)
    captioner = load_captioner(options.captioner, "cpu")
    listed: list[dict[str, object]] = []
    shown: list[list[Shown]] = []
    for number, group in enumerate(groups, start=1):
        files = [pack.image_path(int(rows[image])) for image in group]
        shown.append([])
        for place, (file, plain, distinctive) in enumerate(
            zip(files, captioner.caption(files), captioner.caption(files, against=files)), start=1
        ):
            label = f"{number}.{place}"
            listed.append({"label": label, "image": file.name, "plain": plain.text, "against": distinctive.text})
            same = plain.text == distinctive.text
            shown[-1].append(Shown(file, label, (plain.text,) if same else (distinctive.text, f"({plain.text})")))
    write_look_alike_sheet(shown, options.out)
    write_json(options.out.with_suffix(".json"), listed)
    return listed


def main(arguments: list[str] | None = None) -> int:
    """Draw as the command line says, and print the captions."""
    options = tyro.cli(SheetOptions, args=arguments)

    def draw() -> None:
        for one in look_alike_sheet(options):
            print("\t".join(str(value) for value in one.values()))

    return exit_code(draw)


if __name__ == "__main__":
    sys.exit(main())
