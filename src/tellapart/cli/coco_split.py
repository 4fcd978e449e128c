"""`python -m tellapart.cli.coco_split CAPTIONS.json ... --images FOLDER --out dataset_coco.json`: our split of COCO."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tellapart.cli.errors import exit_code
from tellapart.core.errors import InputError
from tellapart.core.files import read_json, write_json
from tellapart.data.coco_split import coco_split, split_file
from tellapart.images.formats import image_suffixes


@dataclass(frozen=True)
class CocoSplitOptions:
    """Write a Karpathy file with our split of COCO train2017; `tellapart prepare` reads it."""

    captions: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """COCO caption files, such as captions_train2014.json and captions_val2014.json."""
    images: Path
    """Folder of train2017; images without a caption are left out."""
    out: Path
    """The file to write."""
    leave_out: Path | None = None
    """Text file of image ids to leave out, such as those of Karpathy's val and test."""


def write_split(options: CocoSplitOptions) -> None:
    """Write the file."""
    captions: dict[int, list[str]] = {}
    for path in options.captions:
        for entry in read_json(path)["annotations"]:
            captions.setdefault(int(entry["image_id"]), []).append(entry["caption"])
    suffixes = image_suffixes()
    files = [path for path in options.images.iterdir() if path.suffix.lower() in suffixes and path.stem.isdigit()]
    if not files:
        raise InputError(f"{options.images} has no images named by COCO ids; give the folder of train2017 as `images`.")
    left_out = {int(word) for word in options.leave_out.read_text().split()} if options.leave_out else set()
    split = coco_split((int(path.stem) for path in files if int(path.stem) in captions), left_out)
    write_json(options.out, split_file(captions, split, files[0].suffix))


def main() -> int:
    """Write as the command line says."""
    options = tyro.cli(CocoSplitOptions)
    return exit_code(lambda: write_split(options))


if __name__ == "__main__":
    raise SystemExit(main())
