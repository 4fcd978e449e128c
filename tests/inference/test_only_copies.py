"""An image among copies of itself has no neighbour to differ from."""

import numpy as np
import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.inference.neighbours import NeighbourFinder


def test_copies_alone_are_no_neighbours() -> None:
    known = NeighbourFinder(3, 4)
    known.add([0, 1, 2], torch.tensor([[1.0, 0, 0, 0], [1.0, 0, 0, 0], [0, 1.0, 0, 0]]))
    with pytest.raises(InputError, match="at least one other image"):
        known.around(np.array([0]), np.array([0, 1]), 5)
    assert known.around(np.array([0]), np.array([0, 1, 2]), 5).tolist() == [[2]]
