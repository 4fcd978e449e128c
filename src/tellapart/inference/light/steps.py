"""The exported captioner: what it reads of images once, and one word of captions at a time, in numpy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from tellapart.inference.light.sessions import Session, graph_path

State = dict[str, np.ndarray]
"""Named arrays: those that start with `cell_` have one row per image, the others one row per caption."""
SHARED = "cell_"


@dataclass(frozen=True)
class RankedWords:
    """The best next words of N captions, and the state after reading the last ones."""

    values: np.ndarray  # [N, c] log-probability plus guide, best first
    own: np.ndarray  # [N, c] log-probability
    words: np.ndarray  # [N, c]
    end: np.ndarray  # [N, 1] END's value
    end_own: np.ndarray  # [N, 1]
    state: State
    attention: np.ndarray  # [N, R]


class ExportedCaptioner:
    """Two graphs in a run folder, opened when they are first used."""

    def __init__(self, run: Path, precision: str, words: int) -> None:
        self.run, self.precision, self.words = run, precision, words
        self.no_guide = np.zeros((1, words), np.float32)

    @cached_property
    def _start(self) -> Session:
        return Session(graph_path(self.run / "start", self.precision))

    @cached_property
    def _step(self) -> Session:
        return Session(graph_path(self.run / "step", self.precision))

    def open(self) -> None:
        """Open both graphs now."""
        assert self._start and self._step

    def start(self, cells: np.ndarray) -> State:
        """The state of images [I, R, D] before the first word."""
        state = self._start(cells=np.asarray(cells, np.float32))
        images, heads, _, depth = state[f"{SHARED}keys0"].shape
        layers = sum(name.startswith(f"{SHARED}keys") for name in state)
        empty = np.zeros((images, heads, 0, depth), np.float32)
        return state | {f"{kind}{layer}": empty for kind in ("keys", "values") for layer in range(layers)}

    def step(self, words: np.ndarray, state: State, count: int, guide: np.ndarray | None = None) -> RankedWords:
        """Read a word per caption [N] and rank the next; guide [I, V] is added to the log-probabilities."""
        read = state["keys0"].shape[2]
        found = self._step(
            word=words.astype(np.int64),
            read=np.asarray([read], np.int64),
            guide=self.no_guide if guide is None else guide.astype(np.float32),
            count=np.asarray([count], np.int64),
            **state,
        )
        new = {name: found.get(f"next_{name}", value) for name, value in state.items()}
        return RankedWords(
            values=found["best"],
            own=found["best_own"],
            words=found["best_word"],
            end=found["end"],
            end_own=found["end_own"],
            state=new,
            attention=found["attention"],
        )
