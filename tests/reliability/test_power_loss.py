"""After a power failure at any moment: what was reported as saved is there, and everything can be opened."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from embeds_colours import Colours, fill, paint
from power_loss.disk import Disk
from power_loss.recording import Event, can_record, record

pytestmark = pytest.mark.skipif(not can_record(), reason="the recorder needs Linux and gcc")
HOW = ("dropped", "empty", "zeros", "half", "any")


def failures(events: list[Event], scratch: Path, every: int = 1) -> Iterator[tuple[Path, list[str]]]:
    """Disks after a failure at every `every`-th event, one way after another, and in every way after the last one;
    with what was acknowledged before."""
    disk = Disk()
    for number, event in enumerate(events):
        disk.apply(event)
        ways = [HOW[(number // every) % len(HOW)]] if number % every == 0 else []
        for how in HOW if number == len(events) - 1 else ways:
            where = scratch / f"{number}-{how}"
            disk.after_failure(where, how, seed=number)
            yield where, list(disk.marks)
            shutil.rmtree(where)


INDEX = """
from pathlib import Path
from embeds_colours import Colours, fill
root, photos = Path({root!r}), Path({photos!r})
mark = lambda name: (root / ".marks" / name).touch()
store, _ = fill(root / "deep" / "index", Colours(), photos, chunk=4)
mark("indexed")
for number in range(3):
    store.edit(str(photos / "1.png"), f"edit {{number}}")
    mark(f"edit {{number}}")
store.compact()
mark("compacted")
store.edit(str(photos / "2.png"), "last")
mark("last")
"""


def check_index(where: Path, marks: list[str], photos: Path) -> None:
    """The acknowledged state or a later one; and the next update brings everything."""
    from tellapart.core.errors import InputError
    from tellapart.search.store import open_store

    index = where / "deep" / "index"
    try:
        store = open_store(str(index))
        rows = {Path(row["path"]).name: row["edited"] for row in store.rows(["path", "edited"])}
    except InputError as error:
        assert not marks and "No index at" in str(error), f"{where} with {marks}: {error}"
        rows = {}
    if marks:
        assert len(rows) == 8, where
    edits = [int(mark.split()[1]) for mark in marks if mark.startswith("edit")]
    if edits:
        assert int((rows["1.png"] or "edit -1").split()[1]) >= max(edits), where
    if "last" in marks:
        assert rows["2.png"] == "last", where
    store, _ = fill(index, Colours(), photos)
    assert len(store) == 8
    store.edit(str(photos / "3.png"), "after")


def test_an_index_is_whole(tmp_path: Path) -> None:
    photos, root = tmp_path / "photos", tmp_path / "disk"
    for number in range(8):
        paint(photos / f"{number}.png", (30 * number, 9, 0))
    events = record(INDEX.format(root=str(root), photos=str(photos)), root, tmp_path / "scratch")
    assert sum(event.kind == "sync" for event in events) > 20
    for where, marks in failures(events, tmp_path / "failures", every=4):
        check_index(where, marks, photos)


PACK = """
from pathlib import Path
from tiny_pack import make_tiny_pack
from tellapart.data.pack import Pack
from tellapart.data.write_pack import write_pack
root = Path({root!r})
mark = lambda name: (root / ".marks" / name).touch()
write = lambda folder, name: write_pack(folder, name, "", tiny.images, tiny.captions, tiny.vocabulary, dict(name=name))
tiny = make_tiny_pack(Path({elsewhere!r}))
write(root / "deep" / "pack", "first")
mark("first")
Pack(root / "deep" / "pack").save_column("ones", tiny.owner * 0 + 1, "caption")
mark("column")
write(root / "deep" / "pack", "second")
mark("second")
"""


def test_a_pack_is_whole(tmp_path: Path) -> None:
    from tellapart.core.errors import InputError
    from tellapart.data.pack import Pack

    root = tmp_path / "disk"
    events = record(PACK.format(root=str(root), elsewhere=str(tmp_path / "tiny")), root, tmp_path / "scratch")
    for where, marks in failures(events, tmp_path / "failures"):
        try:
            pack = Pack(where / "deep" / "pack")
        except InputError as error:
            assert not marks and "not a pack" in str(error)
            continue
        assert len(pack.images) == 24 and len(pack.captions) == 120 == len(pack.owner) == len(pack.offsets) - 1
        assert pack.manifest["name"] in (["second"] if "second" in marks else ["first", "second"])
        if marks == ["first", "column"] and pack.manifest["name"] == "first":
            assert pack.column("ones").values.sum() == 120


TRAINING = """
from pathlib import Path
import torch
from tellapart.runs.run import save_weights
from tellapart.training.checkpoints import Position, save_checkpoint
from tellapart.training.log import Log
root = Path({root!r})
mark = lambda name: (root / ".marks" / name).touch()
model = torch.nn.Linear(3, 2)
optimiser = torch.optim.Adam(model.parameters())
log = Log(root / "deep" / "run" / "log.jsonl")
for total in (10, 20, 30):
    model(torch.ones(1, 3)).sum().backward()
    optimiser.step()
    log.write(stage="base", total=total)
    log.sync()
    save_checkpoint(root / "deep" / "run" / "checkpoints", Position(total=total), model, optimiser)
    mark(str(total))
save_weights(model, root / "deep" / "run" / "stages" / "base.safetensors")
save_weights(model, root / "deep" / "run" / "model.safetensors")
log.close()
mark("trained")
"""


def test_a_run_and_its_checkpoints_are_whole(tmp_path: Path) -> None:
    import torch

    from tellapart.runs.run import load_weights
    from tellapart.training.checkpoints import newest_checkpoint, read_position, restore_checkpoint
    from tellapart.training.log import read_log

    root = tmp_path / "disk"
    events = record(TRAINING.format(root=str(root)), root, tmp_path / "scratch")
    for where, marks in failures(events, tmp_path / "failures"):
        run = where / "deep" / "run"
        model = torch.nn.Linear(3, 2)
        saved = max([int(mark) for mark in marks if mark.isdecimal()], default=0)
        checkpoint = newest_checkpoint(run / "checkpoints")
        if saved:
            assert checkpoint is not None and read_position(checkpoint).total >= saved
            assert [row["total"] for row in read_log(run / "log.jsonl")][: saved // 10] == list(
                range(10, saved + 1, 10)
            )
        if checkpoint is not None:
            restore_checkpoint(checkpoint, model, torch.optim.Adam(model.parameters()))
        for weights in run.rglob("*.safetensors"):
            if not any(part.startswith(".") or part == "checkpoints" for part in weights.relative_to(where).parts):
                load_weights(model, weights)
        assert "trained" not in marks or (run / "model.safetensors").is_file()


FEATURES = """
from pathlib import Path
import numpy as np
from tellapart.features.store_writer import Rows, StorePlan, StoreWriter
root = Path({root!r})
plan = StorePlan(dict(kind="regions", width=4), np.asarray([2, 1, 3]), unit=1, boxes=True)
for last in (0, 1, 3):
    writer = StoreWriter(root / "deep" / "features", plan)
    for unit in range(last):
        if unit not in writer.finished:
            rows = int(plan.counts[unit])
            writer.write(unit, Rows(np.full((rows, 4), unit + 1), np.full((rows, 4), unit + 1)))
    writer.finish() if last == 3 else writer.close()
(root / ".marks" / "finished").touch()
"""


def test_features_are_whole_or_extracted_again(tmp_path: Path) -> None:
    import numpy as np

    from tellapart.data.feature_store import FeatureStore
    from tellapart.features.store_writer import Rows, StorePlan, StoreWriter

    root = tmp_path / "disk"
    plan = StorePlan({"kind": "regions", "width": 4}, np.asarray([2, 1, 3]), unit=1, boxes=True)
    expected = np.repeat([1, 1, 2, 3, 3, 3], 4).reshape(6, 4)
    for where, marks in failures(record(FEATURES.format(root=str(root)), root, tmp_path / "s"), tmp_path / "failures"):
        folder = where / "deep" / "features"
        if "finished" in marks:
            assert (FeatureStore(folder).values == expected).all()
        writer = StoreWriter(folder, plan)
        for unit in set(range(3)) - writer.finished:
            rows = int(plan.counts[unit])
            writer.write(unit, Rows(np.full((rows, 4), unit + 1), np.full((rows, 4), unit + 1)))
        store = writer.finish()
        assert (store.values == expected).all() and store.boxes is not None and (store.boxes == expected).all()
