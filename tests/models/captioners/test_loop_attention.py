"""Attention inside a loop over time is the softmax of additive attention, by a kernel or not."""

import pytest
import torch
from torch import Tensor

from tellapart.core.types import Images
from tellapart.models.captioners import loop_attention
from tellapart.models.captioners.additive_attention import AdditiveAttention
from tellapart.models.captioners.loop_attention import LoopAttention
from tellapart.models.captioners.up_down import UpDown
from tellapart.models.inputs import ModelInputs
from tellapart.text.vocabulary import Vocabulary


@pytest.mark.parametrize(("images", "captions", "rows"), [(3, 3, 3), (3, 3, 2), (2, 6, 6)])
def test_softmax_of_the_scores(images: int, captions: int, rows: int) -> None:
    """For all captions, for the first ones, and for several captions per image."""
    torch.manual_seed(0)
    attend = AdditiveAttention(8)
    keys, mask = torch.randn(images, 5, 8), torch.rand(images, 5) > 0.2
    mask[:, 0] = True
    query = torch.randn(rows, 8)
    found = LoopAttention(attend, keys, mask, (4, captions))(0, query)
    few = min(images, rows)
    torch.testing.assert_close(found, attend(keys[:few], query, mask[:few]).softmax(-1))


def test_a_kernel_runs_for_learning_in_float32_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    attend, keys = AdditiveAttention(8, dropout=0.5), torch.randn(2, 5, 8, requires_grad=True)
    assert not loop_attention.by_kernel(attend.eval(), keys)  # a CPU
    monkeypatch.setattr(loop_attention, "compiles", lambda device: True)
    assert loop_attention.by_kernel(attend, keys)
    assert not loop_attention.by_kernel(attend, keys.detach())
    assert not loop_attention.by_kernel(attend, keys.double())
    assert not loop_attention.by_kernel(attend, keys.expand(2, 5, 8)[:0])
    assert not loop_attention.by_kernel(attend, keys[:, :1].expand(2, loop_attention.LARGEST + 1, 8))
    with torch.no_grad():
        assert not loop_attention.by_kernel(attend, keys)
    with torch.autocast("cpu"):
        assert not loop_attention.by_kernel(attend, keys)
    assert not loop_attention.by_kernel(attend.train(), keys)  # dropout


def test_the_kernel_rejects_fewer_queries_than_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_attention, "by_kernel", lambda attend, keys: True)
    loop = LoopAttention(AdditiveAttention(8), torch.randn(3, 5, 8), torch.ones(3, 5, dtype=torch.bool), (4, 3))
    with pytest.raises(ValueError, match="3 rows on a GPU, not 2"):
        loop(0, torch.randn(2, 8))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize(("cells", "width"), [(49, 512), (36, 96), (1, 70)])
def test_kernel_against_torch(cells: int, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton")
    torch.manual_seed(0)
    words = Vocabulary.from_words([f"w{index}" for index in range(30)])
    model = UpDown(hidden=width, attention=width, dropout=0.0).build(ModelInputs(words, 16)).cuda()
    mask = torch.rand(7, cells) > 0.3
    mask[:, 0] = True
    images = Images(torch.randn(7, cells, 16), mask).to("cuda")
    tokens = torch.randint(4, 20, (7, 9), device="cuda")

    def step() -> list[Tensor]:
        model.zero_grad()
        found = model(images, tokens)
        assert found.attention is not None
        (found.logits.square().mean() + found.attention.square().sum()).backward()
        slopes = [part.grad for name, part in model.named_parameters() if name != "attend.weigh.bias"]
        return [found.logits.detach(), found.attention.detach(), *(slope for slope in slopes if slope is not None)]

    ours = step()
    monkeypatch.setattr(loop_attention, "by_kernel", lambda attend, keys: False)
    for one, other in zip(ours, step(), strict=True):
        torch.testing.assert_close(one, other, atol=2e-5, rtol=1e-3)
