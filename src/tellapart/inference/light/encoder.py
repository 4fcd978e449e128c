"""The exported matcher: vectors of cells and of texts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from safetensors import safe_open

from tellapart.inference.light.exported_run import ExportedRun
from tellapart.inference.light.sessions import Session, graph_path
from tellapart.inference.light.token_ids import token_ids

TEXTS_AT_ONCE, IMAGES_AT_ONCE = 32, 8


class ExportedEncoder:
    """Graphs in a run folder, each opened when it is first used: searching by text opens no image side.

    Images and queries are encoded in float32. Captions that are only judged may be read in int8.
    """

    def __init__(self, run: ExportedRun, precision: str = "float32") -> None:
        self.run, self.precision = run, precision

    @cached_property
    def width(self) -> int:
        """Length of a vector."""
        return int(self.run.exported["width"])

    @cached_property
    def _image(self) -> Session:
        return Session(graph_path(self.run.folder / "image", "float32"))

    @cached_property
    def _text(self) -> Session:
        return Session(graph_path(self.run.folder / "text", "float32"))

    @cached_property
    def _captions(self) -> Session:
        """The graph that reads captions to judge them."""
        rounded = graph_path(self.run.folder / "text", "int8")
        return Session(rounded) if self.precision == "int8" and rounded.is_file() else self._text

    def open_captions(self) -> None:
        """Open the graph of captions to judge now."""
        assert self._captions

    def encode_cells(self, cells: np.ndarray) -> np.ndarray:
        """Vectors of length one [I, E] of images [I, R, D]."""
        parts = [
            self._image(cells=np.asarray(cells[first : first + IMAGES_AT_ONCE], np.float32))["vectors"]
            for first in range(0, len(cells), IMAGES_AT_ONCE)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, self.width), np.float32)

    @cached_property
    def _cell_weights(self) -> np.ndarray:
        """[E, D]: what a cell adds to the vector of its image, by the mean and by attention (`cell_vectors`)."""
        with safe_open(self.run.folder / "model.safetensors", "numpy") as stored:
            weight = stored.get_tensor("image.weight").astype(np.float32)  # [E, 2 D]
            if "image.weight@scale" in stored.keys():  # noqa: SIM118 - not a dict
                weight *= stored.get_tensor("image.weight@scale")[:, None]
        width = weight.shape[1] // 2
        return np.asarray(weight[:, :width] + weight[:, width:])

    def cell_similarity(self, cells: np.ndarray, words: Sequence[str]) -> np.ndarray:
        """Similarity [T, R] of words with each cell of one image [R, D]."""
        seen = cells.astype(np.float32) @ self._cell_weights.T  # [R, E]
        return np.asarray(self.encode_texts(words, allow_unknown=True) @ seen.T)

    def encode_texts(self, texts: Sequence[str], allow_unknown: bool = False) -> np.ndarray:
        """Vectors of length one [C, E]; InputError for a text without a known word, unless allowed."""
        return self._encoded(self._text, texts, allow_unknown) if len(texts) else np.zeros((0, self.width), np.float32)

    def encode_captions(self, captions: Sequence[str]) -> np.ndarray:
        """Vectors of captions to judge [C, E]; one without a known word is no error."""
        return self._encoded(self._captions, captions, True) if captions else np.zeros((0, self.width), np.float32)

    def _encoded(self, graph: Session, texts: Sequence[str], allow_unknown: bool) -> np.ndarray:
        vectors = np.zeros((len(texts), self.width), np.float32)
        # Texts of similar length are read together, so that little is computed on padding.
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
        for first in range(0, len(order), TEXTS_AT_ONCE):
            rows = order[first : first + TEXTS_AT_ONCE]
            tokens, mask = token_ids(
                [texts[row] for row in rows], self.run.data.get("rules", {}), self.run.vocabulary, allow_unknown
            )
            vectors[rows] = graph(tokens=tokens, mask=mask)["vectors"]
        return vectors
