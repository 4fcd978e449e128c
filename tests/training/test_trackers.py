"""Trackers get what the log gets; real ones where they are installed, stand-ins for their modules elsewhere."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from tellapart.core.errors import InputError
from tellapart.papers.recipes import find_recipe
from tellapart.training.log import Log
from tellapart.training.settings import TrainSettings
from tellapart.training.trackers import TRACKERS, open_trackers
from tellapart.training.train import train_recipe


class Recorder:
    """Stands for wandb, its run, and MLflow's client: remembers what it was given."""

    def __init__(self) -> None:
        self.logged: list[tuple[int, dict[str, float]]] = []
        self.facts: dict[str, Any] = {}
        self.open = True

    def init(self, **given: Any) -> Recorder:
        self.facts = given
        return self

    def Settings(self, **given: Any) -> dict[str, Any]:
        return given

    def log(self, values: dict[str, float], step: int) -> None:
        self.logged.append((step, values))

    def finish(self) -> None:
        self.open = False

    def MlflowClient(self, tracking_uri: str) -> Recorder:
        self.facts["uri"] = tracking_uri
        return self

    def get_experiment_by_name(self, name: str) -> None:
        self.facts["experiment"] = name

    def create_experiment(self, name: str) -> str:
        return "1"

    def create_run(self, experiment: str, run_name: str) -> Any:
        return types.SimpleNamespace(info=types.SimpleNamespace(run_id=f"{experiment}/{run_name}"))

    def log_param(self, run: str, key: str, value: str) -> None:
        self.facts[key] = value

    def log_metric(self, run: str, name: str, value: float, step: int) -> None:
        assert run == "1/run"
        self.logged.append((step, {name: value}))

    def set_terminated(self, run: str) -> None:
        self.open = False


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WANDB_MODE", "WANDB_PROJECT", "MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")


def written(folder: Path, name: str) -> None:
    """Two rows of a log, as training writes them."""
    folder.mkdir()
    log = Log(folder / "log.jsonl", trackers=open_trackers((name,), folder, {"recipe": "vse++", "seed": 3}))
    log.write(stage="base", epoch=0, total=1, loss=2.0)
    log.write(stage="base", epoch=0, total=2, loss=1.5, rsum=40.0)
    log.close()


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_a_stand_in_gets_every_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    recorder = Recorder()
    monkeypatch.setitem(sys.modules, name, recorder)  # type: ignore[arg-type]
    written(tmp_path / "run", name)
    values = [(step, key, value) for step, row in recorder.logged for key, value in row.items()]
    assert values == [(1, "base/loss", 2.0), (2, "base/loss", 1.5), (2, "base/rsum", 40.0)]
    assert not recorder.open
    if name == "wandb":  # nothing is sent unless the environment asks for it
        assert recorder.facts["mode"] == "offline" and recorder.facts["config"]["seed"] == 3
    else:
        assert recorder.facts["uri"] == (tmp_path / "run" / "mlflow").as_uri() and recorder.facts["recipe"] == "vse++"


def test_wandb_writes_offline_files(tmp_path: Path) -> None:
    pytest.importorskip("wandb", reason="needs wandb")
    written(tmp_path / "run", "wandb")
    assert list((tmp_path / "run" / "wandb").glob("offline-run-*/run-*.wandb"))


def test_mlflow_writes_a_store_of_files(tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow", reason="needs MLflow")
    written(tmp_path / "run", "mlflow")
    client = mlflow.MlflowClient(tracking_uri=(tmp_path / "run" / "mlflow").as_uri())
    (run,) = client.search_runs([client.get_experiment_by_name("tellapart").experiment_id])
    assert run.data.params == {"recipe": "vse++", "seed": "3"} and run.info.status == "FINISHED"
    assert [metric.value for metric in client.get_metric_history(run.info.run_id, "base/loss")] == [2.0, 1.5]


def test_training_tracks_its_log(tiny_pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    monkeypatch.setitem(sys.modules, "wandb", recorder)  # type: ignore[arg-type]
    changes = ("base.epochs=1", "base.sampling.steps=2", "base.sampling.batch=4")
    train_recipe(find_recipe("vse++"), TrainSettings(tiny_pack, tmp_path / "run", set=changes, track=("wandb",)))
    rows = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert [step for step, _ in recorder.logged] == [row["total"] for row in rows]
    assert recorder.facts["config"]["base.epochs"] == "1" and not recorder.open


def test_tensorboard_is_a_tracker_of_two_names() -> None:
    settings = TrainSettings(Path("a"), Path("b"), tensorboard=True, track=("mlflow", "tensorboard"))
    assert settings.trackers == ("tensorboard", "mlflow") and set(settings.trackers) < set(TRACKERS)


def test_unknown_and_missing_trackers(tiny_pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"'wanda'; choose from tensorboard, wandb, mlflow"):
        train_recipe(find_recipe("vse++"), TrainSettings(tiny_pack, tmp_path / "run", track=("wanda",)))
    assert not (tmp_path / "run").exists()
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(InputError, match="pip install mlflow-skinny"):
        train_recipe(find_recipe("vse++"), TrainSettings(tiny_pack, tmp_path / "run", track=("mlflow",)))
