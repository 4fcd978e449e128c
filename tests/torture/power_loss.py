"""Power failures at every recorded write of an index, a pack and a run, in five ways of losing what was not flushed."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torture.campaign import Campaign, Case, Skipped
from torture.children import must_succeed

EVENTS = "events.pickle"


def make(folder: Path) -> None:
    """Record what writing an index and a pack does to the disk."""
    from embeds_colours import paint
    from power_loss.recording import can_record, record
    from reliability.test_power_loss import INDEX, PACK

    if not can_record():
        return
    photos = folder / "photos"
    for number in range(8):
        paint(photos / f"{number}.png", (30 * number, 9, 0))
    programs = {
        "index": INDEX.format(root=str(folder / "index"), photos=str(photos)),
        "pack": PACK.format(root=str(folder / "pack"), elsewhere=str(folder / "tiny")),
    }
    recorded = {name: record(text, folder / name, folder / f"{name}-recorded") for name, text in programs.items()}
    (folder / EVENTS).write_bytes(pickle.dumps(recorded))


@functools.cache
def _events(folder: Path) -> dict[str, list[Any]]:
    if not (folder / EVENTS).is_file():
        raise Skipped("the recorder needs Linux and gcc")
    found: dict[str, list[Any]] = pickle.loads((folder / EVENTS).read_bytes())  # our own file
    return found


@functools.cache
def _cases(folder: Path) -> list[tuple[str, int, str]]:
    """Every event of every program, in two of the five ways each."""
    from reliability.test_power_loss import HOW

    return [
        (name, place, HOW[(place + turn) % len(HOW)])
        for name, events in _events(folder).items()
        for place in range(len(events))
        for turn in (0, 2)
    ]


def fail(case: Case) -> None:
    """Replay the writes up to one event, lose what was not flushed, and open what is left."""
    from power_loss.disk import Disk

    name, place, how = _cases(case.folder)[case.number]
    disk = Disk()
    for event in _events(case.folder)[name][: place + 1]:
        disk.apply(event)
    where = case.scratch / "disk"
    disk.after_failure(where, how, seed=case.seed + place)
    must_succeed(lambda: CHECKS[name](where, list(disk.marks), case.folder), case.scratch / "error.txt",
                 f"{name} after event {place}, {how}")  # fmt: skip


def _check_index(where: Path, marks: list[str], folder: Path) -> None:
    from reliability.test_power_loss import check_index

    check_index(where, marks, folder / "photos")


def _check_pack(where: Path, marks: list[str], folder: Path) -> None:
    from tellapart.core.errors import InputError
    from tellapart.data.pack import Pack

    try:
        pack = Pack(where / "deep" / "pack")
    except InputError as error:
        assert not marks and "not a pack" in str(error), f"{marks}: {error}"
        return
    assert len(pack.images) == 24 and len(pack.captions) == 120 == len(pack.owner) == len(pack.offsets) - 1
    assert pack.manifest["name"] in (["second"] if "second" in marks else ["first", "second"])


CHECKS: dict[str, Callable[[Path, list[str], Path], None]] = {"index": _check_index, "pack": _check_pack}

POWER_LOSS = Campaign(
    run=fail,
    count=lambda folder: len(_cases(folder)),
    sample=8,
    make=make,
    preload=("embeds_colours", "power_loss.disk", "reliability.test_power_loss", "tellapart.data.pack",
             "tellapart.search.query", "pytest"),
    chunk=50,
)  # fmt: skip
