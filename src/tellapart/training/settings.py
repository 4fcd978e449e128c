"""Where and how a recipe is trained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class TrainSettings:
    """Where and how a recipe is trained. What it learns is defined by the recipe."""

    data: Path
    """The pack to learn from."""
    out: Path
    """The run folder to write."""
    features: str | None = None
    """Name of the pack's features. Default: the only ones of the kind that the recipe reads."""
    set: tuple[str, ...] = ()
    """Fields of the recipe to change: seed=7, or STAGE.FIELD=VALUE such as base.epochs=3, base.optimiser.lr=1e-4."""
    resume: bool = False
    """Resume an interrupted run of the same recipe, or train stages that a finished run does not have yet."""
    start: str = ""
    """A finished run, bundled:captioner or bundled:matcher, whose weights the first stage starts from. The pack must
    have its vocabulary (`prepare --vocabulary-from RUN`) and its features (`extract --like RUN`). Or hf:FOLDER, a model
    of transformers, or a run tuned from one: these read any pack's images and texts."""
    stages: tuple[str, ...] = ()
    """Names of the stages to train. Default: all. They must include the last stage and all stages that these need."""
    base: Path | None = None
    """A finished run whose stages are the first stages of this recipe: they are copied instead of trained again."""
    device: str = "cpu"
    """cpu, cuda, cuda:1, …"""
    resident: bool = False
    """Keep all features on the device. Fastest where they fit."""
    pixels: str = "auto"
    """Where the images of models that see pixels are kept: device (decoded once, as uint8), stream (decoded for every
    batch), or auto: the device if they fit into half of its free memory."""
    workers: int | None = None
    """Processes that decode those images; 0: threads. Default: one per core with a GPU, else 0."""
    compile: bool = False
    """Compile the backbone of models that see pixels, or a model of transformers (torch.compile): a minute at the
    start, faster steps."""
    shard: bool = False
    """Shard weights, gradients and moments across the processes of torchrun (FSDP2), for models that do not fit
    otherwise. The weights alone must fit on each device."""
    replay: bool = False
    """Record training steps as CUDA graphs and replay them. Faster for models so small that the GPU waits for Python.
    Stages that need values from the GPU in every step (rewards, adversaries), sgd, float16, `accumulate` and several
    processes train without it."""
    tensorboard: bool = False
    """Also write TensorBoard files (needs tensorboard); the same as --track tensorboard."""
    track: tuple[str, ...] = ()
    """Also log to tensorboard, wandb or mlflow. wandb and mlflow write files into the run folder, unless WANDB_MODE or
    MLFLOW_TRACKING_URI say otherwise."""
    save_every: float = 120.0
    """Seconds between checkpoints."""

    @property
    def trackers(self) -> tuple[str, ...]:
        """Names of all trackers, each once."""
        return tuple(dict.fromkeys((*(("tensorboard",) if self.tensorboard else ()), *self.track)))
