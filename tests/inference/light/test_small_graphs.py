"""Graphs without weights that come with the package."""

from pathlib import Path

import numpy as np
import pytest

from tellapart.inference.light import sessions


def test_rounding_to_half_is_that_of_numpy() -> None:
    random = np.random.default_rng(0)
    size = (2, 81, 64)
    numbers = (random.normal(size=size) * 10.0 ** random.integers(-9, 4, size)).astype(np.float32)
    numbers[0, 0, :4] = [0.0, 65504.0, 5.96e-8, 2049.0]
    np.testing.assert_array_equal(sessions.as_half(numbers), numbers.astype(np.float16).astype(np.float32))
    assert sessions.as_half(numbers).dtype == np.float32


def test_stored_graphs_are_current(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    from tellapart.exported.check_graph import check_graph, half_graph

    for stored, graph in ((sessions.CHECK, check_graph()), (sessions.HALF, half_graph())):
        graph.save(tmp_path / stored.name)
        assert (tmp_path / stored.name).read_bytes() == stored.read_bytes()
