"""The five kinds of work that are killed and run out of disk: prepare, extract, train, index and edits.

Each is small. `start` copies what it needs into a folder; `work` writes under `out` in it; `check` finds only whole
things there, runs the work again to its end, and compares the result with one that was never disturbed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from torture.campaign import check
from torture.folder_worlds import MATCHER, train

PHOTOS = 6


@dataclass(frozen=True)
class Verb:
    """`folder` has `world`, which is only read, and `out`, which is written."""

    make: Callable[[Path], None]
    """Fills the world."""
    start: Callable[[Path, Path], None]
    """(world, out): what is there before the work."""
    work: Callable[[Path, Path], None]
    check: Callable[[Path, Path], None]
    """(world, out) after the work was disturbed, in a new process. It ends with the work done."""


# prepare --overwrite: a pack is replaced by another.


def _sources(world: Path) -> None:
    from torture.data_sources import SOURCES, prepare_all

    SOURCES["csv"].make(world / "source")
    SOURCES["jsonl"].make(world / "older")
    (world / "older" / "captions.jsonl").write_text(
        '{"image": "11_a.png", "caption": "An old pack", "split": "train"}\n'
    )
    for name in ("source", "older"):
        prepare_all(world / name, world / f"{name}-out")


def _old_pack(world: Path, out: Path) -> None:
    shutil.copytree(world / "older-out" / "pack", out / "pack")


def _replace_pack(world: Path, out: Path) -> None:
    from torture.data_sources import prepare_all

    prepare_all(world / "source", out, overwrite=True)


def _check_pack(world: Path, out: Path) -> None:
    from tellapart.data.pack import Pack

    whole = {name: Pack(world / f"{name}-out" / "pack") for name in ("source", "older")}
    found = Pack(out / "pack")
    one = next((pack for pack in whole.values() if pack.fingerprint == found.fingerprint), None)
    check(one is not None, "neither the old pack nor the new one is there")
    assert one is not None
    check(found.captions == one.captions and (found.tokens == one.tokens).all(), "the pack has lost something")
    _replace_pack(world, out)
    _same_files(out / "pack", whole["source"].folder, ("report.json", "pack.json"))


# extract: features of four images, which an interrupted extraction resumes.


def _drawn(world: Path) -> None:
    from drawn_pack import drawn_pack

    drawn_pack(world / "drawn", images=4)
    (world / "reference").mkdir()
    _start_drawn(world, world / "reference")
    _extract(world, world / "reference")


def _start_drawn(world: Path, out: Path) -> None:
    shutil.copytree(world / "drawn", out, dirs_exist_ok=True)


def _extract(world: Path, out: Path) -> None:
    from tellapart.features.extract import extract_features

    extract_features(out / "pack", kind="vector,grid", batch=2, workers=1, device="cpu")


def _check_features(world: Path, out: Path) -> None:
    from tellapart.data.pack import Pack

    pack = Pack(out / "pack")
    for name in pack.feature_names():  # finished ones are right before anything is repeated
        _same_features(out, world / "reference", name)
    _extract(world, out)
    check(len(pack.feature_names()) == 2, f"features {pack.feature_names()}")
    for name in pack.feature_names():
        _same_features(out, world / "reference", name)


def _same_features(out: Path, reference: Path, name: str) -> None:
    from tellapart.data.feature_store import FeatureStore

    found, whole = (FeatureStore(where / "pack" / "features" / name) for where in (out, reference))
    check((found.offsets == whole.offsets).all(), f"{name}: other rows")
    check(np.array_equal(np.asarray(found.values), np.asarray(whole.values)), f"{name}: wrong features")
    check((found.boxes is None) == (whole.boxes is None), f"{name}: boxes")
    if found.boxes is not None:
        check(np.array_equal(np.asarray(found.boxes), np.asarray(whole.boxes)), f"{name}: wrong boxes")


# train: a model that saves its state at every step, and resumes.


def _tiny_pack(world: Path) -> None:
    from tiny_pack import make_tiny_pack

    make_tiny_pack(world / "pack")
    _train(world, world / "reference")


def _nothing(world: Path, out: Path) -> None:
    pass


def _train(world: Path, out: Path) -> None:
    train(world / "pack", out / "run", "vse++", MATCHER, resume=True)


def _check_run(world: Path, out: Path) -> None:
    from tellapart.training.log import read_log

    if (out / "run" / "model.safetensors").is_file():
        _same_run(world, out)
    _train(world, out)
    _same_run(world, out)
    logs = [read_log(where / "run" / "log.jsonl") for where in (out, world / "reference")]
    check(logs[0] == logs[1], "rows of the log are lost or doubled")


def _same_run(world: Path, out: Path) -> None:
    from safetensors.torch import load_file

    found, whole = (load_file(where / "run" / "model.safetensors") for where in (out, world / "reference"))
    check(found.keys() == whole.keys(), "other weights")
    check(all((found[name] == whole[name]).all() for name in whole), "wrong weights")


# index: some photos are known, one has changed, one is gone, three are new.


def _photos(world: Path) -> None:
    from embeds_colours import Colours, fill, paint

    photos = world / "photos"
    for step in range(PHOTOS):
        paint(photos / f"{step}.png", _colour(step))
    paint(photos / "gone.png", (9, 9, 9))
    fill(world / "index", Colours(), photos, chunk=2)
    (photos / "gone.png").unlink()
    paint(photos / "0.png", _colour(50))
    for step in range(PHOTOS, PHOTOS + 3):
        paint(photos / f"{step}.png", _colour(step))
    from tellapart.search.store import open_store

    open_store(str(world / "index")).edit(str(photos / "3.png"), "mine")


def _colour(step: int) -> tuple[int, int, int]:
    return (37 * step % 200 + 20, 91 * step % 200 + 20, 53 * step % 200 + 20)


def _copied_index(world: Path, out: Path) -> None:
    shutil.copytree(world / "index", out / "index")


def _index(world: Path, out: Path) -> None:
    from embeds_colours import Colours, fill

    fill(out / "index", Colours(), world / "photos", chunk=2)


def _check_index(world: Path, out: Path) -> None:
    from tellapart.search.store import open_store

    rows = _rows(out / "index")
    for name in ("1.png", "2.png", "3.png", "4.png", "5.png"):
        check(rows.count(name) == 1, f"{name} is {rows.count(name)} times in the index")
    _check_vectors(world, out / "index", unchanged_only=True)
    _index(world, out)
    names = sorted(path.name for path in (world / "photos").iterdir())
    check(sorted(_rows(out / "index")) == names, f"rows {sorted(_rows(out / 'index'))}")
    _check_vectors(world, out / "index")
    row = open_store(str(out / "index")).row(str(world / "photos" / "3.png"))
    check(row is not None and row["edited"] == "mine", "an edited caption is lost")


def _rows(index: Path) -> list[str]:
    from tellapart.search.store import open_store

    return [Path(row["path"]).name for row in open_store(str(index)).rows(["path"])]


def _check_vectors(world: Path, index: Path, unchanged_only: bool = False) -> None:
    """Every row has the vector of the bytes whose hash it has."""
    from PIL import Image

    from tellapart.search.file_facts import content_of
    from tellapart.search.store import open_store

    for row in open_store(str(index)).rows(["path", "content", "vector"]):
        path = Path(row["path"])
        if unchanged_only and (not path.is_file() or content_of(path) != row["content"]):
            continue  # the row of a file before it changed or went
        check(content_of(path) == row["content"], f"{path.name} has the hash of other bytes")
        with Image.open(path) as opened:
            colour = np.asarray(opened.convert("RGB"), np.float32).mean((0, 1))
        wrong = np.abs(row["vector"] - colour / np.linalg.norm(colour)).max()
        check(wrong < 2e-3, f"{path.name} has a wrong vector")


# edits: captions that people write; each is acknowledged when it is kept.


def _edit(world: Path, out: Path) -> None:
    from tellapart.search.store import open_store

    store = open_store(str(out / "index"))
    with (out.parent / "acknowledged").open("a", buffering=1) as answers:
        for step in range(PHOTOS):
            store.edit(str(world / "photos" / f"{step}.png"), f"caption {step}")
            answers.write(f"{step}\n")


def _check_edits(world: Path, out: Path) -> None:
    from tellapart.search.store import open_store

    answers = out.parent / "acknowledged"
    known = set(answers.read_text().split()) if answers.is_file() else set()
    store = open_store(str(out / "index"))
    rows = _rows(out / "index")
    check(len(rows) == len(set(rows)) == PHOTOS + 1, f"{len(rows)} rows of {len(set(rows))} photos")
    for step in range(PHOTOS):
        row = store.row(str(world / "photos" / f"{step}.png"))
        before = "mine" if step == 3 else None
        check(row is not None and row["edited"] in (before, f"caption {step}"), f"photo {step} has {row}")
        check(
            row is not None and (str(step) not in known or row["edited"] == f"caption {step}"), f"edit {step} is lost"
        )
    _check_vectors(world, out / "index", unchanged_only=True)
    _edit(world, out)
    store = open_store(str(out / "index"))
    for step in range(PHOTOS):
        row = store.row(str(world / "photos" / f"{step}.png"))
        check(row is not None and row["edited"] == f"caption {step}", f"edit {step} is lost after a restart")


def check_index_and_edits(world: Path, out: Path) -> None:
    """An index that was updated while people wrote captions has both."""
    from tellapart.search.store import open_store

    _check_vectors(world, out / "index", unchanged_only=True)
    _index(world, out)
    names = sorted(path.name for path in (world / "photos").iterdir())
    check(sorted(_rows(out / "index")) == names, f"rows {sorted(_rows(out / 'index'))}")
    _check_vectors(world, out / "index")
    store = open_store(str(out / "index"))
    for step in range(PHOTOS):
        row = store.row(str(world / "photos" / f"{step}.png"))
        check(row is not None and row["edited"] == f"caption {step}", f"edit {step} is lost beside an update")


def _same_files(found: Path, whole: Path, except_for: tuple[str, ...]) -> None:
    for path in whole.rglob("*"):
        if path.is_file() and path.name not in except_for:
            other = found / path.relative_to(whole)
            check(other.is_file() and other.read_bytes() == path.read_bytes(), f"{path.name} differs")


VERBS: dict[str, Verb] = {
    "prepare": Verb(_sources, _old_pack, _replace_pack, _check_pack),
    "extract": Verb(_drawn, _start_drawn, _extract, _check_features),
    "train": Verb(_tiny_pack, _nothing, _train, _check_run),
    "index": Verb(_photos, _copied_index, _index, _check_index),
    "edits": Verb(_photos, _copied_index, _edit, _check_edits),
}
MODULES = (
    "torture.data_sources", "drawn_pack", "tiny_pack", "embeds_colours", "tellapart.data.prepare",
    "tellapart.features.extract", "tellapart.features.efficientnet", "tellapart.training.train",
    "tellapart.papers.recipes", "tellapart.search.query", "tellapart.search.store", "safetensors.torch",
    "torch._dynamo", "torch._inductor",
)  # fmt: skip
"""To import before processes are forked."""
