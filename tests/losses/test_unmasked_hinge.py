"""R2M's triplet loss, as printed and as released."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.losses.hinge import HardestNegativeHinge
from tellapart.losses.unmasked_hinge import UnmaskedHinge


def gradient(loss: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    return torch.autograd.grad(loss, scores)[0]


def test_by_hand() -> None:
    """S = [[0.5, 0.6, 0.7], [0, 0.4, 0], [0, 0, 0.3]], m = 0.2, pairs 0.5, 0.4 and 0.3. Two by two would not do: there
    every axis gives one sum.

    Eq. 12: image 0: [0.2 + 0.7 - 0.5]+ = 0.4, images 1 and 2: 0. Caption 0: 0, caption 1: [0.2 + 0.6 - 0.4]+ = 0.4,
    caption 2: [0.2 + 0.7 - 0.3]+ = 0.6. Sum 1.4 over 3 pairs.
    Released: 0.2 + S less each row's pair is [[0.2, 0.3, 0.4], [0, 0.2, 0], [0, 0, 0.2]]; the largest of each column:
    0.2, 0.3, 0.4. 0.2 + S less each column's pair is [[0.2, 0.4, 0.6], [0, 0.2, 0], [0, 0, 0.2]]; the largest of each
    row: 0.6, 0.2, 0.2. Sum 1.9 over 3 pairs.
    """
    scores = torch.tensor([[0.5, 0.6, 0.7], [0.0, 0.4, 0.0], [0.0, 0.0, 0.3]])
    assert torch.isclose(HardestNegativeHinge(0.2)(scores, torch.arange(3)), torch.tensor(1.4 / 3))
    assert torch.isclose(UnmaskedHinge(0.2)(scores), torch.tensor(1.9 / 3))


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 6), st.integers(0, 9999))
def test_unmasked_equals_a_loop(size: int, seed: int) -> None:
    """As released: m + scores - row's pair, its maximum down each column; m + scores - column's pair, its maximum
    along each row."""
    torch.manual_seed(seed)
    scores = torch.randn(size, size, dtype=torch.double)
    total = 0.0
    for place in range(size):
        down = [max(0.2 + float(scores[i, place] - scores[i, i]), 0.0) for i in range(size)]
        along = [max(0.2 + float(scores[place, j] - scores[j, j]), 0.0) for j in range(size)]
        total += max(down) + max(along)
    loss = UnmaskedHinge(0.2)(scores)
    assert abs(float(loss) - total / size) < 1e-9
    assert loss >= 0.4 - 1e-9


def test_the_margin_moves_no_gradient_unless_the_pair_is_masked() -> None:
    torch.manual_seed(0)
    scores = torch.randn(6, 6, dtype=torch.double, requires_grad=True)
    wide, narrow = UnmaskedHinge(0.2)(scores), UnmaskedHinge(1e-4)(scores)
    assert torch.equal(gradient(wide, scores), gradient(narrow, scores))
    owner = torch.arange(6)
    close = torch.eye(6, dtype=torch.double).mul(0.1).requires_grad_()
    masked = [gradient(HardestNegativeHinge(margin)(close, owner), close) for margin in (0.2, 1e-4)]
    assert masked[0].any() and not masked[1].any()


def test_gradcheck_and_a_single_pair() -> None:
    torch.manual_seed(0)
    scores = torch.randn(4, 4, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(UnmaskedHinge(0.2), (scores,))
    assert torch.isclose(UnmaskedHinge(0.2)(torch.zeros(1, 1)), torch.tensor(0.4))
