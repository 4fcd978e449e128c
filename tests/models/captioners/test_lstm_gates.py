"""The quick tanh is tanh."""

import torch

from tellapart.models.captioners.lstm_gates import quick_tanh


@torch.no_grad()
def test_quick_tanh() -> None:
    values = torch.cat([torch.linspace(-12, 12, 2**15), torch.tensor([-1e4, 0.0, 1e4])])
    torch.testing.assert_close(quick_tanh(values), values.double().tanh().float(), atol=2.5e-7, rtol=0)
