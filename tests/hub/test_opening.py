"""What a folder or a name of the hub must hold to be opened, and what the error says where it does not."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import tellapart as ta
import tiny_hub
from tellapart.core import hub as core_hub
from tellapart.features.backbones import load_backbone

transformers = pytest.importorskip("transformers")
Hub = Callable[[str], Path]


def without(folder: Path, copy: Path, part: str) -> Path:
    """A copy of a model's folder whose weights lack those whose names contain `part`."""
    shutil.copytree(folder, copy)
    weights = load_file(copy / "model.safetensors")
    kept = {name: value for name, value in weights.items() if part not in name}
    assert 0 < len(kept) < len(weights)
    save_file(kept, copy / "model.safetensors", metadata={"format": "pt"})
    return copy


@pytest.mark.parametrize(
    ("family", "part"), [("clip", "visual_projection"), ("blip", "text_decoder.cls"), ("llava", "multi_modal")]
)
def test_weights_that_would_be_random_are_an_error(hub: Hub, tmp_path: Path, family: str, part: str) -> None:
    """Transformers fills missing weights with random numbers, so that vectors differed from run to run."""
    folder = without(hub(family), tmp_path / family, part)
    opened = ta.load_matcher if family == "clip" else ta.load_captioner
    with pytest.raises(ta.InputError, match=rf"The weights of .*{family}' lack .*{part}"):
        opened(f"hf:{folder}", device="cpu")


@pytest.mark.parametrize(
    ("family", "part", "opened"),
    [
        ("clip", "text_config", ta.load_matcher),
        ("blip", "vision_config", ta.load_captioner),
        ("llava", "text_config", ta.load_captioner),
        ("dinov2", "", load_backbone),
    ],
)
def test_weights_that_do_not_fit_or_are_cut_are_an_error(
    hub: Hub, tmp_path: Path, family: str, part: str, opened: Callable[[str], object]
) -> None:
    """Both ended in a traceback of transformers or safetensors."""
    folder = tmp_path / family
    shutil.copytree(hub(family), folder)
    config = json.loads((folder / "config.json").read_text())
    (config[part] if part else config)["intermediate_size" if part else "hidden_size"] = 24
    (folder / "config.json").write_text(json.dumps(config))
    words = rf"{family}' do not fit its config\.json: .* is \[.*\] in the file and \[.*\] by the configuration"
    with pytest.raises(ta.InputError, match=words):
        opened(f"hf:{folder}")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:2000])
    with pytest.raises(ta.InputError, match=rf"{family}' cannot be read \(.*\); download the model again"):
        opened(f"hf:{folder}")


def test_a_backbone_needs_one_square_per_image(hub: Hub) -> None:
    with pytest.raises(ta.InputError, match=r"squares, one per image.*whose processor does"):
        load_backbone(f"hf:{hub('idefics3')}")


def test_a_name_without_its_prefix_is_recognised(hub: Hub, tmp_path: Path) -> None:
    """It was said not to be a run folder, and that one should train a recipe."""
    for family in ("clip", "sentence_transformers"):
        with pytest.raises(ta.InputError, match=rf"For a model of transformers, write hf:{hub(family)}\."):
            ta.load_matcher(str(hub(family)), device="cpu")
    with pytest.raises(ta.InputError, match=r"For a model of the hub, write hf:openai/clip\."):
        ta.load_matcher("openai/clip", device="cpu")
    with pytest.raises(ta.InputError, match=r"Train a recipe to make one\.$"):
        ta.load_matcher(str(tmp_path), device="cpu")


def test_a_decoder_may_come_without_an_unused_pooler(hub: Hub, tmp_path: Path, photos: list[Path]) -> None:
    """Published ViT-GPT2 weights lack the pooler of ViT, which captions do not need."""
    folder = without(hub("vit_gpt2"), tmp_path / "vit_gpt2", "encoder.pooler")
    whole, lacking = (ta.load_captioner(f"hf:{one}", device="cpu") for one in (hub("vit_gpt2"), folder))
    assert whole.caption(photos[0], beam=1).text == lacking.caption(photos[0], beam=1).text


def test_a_classifier_has_no_pooled_vector(tmp_path: Path) -> None:
    """Its weights have no pooler, so that pooled vectors were random; the mean of the map stands in."""
    tiny_hub.save_processor(tmp_path / "vit", "ViTImageProcessor")
    config = transformers.ViTConfig(**tiny_hub.VISION)
    transformers.ViTForImageClassification(config).save_pretrained(str(tmp_path / "vit"))
    pixels = torch.randint(0, 256, (2, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    one, two = (load_backbone(f"hf:{tmp_path / 'vit'}") for _ in range(2))
    with torch.no_grad():
        found, pooled = one(pixels)
        torch.testing.assert_close(pooled, found.mean((2, 3)))
        torch.testing.assert_close(two.pooled(pixels), pooled)
    empty = load_backbone(f"hf:{tmp_path / 'vit'}", pretrained=False)
    empty.load_state_dict(one.state_dict())
    with torch.no_grad():
        torch.testing.assert_close(empty.pooled(pixels), pooled)


def test_an_incomplete_backbone_is_an_error(hub: Hub, tmp_path: Path) -> None:
    folder = without(hub("dinov2"), tmp_path / "dinov2", "layer.1.attention")
    with pytest.raises(ta.InputError, match=r"lack encoder\.layer\.1\.attention.*and \d+ more, which would be random"):
        load_backbone(f"hf:{folder}")


@pytest.mark.parametrize("family", ["clip", "siglip", "sentence_transformers", "blip", "git", "vit_gpt2", "llava"])
def test_features_are_those_of_the_image_encoder(hub: Hub, family: str) -> None:
    """Captioners give the features of their own encoder; of BLIP's weights transformers opened another model."""
    folder = hub(family) / "0_CLIPModel" if family == "sentence_transformers" else hub(family)
    name, inside = {
        "blip": ("BlipForConditionalGeneration", "vision_model"),
        "git": ("GitForCausalLM", "git.image_encoder"),
        "vit_gpt2": ("VisionEncoderDecoderModel", "encoder"),
        "llava": ("LlavaForConditionalGeneration", "model.vision_tower"),
        "siglip": ("SiglipModel", "vision_model"),
    }.get(family, ("CLIPModel", "vision_model"))
    own = getattr(transformers, name).from_pretrained(folder).eval().get_submodule(inside)
    backbone = load_backbone(f"hf:{hub(family)}")
    pixels = torch.randint(0, 256, (2, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        rows = own(pixel_values=backbone.normalise(pixels)).last_hidden_state
        torch.testing.assert_close(backbone.map(pixels).flatten(2).transpose(1, 2), rows[:, -16:])


def test_siglip2_reads_squares_as_its_own_processor_cuts_them(hub: Hub) -> None:
    from PIL import Image

    backbone, folder = load_backbone(f"hf:{hub('siglip2')}"), hub("siglip2")
    pixels = torch.randint(0, 256, (2, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    assert backbone.preprocessing.size == 32
    processor = transformers.AutoImageProcessor.from_pretrained(folder)
    images = [Image.fromarray(one.permute(1, 2, 0).numpy()) for one in pixels]
    with torch.no_grad():
        own = transformers.Siglip2Model.from_pretrained(folder).eval()
        found = own.get_image_features(**processor(images=images, return_tensors="pt"))
        expected = found if isinstance(found, torch.Tensor) else found.pooler_output
        torch.testing.assert_close(backbone.pooled(pixels), expected, atol=1e-5, rtol=1e-4)


def test_a_text_encoder_is_no_backbone(tmp_path: Path) -> None:
    config = transformers.BertConfig(**tiny_hub.SIZES, vocab_size=30)
    transformers.BertModel(config).save_pretrained(str(tmp_path / "bert"))
    with pytest.raises(ta.InputError, match="BertModel has no image encoder"):
        load_backbone(f"hf:{tmp_path / 'bert'}")


@pytest.mark.parametrize(
    ("name", "words"),
    [("hf:", "names no model"), ("hf:/no/where", "There is no folder /no/where"), ("hf:./none", "no folder ./none")],
)
def test_a_folder_that_is_not_there_is_not_sought_on_the_hub(name: str, words: str) -> None:
    with pytest.raises(ta.InputError, match=words):
        ta.load_captioner(name, device="cpu")


@pytest.mark.parametrize("opened", [ta.load_matcher, ta.load_captioner, load_backbone])
def test_without_a_network_the_error_comes_at_once(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], opened: Callable[[str], object]
) -> None:
    """Six tries with pauses took half a minute, and printed eleven lines."""
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.invalid")
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    core_hub._reachable.cache_clear()
    started = time.monotonic()
    with pytest.raises(ta.InputError, match=r"openai/none"):
        opened("hf:openai/none")
    core_hub._reachable.cache_clear()
    assert time.monotonic() - started < 10 and "Retry" not in capfd.readouterr().err


def test_warnings_of_transformers_are_not_shown(hub: Hub, capfd: pytest.CaptureFixture[str]) -> None:
    """What it says about settings says nothing to those who only name a model."""
    level = transformers.utils.logging.get_verbosity()
    ta.load_captioner(f"hf:{hub('blip')}", device="cpu")
    ta.load_matcher(f"hf:{hub('siglip')}", device="cpu")
    load_backbone(f"hf:{hub('git')}")
    assert capfd.readouterr().err == "" and transformers.utils.logging.get_verbosity() == level


@pytest.mark.parametrize(
    ("family", "opened", "words"),
    [
        ("clip", ta.load_captioner, "clip' is a model of kind clip, not a captioner; give .*hf:FOLDER of one"),
        ("blip", ta.load_matcher, "blip' is a model of kind blip, not a matcher; give .*hf:FOLDER of one"),
        ("llava", ta.load_matcher, "llava' is a model of kind llava, not a matcher"),
    ],
)
def test_the_wrong_kind_of_model_is_named(hub: Hub, family: str, opened: Callable[..., object], words: str) -> None:
    with pytest.raises(ta.InputError, match=words):
        opened(f"hf:{hub(family)}", device="cpu")
