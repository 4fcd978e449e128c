"""Where the values of a training log also go: TensorBoard, Weights & Biases, MLflow. A tracker is one class here.

Nothing leaves the machine unless the environment says so: wandb writes offline files into the run folder unless
WANDB_MODE is set, MLflow a store of files there unless MLFLOW_TRACKING_URI is set.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from tellapart.core.errors import InputError

PROJECT = "tellapart"


class Tracker(Protocol):
    """Takes values by name at a step."""

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Store the values of a step; names look like STAGE/NAME."""

    def close(self) -> None:
        """Write everything that is left."""


class TensorBoard:
    """Event files in RUN/tensorboard."""

    def __init__(self, run: Path, settings: Mapping[str, Any]) -> None:
        _installed("tensorboard", "tensorboard")
        writer: Any = importlib.import_module("torch.utils.tensorboard").SummaryWriter
        self.writer = writer(run / "tensorboard")

    def log(self, values: Mapping[str, float], step: int) -> None:
        for name, value in values.items():
            self.writer.add_scalar(name, value, step)

    def close(self) -> None:
        self.writer.close()


class WeightsAndBiases:
    """A run of wandb called like the run folder; offline files in RUN/wandb, which `wandb sync` uploads."""

    def __init__(self, run: Path, settings: Mapping[str, Any]) -> None:
        wandb = _installed("wandb", "wandb")
        self.run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=run.name,
            dir=str(run),
            config=dict(settings),
            mode=os.environ.get("WANDB_MODE", "offline"),
            settings=wandb.Settings(silent=True, console="off"),
        )

    def log(self, values: Mapping[str, float], step: int) -> None:
        self.run.log(dict(values), step=step)

    def close(self) -> None:
        self.run.finish()


class MLflow:
    """A run of MLflow called like the run folder; a store of files in RUN/mlflow."""

    def __init__(self, run: Path, settings: Mapping[str, Any]) -> None:
        mlflow = _installed("mlflow", "mlflow-skinny")
        where = os.environ.get("MLFLOW_TRACKING_URI")
        if where is None:
            os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # newer versions ask for it
            where = (run / "mlflow").resolve().as_uri()
        self.client = mlflow.MlflowClient(tracking_uri=where)
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
        known = self.client.get_experiment_by_name(name)
        experiment = self.client.create_experiment(name) if known is None else known.experiment_id
        self.id = self.client.create_run(experiment, run_name=run.name).info.run_id
        for key, value in settings.items():
            self.client.log_param(self.id, key, str(value)[:500])

    def log(self, values: Mapping[str, float], step: int) -> None:
        for name, value in values.items():
            self.client.log_metric(self.id, name, value, step=step)

    def close(self) -> None:
        self.client.set_terminated(self.id)


TRACKERS: dict[str, Callable[[Path, Mapping[str, Any]], Tracker]] = {
    "tensorboard": TensorBoard,
    "wandb": WeightsAndBiases,
    "mlflow": MLflow,
}


def open_trackers(names: tuple[str, ...], run: Path, settings: Mapping[str, Any]) -> list[Tracker]:
    """The trackers of a run by name. `settings` are plain values that describe it."""
    check_trackers(names)
    return [TRACKERS[name](run, settings) for name in names]


def check_trackers(names: tuple[str, ...]) -> None:
    """Raise an InputError for a name that is not in `TRACKERS`."""
    unknown = [name for name in names if name not in TRACKERS]
    if unknown:
        raise InputError(f"`track` cannot be '{unknown[0]}'; choose from {', '.join(TRACKERS)}.")


def _installed(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(f"The tracker {module} is not installed; run `pip install {package}`.") from error
