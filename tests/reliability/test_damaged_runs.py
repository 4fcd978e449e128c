"""Run folders with one damaged file: opened, or rejected in a sentence; never a traceback."""

import shutil
from pathlib import Path

import pytest

from mutations import damage
from tellapart.core.errors import Error, InputError
from tellapart.inference.matching import load_matcher
from tellapart.runs.bundled import MODELS
from tellapart.runs.run import open_run

FILES = ("recipe.json", "data.json", "vocabulary.json")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(MODELS / "matcher", tmp_path_factory.mktemp("run") / "matcher"))


@pytest.mark.parametrize("keep", [0, 7, 8, 1000, 0.5, -1])
def test_truncated_weights_are_named(run: Path, keep: float) -> None:
    path = run / "model.safetensors"
    whole = path.read_bytes()
    size = int(keep * len(whole)) if 0 < keep < 1 else int(keep)
    try:
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match=r"model\.safetensors cannot be used .*; copy the run again"):
            open_run(run)
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize("name", FILES)
def test_damaged_descriptions_are_opened_or_rejected(run: Path, name: str) -> None:
    whole = (run / name).read_bytes()
    rejected = 0
    try:
        for seed in range(12):
            damage(run / name, whole, seed)
            try:
                load_matcher(run)
            except Error as error:
                rejected += 1
                assert str(error)[-1] in ".`", error
    finally:
        (run / name).write_bytes(whole)
    assert rejected


@pytest.mark.parametrize("text", ["null", "[]", "{}", '{"stages": [1]}', '{"stages": []}', '{"features": 3}'])
@pytest.mark.parametrize("name", FILES)
def test_files_that_hold_something_else_are_named(run: Path, name: str, text: str) -> None:
    whole = (run / name).read_bytes()
    try:
        (run / name).write_text(text)
        with pytest.raises(InputError):
            load_matcher(run)
    finally:
        (run / name).write_bytes(whole)
