"""R2M's triplet loss, as printed and as released."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.losses.hinge import HardestNegativeHinge
from tellapart.losses.unmasked_hinge import UnmaskedHinge


def gradient(loss: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    return torch.autograd.grad(loss, scores)[0]


def test_by_hand() -> None:
    """S = [[0.5, 0.4], [0.1, 0.2]], m = 0.2, pairs 0.5 and 0.2.

    Eq. 12: image 0: [0.2 - 0.5 + 0.4]+ = 0.1, its sentence: [0.2 - 0.5 + 0.1]+ = 0; image 1: [0.2 - 0.2 +
    0.1]+ = 0.1, its sentence: [0.2 - 0.2 + 0.4]+ = 0.4. Mean of 0.1 and 0.5 = 0.3. Released: rows less their
    own pair: [[0, -0.1], [-0.1, 0]] + 0.2, largest of each column: 0.2, 0.2; columns less their own pair: [[0,
    0.2], [-0.4, 0]] + 0.2, largest of each column: 0.2, 0.4. Mean of 0.4 and 0.6 = 0.5.
    """
    scores = torch.tensor([[0.5, 0.4], [0.1, 0.2]])
    assert torch.isclose(HardestNegativeHinge(0.2)(scores, torch.arange(2)), torch.tensor(0.3))
    assert torch.isclose(UnmaskedHinge(0.2)(scores), torch.tensor(0.5))


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 6), st.integers(0, 9999))
def test_unmasked_equals_a_loop(size: int, seed: int) -> None:
    torch.manual_seed(seed)
    scores = torch.randn(size, size, dtype=torch.double)
    total = 0.0
    for column in range(size):
        rows = [max(0.2 + float(scores[i, column] - scores[i, i]), 0.0) for i in range(size)]
        columns = [max(0.2 + float(scores[i, column] - scores[column, column]), 0.0) for i in range(size)]
        total += max(rows) + max(columns)
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
