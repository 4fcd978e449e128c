"""Folders that commands write and read again: runs, a run that was stopped, a pack with features, and an index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

SMALL = ("sampling.batch=16", "epochs=1")
MATCHER = ("model.embedding=8", "model.word_width=4", *SMALL)
CAPTIONER = ("model.hidden=8", *SMALL)


def make(folder: Path) -> None:
    """FOLDER/pack, /matcher, /captioner, /stopped, /photos and /index."""
    from tiny_pack import make_tiny_pack

    make_tiny_pack(folder / "pack")
    train(folder / "pack", folder / "matcher", "vse++", MATCHER)
    train(folder / "pack", folder / "captioner", "neuraltalk2", CAPTIONER)
    stop_training(folder / "pack", folder / "stopped")
    _index(folder)


def train(pack: Path, out: Path, recipe: str, changes: tuple[str, ...], resume: bool = False) -> None:
    """Train a small model for an epoch."""
    from tellapart.papers.recipes import find_recipe
    from tellapart.training.settings import TrainSettings
    from tellapart.training.train import train_recipe

    found = find_recipe(recipe)
    stage = found.stages[0].name
    found = replace(found, stages=found.stages[:1])
    train_recipe(found, TrainSettings(pack, out, set=tuple(f"{stage}.{change}" for change in changes), resume=resume,
                                      save_every=0.0))  # fmt: skip


def stop_training(pack: Path, out: Path) -> None:
    """Write a run with a checkpoint in its middle."""
    import pytest

    from stopping import Stopped, stop_after

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Stopped):
        stop_after(3, patch)
        train(pack, out, "vse++", MATCHER)


def _index(folder: Path) -> None:
    from embeds_colours import Colours, fill, paint

    for step in range(6):
        paint(folder / "photos" / f"{step}.png", (40 * step, 9, 0))
    store, _ = fill(folder / "index", Colours(), folder / "photos")
    store.edit(str(folder / "photos" / "3.png"), "mine")


def _evaluate(world: Path, run: Path) -> None:
    from tellapart.runs.evaluate import evaluate_run

    evaluate_run(run, world / "pack", "val")


def _resume(world: Path, run: Path) -> None:
    train(world / "pack", run, "vse++", MATCHER, resume=True)


def _use_pack(world: Path, pack: Path) -> None:
    from tellapart.data.pack import Pack

    opened = Pack(pack)
    assert len(opened.phrases) >= 0 and len(opened.detections) >= 0
    train(pack, pack.parent / "run", "vse++", MATCHER)


def _use_index(world: Path, index: Path) -> None:
    from embeds_colours import Colours, fill
    from tellapart.search.query import Searcher
    from tellapart.search.store import open_store

    store = open_store(str(index))
    Searcher(store).nearest(Colours().embed_texts(["red"])[0], 3)
    store.edit(next(store.rows(["path"]))["path"], "new")
    fill(index, Colours(), world / "photos")


@dataclass(frozen=True)
class Kind:
    """A folder of the world, and what uses a damaged copy of it."""

    use: Callable[[Path, Path], None]


KINDS: dict[str, Kind] = {
    "matcher": Kind(_evaluate),
    "captioner": Kind(_evaluate),
    "stopped": Kind(_resume),
    "pack": Kind(_use_pack),
    "index": Kind(_use_index),
}
