"""Inputs that the campaigns of `tests/torture` found to raise something else than a sentence."""

from pathlib import Path

import numpy as np
import pytest

from embeds_colours import Colours, fill, paint
from index_rows import set_columns
from tellapart.core.errors import InputError
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.data.prepare import prepare_pack
from tellapart.metrics.captions.neighbours import read_neighbours
from tellapart.search.known import read_known
from tellapart.text.sentence_targets import load_targets
from tellapart.training.checkpoints import newest_checkpoint
from tellapart.training.log import read_log
from tiny_pack import make_tiny_pack
from torture.folder_worlds import MATCHER, stop_training, train


def with_open_header(path: Path) -> Path:
    """An .npy whose header ends too early, for which numpy raises a TokenError."""
    np.save(path, np.zeros((2, 3), np.float32))
    path.write_bytes(path.read_bytes().replace(b")", b"("))
    return path


def test_arrays_with_a_damaged_header(tmp_path: Path) -> None:
    path = with_open_header(tmp_path / "a.npy")
    with pytest.raises(InputError, match=r"a\.npy cannot be read as an array"):
        read_neighbours(path, [7, 8])
    with pytest.raises(InputError, match=r"a\.npy is not an \.npy array"):
        load_targets(path, 2)


def test_targets_that_are_no_numbers(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.full((2, 3), "x"))
    with pytest.raises(InputError, match="instead of numbers"):
        load_targets(tmp_path / "a.npy", 2)


def test_a_table_with_long_column_names(tmp_path: Path) -> None:
    (tmp_path / "captions.csv").write_text("image," + "9" * 5000 + "\na.png,a dog\n")
    with pytest.raises(InputError, match="no column of captions") as caught:
        prepare_pack(tmp_path, tmp_path / "pack")
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("tokens.npy", lambda values: values + 1000),
        ("tokens.npy", lambda values: values[:-1]),
        ("offsets.npy", lambda values: values[::-1]),
        ("offsets.npy", lambda values: values.astype(np.float32)),
        ("owner.npy", lambda values: values + 10),
        ("owner.npy", lambda values: values[:, None]),
        ("columns/nouns.npy", lambda values: values[1:]),
        ("features/grid/offsets.npy", lambda values: values - 1),
        ("features/grid/boxes.npy", lambda values: values[1:]),
    ],
)
def test_arrays_of_a_pack_that_do_not_fit(tmp_path: Path, name: str, change) -> None:
    pack = make_tiny_pack(tmp_path / "pack")
    np.save(pack.folder / name, change(np.load(pack.folder / name)))
    with pytest.raises(InputError, match=f"{Path(name).name}.* (again|is damaged)"):
        opened, store = Pack(pack.folder), FeatureStore(pack.feature_folder("grid"))
        opened.tokens, opened.owner, opened.column("nouns"), store.values, store.boxes


@pytest.mark.parametrize("facts", ["{}", '{"kind": "grid", "width": "x"}', '{"kind": 3, "width": 4}', "[]"])
def test_facts_of_features(tmp_path: Path, facts: str) -> None:
    folder = make_tiny_pack(tmp_path / "pack").feature_folder("grid")
    (folder / "features.json").write_text(facts)
    with pytest.raises(InputError, match="does not describe features"):
        FeatureStore(folder)


def test_a_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    make_tiny_pack(tmp_path / "pack")
    stop_training(tmp_path / "pack", tmp_path / "run")
    found = newest_checkpoint(tmp_path / "run" / "checkpoints")
    assert found is not None
    for name, text in (("state.json", '{"position": {"stage": 7}}'), ("state.json", "{}"), ("state.safetensors", "x")):
        whole = (found / name).read_bytes()
        (found / name).write_text(text)
        with pytest.raises(InputError, match=r"remove .*checkpoints"):
            train(tmp_path / "pack", tmp_path / "run", "vse++", MATCHER, resume=True)
        (found / name).write_bytes(whole)
    train(tmp_path / "pack", tmp_path / "run", "vse++", MATCHER, resume=True)


def test_damaged_lines_of_a_log_are_skipped(tmp_path: Path) -> None:
    row = b'{"stage": "base", "total": 1}\n'
    (tmp_path / "log.jsonl").write_bytes(row + b'{"stage": "\x95"}\n[1]\n7\n{"total": "x", "stage": 1}\n' + row)
    assert read_log(tmp_path / "log.jsonl") == [{"stage": "base", "total": 1}] * 2


def test_a_damaged_hash_in_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paint(tmp_path / "photos" / "a.png", (9, 0, 0))
    store, _ = fill(tmp_path / "index", Colours(), tmp_path / "photos")
    set_columns(store, "1", content="31b40bb9\0\0")
    with pytest.raises(InputError, match=r"The index .* cannot be used"):
        read_known(store)


def test_a_run_that_does_not_name_its_features(tmp_path: Path) -> None:
    from tellapart.runs.evaluate import evaluate_run

    pack = make_tiny_pack(tmp_path / "pack")
    train(pack.folder, tmp_path / "run", "vse++", MATCHER)
    path = tmp_path / "run" / "data.json"
    path.write_text(path.read_text().replace('"name"', '"nome"'))
    with pytest.raises(InputError, match=r"copy the run again|cannot be used|does not describe"):
        evaluate_run(tmp_path / "run", pack.folder, "val")
