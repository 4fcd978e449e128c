"""Judge accuracy: does a matcher pick the right image among its look-alikes, from the caption alone?

    accuracy = 1/C sum_i [ s(I_i, c_i) > max_{j in N(i)} s(I_j, c_i) ]

N(i) are the k images most like image i (k = 9: chance is 10%). A judge should be a matcher that neither wrote nor chose
the captions.
"""

from torch import Tensor

from tellapart.core.errors import InputError


def picked(own: Tensor, others: Tensor) -> Tensor:
    """[C] bool: the score with the own image [C] is strictly larger than with every look-alike [C, k].

    >>> import torch
    >>> picked(torch.tensor([0.9, 0.5]), torch.tensor([[0.1, 0.8], [0.5, 0.2]])).tolist()
    [True, False]
    """
    if others.ndim != 2 or others.shape[1] < 1 or own.shape != others.shape[:1]:
        raise InputError(
            f"Scores of the own image [C] and of at least one look-alike [C, k] are needed, not {tuple(own.shape)} "
            f"and {tuple(others.shape)}."
        )
    return (own.unsqueeze(1) > others).all(1)  # NaN picks nothing


def judge_accuracy(scores: Tensor, neighbours: Tensor) -> float:
    """Percentage of captions whose own image the judge picks.

    scores [C, I]: caption i belongs to image i. neighbours [C, k]: rows of its look-alikes.

    >>> import torch
    >>> judge_accuracy(torch.tensor([[3.0, 1.0, 9.0], [2.0, 1.0, 0.0]]), torch.tensor([[1], [0]]))
    50.0
    """
    captions = len(neighbours)
    own = scores[:captions].diagonal()
    return 100.0 * float(picked(own, scores[:captions].gather(1, neighbours)).double().mean())
