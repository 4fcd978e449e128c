"""`check` finds a flipped bit in every file of packs, features, runs and indexes, and repairs what it can."""

import contextlib
import json
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from embeds_colours import Colours, fill, paint
from index_rows import all_rows
from small_recipes import small_recipe
from tellapart.cli.check import CheckOptions, check
from tellapart.core.checksums import CHECKSUMS
from tellapart.core.errors import Error, InputError
from tellapart.data.pack import Pack
from tellapart.data.write_pack import write_pack
from tellapart.features.store_writer import Rows, StorePlan, StoreWriter
from tellapart.search.check_path import check_path
from tellapart.search.filters import Filters
from tellapart.search.store import open_store
from tellapart.search.table import FACTS
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe
from tiny_pack import make_tiny_pack


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack with features and a column, a run, and an index with edits. Tests copy them."""
    folder = tmp_path_factory.mktemp("check")
    tiny = make_tiny_pack(folder / "tiny")
    pack = write_pack(folder / "pack", "p", "", tiny.images, tiny.captions, tiny.vocabulary, {})
    pack.save_column("ones", pack.owner * 0 + 1, "caption")
    writer = StoreWriter(pack.feature_folder("vector"), StorePlan({"kind": "vector", "width": 4}, np.ones(24, int), 8))
    for unit in range(3):
        writer.write(unit, Rows(np.random.default_rng(unit).normal(size=(8, 4))))
    writer.finish()
    recipe = small_recipe("vse++")
    epochs = tuple(f"{stage.name}.epochs=1" for stage in recipe.stages)
    train_recipe(recipe, TrainSettings(folder / "tiny", folder / "run", features="vector", set=epochs))
    for number in range(6):
        paint(folder / "photos" / f"{number}.png", (40 * number, 9, 0))
    store, _ = fill(folder / "index", Colours(), folder / "photos")
    for number in range(3):
        store.edit(str(folder / "photos" / f"{number}.png"), f"edit {number}")
    return folder


def flipped(folder: Path, scratch: Path, times: int = 3) -> Iterator[tuple[Path, Path]]:
    """Copies of a folder with one flipped bit, at seeded places of every file; and the name of the file."""
    for name in sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file()):
        data = (folder / name).read_bytes()
        for time in range(times if data else 0):
            copy = scratch / "copy"
            shutil.copytree(folder, copy)
            place = random.Random(f"{name.name} {time}").randrange(8 * len(data))
            changed = bytearray(data)
            changed[place // 8] ^= 1 << place % 8
            (copy / name).write_bytes(changed)
            yield copy, name
            shutil.rmtree(copy)


def is_found(path: Path) -> bool:
    try:
        return check_path(str(path)).damaged
    except Error as error:
        assert str(path) in str(error)
        return True


@pytest.mark.parametrize("kind", ["pack", "pack/features/vector", "run"])
def test_every_flipped_bit_of_a_pack_or_run_is_found(world: Path, tmp_path: Path, kind: str) -> None:
    assert not check_path(str(world / kind)).problems
    missed = {str(name) for copy, name in flipped(world / kind, tmp_path) if not is_found(copy)}
    # A space may change between the numbers of a list; the list itself is compared with all files.
    assert all(Path(name).name == CHECKSUMS for name in missed), missed


def test_every_flipped_bit_of_an_index_is_found_or_harmless(world: Path, tmp_path: Path) -> None:
    """Counters in the header of the database may change, and what was deleted before; nothing else."""
    before, found = all_rows(open_store(str(world / "index"))), 0
    assert not check_path(str(world / "index")).problems
    whole = (world / "index" / "photos.sqlite").read_bytes()
    used = [place for place, byte in enumerate(whole) if byte]
    for number in range(120):
        draw = random.Random(number)
        damaged = bytearray(whole)
        damaged[draw.choice(used)] ^= 1 << draw.randrange(8)
        copy, name = tmp_path / str(number), number
        copy.mkdir()
        (copy / "photos.sqlite").write_bytes(damaged)
        if is_found(copy):
            found += 1
        else:
            assert all_rows(open_store(str(copy))) == before, name
            assert [edit.caption for row in before for edit in open_store(str(copy)).history(row["content"], [])] == [
                "edit 0", "edit 1", "edit 2"
            ], name  # fmt: skip
    assert found >= 60


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE photos SET caption = 'grey' WHERE path LIKE '%1.png'",
        "UPDATE photos SET edited = NULL WHERE path LIKE '%1.png'",
        "UPDATE photos SET modified = modified + 1 WHERE path LIKE '%4.png'",
        "UPDATE vectors SET vector = (SELECT vector FROM vectors WHERE id = 2) WHERE id = 3",
        "DELETE FROM vectors WHERE id = 3",
        "UPDATE edits SET caption = 'other' WHERE id = 2",
        "UPDATE state SET about = replace(about, 'colours', 'colors')",
    ],
)
def test_every_changed_value_of_an_index_is_found(world: Path, tmp_path: Path, change: str) -> None:
    index = Path(shutil.copytree(world / "index", tmp_path / "index"))
    with contextlib.closing(sqlite3.connect(index / "photos.sqlite")) as database, database:
        database.execute(change)
    assert is_found(index)


def test_full_text_is_repaired(world: Path, tmp_path: Path) -> None:
    index = Path(shutil.copytree(world / "index", tmp_path / "index"))
    with contextlib.closing(sqlite3.connect(index / "photos.sqlite")) as database, database:
        database.execute("INSERT INTO words(words, rowid, edited) VALUES ('delete', 1, 'edit 0')")
    assert check_path(str(index)).damaged
    assert not check_path(str(index), repair=True).damaged and not check_path(str(index)).problems
    found = open_store(str(index)).with_words(["edit"], ["path"], 9, Filters())
    assert len(found) == 3


def test_damage_is_printed_and_ends_in_an_error(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(CheckOptions((str(world / "pack"), str(world / "index"))))
    assert capsys.readouterr().out.count("whole") == 2
    pack = Path(shutil.copytree(world / "pack", tmp_path / "pack"))
    (pack / "tokens.npy").write_text("")
    with pytest.raises(InputError, match="Damaged: "):
        check(CheckOptions((str(pack),), json=True))
    assert json.loads(capsys.readouterr().out)[0]["damaged"]
    with pytest.raises(InputError, match="is damaged: it has 0 bytes"):
        Pack(pack)  # opening compares sizes
    with pytest.raises(InputError, match="not a pack"):
        check(CheckOptions((str(tmp_path),)))


def edited(change: Callable[[Path], object], folder: Path, scratch: Path) -> Path:
    copy = Path(shutil.copytree(folder, scratch / folder.name))
    change(copy)
    return copy


@pytest.mark.parametrize("name", ["tokens.npy", "offsets.npy", "owner.npy"])
def test_word_ids_are_repaired(world: Path, tmp_path: Path, name: str) -> None:
    pack = edited(lambda copy: (copy / name).write_bytes(b"broken"), world / "pack", tmp_path)
    found = check_path(str(pack), repair=True)
    assert not found.damaged and [one.repaired for one in found.problems] == [True]
    assert (pack / name).read_bytes() == (world / "pack" / name).read_bytes() and not check_path(str(pack)).problems


def test_weights_are_repaired_from_their_copy(world: Path, tmp_path: Path) -> None:
    run = edited(lambda copy: (copy / "model.safetensors").write_bytes(b"broken"), world / "run", tmp_path)
    assert check_path(str(run)).damaged
    assert not check_path(str(run), repair=True).damaged and not check_path(str(run)).problems
    assert (run / "model.safetensors").read_bytes() == (world / "run" / "model.safetensors").read_bytes()


@pytest.mark.parametrize("kind", ["pack", "run"])
def test_what_an_earlier_version_wrote_is_said_and_gets_checksums(world: Path, tmp_path: Path, kind: str) -> None:
    name = CHECKSUMS
    folder = edited(lambda copy: (copy / name).unlink(), world / kind, tmp_path)
    found = check_path(str(folder))
    assert not found.problems and "no checksums" in found.notes[0]
    check_path(str(folder), repair=True)
    assert (folder / name).is_file() and check_path(str(folder)).files


def test_rows_are_compared_with_photos(world: Path, tmp_path: Path) -> None:
    index = edited(lambda copy: None, world / "index", tmp_path)
    assert not check_path(str(index)).notes
    store = open_store(str(index))
    paths = sorted(row["path"] for row in store.rows(["path"]))
    store.put_columns([{"path": paths[1], "size": 1}])
    store.put_columns([{"path": paths[2], "vector": [0.0, 0.0, 0.0]}])
    store.write([{**next(store.having("path", paths[:1], [*FACTS, "vector"])), "path": "/gone.png"}], [], {})
    found = check_path(str(index))
    assert "1 rows have a vector or hash that cannot be" in found.problems[0].what
    assert any("1 photos are gone and 1 have changed" in note for note in found.notes)
