"""A dozen drawn photos with captions, their features, and captioners and a matcher trained on them for a moment."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import numpy as np
from PIL import Image

from tellapart.cli.extract import ExtractOptions, extract
from tellapart.cli.prepare import PrepareOptions, prepare
from tellapart.data.pack import Pack
from tellapart.papers.recipes import find_recipe
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe

COLOURS = {"red": (220, 30, 30), "green": (30, 200, 30), "blue": (30, 30, 220), "white": (240, 240, 240)}
PLACES = {"left": 0, "middle": 1, "right": 2}


def draw_photos(folder: Path) -> Path:
    """Twelve PNGs, each a coloured ball at a place, and the captions that say so in captions.csv."""
    folder.mkdir(parents=True)
    lines = ["image,caption,split"]
    for colour, paint in COLOURS.items():
        for place, third in PLACES.items():
            name = f"{colour}-{place}.png"
            pixels = np.full((64, 96, 3), 90, np.uint8)
            pixels[16:48, 32 * third : 32 * third + 32] = paint
            Image.fromarray(pixels).save(folder / name)
            split = "val" if place == "right" else "train"
            lines += [f"{name},a {colour} ball on the {place},{split}", f"{name},the ball is {colour},{split}"]
    (folder / "captions.csv").write_text("\n".join(lines) + "\n")
    return folder


def make_world(folder: Path) -> Path:
    """FOLDER/photos, /pack (with vector and grid), and the runs /nt, /aa (captioners) and /find (a matcher)."""
    draw_photos(folder / "photos")
    with contextlib.redirect_stdout(io.StringIO()):
        prepare(PrepareOptions(str(folder / "photos"), folder / "pack", min_count=1, nouns=False))
    extract(ExtractOptions(folder / "pack", kind="vector,grid", progress=False))
    captioner = ("sampling.batch=4", "epochs=12", "optimiser.lr=0.01", "model.dropout=0")
    for name, recipe, changes in (
        ("nt", "neuraltalk2", ("model.hidden=16", *captioner)),
        ("aa", "adaptive-attention", ("model.hidden=16", *captioner)),
        ("find", "vse++", ("model.embedding=16", "model.word_width=8", "epochs=2", "sampling.batch=8")),
    ):
        stage = find_recipe(recipe).stages[0].name
        changed = tuple(f"{stage}.{change}" for change in changes)
        train_recipe(find_recipe(recipe), TrainSettings(folder / "pack", folder / name, set=changed))
    return folder


def drawn_pack_with_targets(folder: Path) -> Path:
    """A pack in `folder` of twelve drawn photos with captions and made-up sentence targets."""
    draw_photos(folder / "photos")
    prepare(PrepareOptions(str(folder / "photos"), folder / "pack", min_count=1, nouns=False))
    pack = Pack(folder / "pack")
    targets = np.random.default_rng(0).standard_normal((len(pack.captions), 6)).astype(np.float32)
    pack.save_column("targets-minilm", targets, "caption")
    return pack.folder
