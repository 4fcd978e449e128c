"""Dual encoders by `hf:`: vectors equal transformers' own, through the model's own tokenizer and processor."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import tellapart as ta
import tiny_hub
from tellapart.core.model_names import model_folder

transformers = pytest.importorskip("transformers")
TEXTS = ["a red ball on the left", "the dog, is blue.", "a red tabby ball"]
Hub = Callable[[str], Path]


def own_vectors(folder: Path, photos: list[Path], texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """What transformers itself computes, as its documentation shows."""
    where = model_folder(str(folder))
    model = transformers.AutoModel.from_pretrained(where).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(where)
    processor = transformers.AutoImageProcessor.from_pretrained(where)
    padded = (
        {"padding": "max_length", "max_length": 16, "truncation": True}
        if model.config.model_type.startswith("siglip")
        else {}
    )
    pieces = tokenizer(texts, return_tensors="pt", **(padded or {"padding": True}))
    if padded:
        pieces = {"input_ids": pieces["input_ids"]}
    images = processor(images=[Image.open(path).convert("RGB") for path in photos], return_tensors="pt")
    with torch.no_grad():
        found = [model.get_image_features(**images), model.get_text_features(**pieces)]
    tensors = [one if isinstance(one, torch.Tensor) else one.pooler_output for one in found]
    image, text = (torch.nn.functional.normalize(one.flatten(1), dim=-1).numpy() for one in tensors)
    return image, text


@pytest.mark.parametrize("family", tiny_hub.MATCHERS)
def test_vectors_are_transformers_own(hub: Hub, photos: list[Path], family: str) -> None:
    matcher = ta.load_matcher(f"hf:{hub(family)}", device="cpu")
    images, texts = own_vectors(hub(family), photos, TEXTS)
    np.testing.assert_allclose(matcher.encode_images(photos), images, atol=1e-5)
    np.testing.assert_allclose(matcher.encode_texts(TEXTS), texts, atol=1e-5)
    np.testing.assert_allclose(matcher.similarity(photos, TEXTS), images @ texts.T, atol=1e-5)


def test_a_text_does_not_end_at_a_rare_word(hub: Hub) -> None:
    """CLIP's unknown piece is its end piece: "a red tabby ball" was read as "a red"."""
    matcher = ta.load_matcher(f"hf:{hub('clip')}", device="cpu")
    whole, start = matcher.encode_texts(["a red tabby ball", "a red"])
    assert float(whole @ start) < 0.99


def test_long_texts_keep_the_end_piece(hub: Hub) -> None:
    matcher = ta.load_matcher(f"hf:{hub('clip')}", device="cpu")
    model = transformers.CLIPModel.from_pretrained(hub("clip")).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(hub("clip"))
    text = "a red ball on the left " * 5
    pieces = tokenizer([text], truncation=True, max_length=40, return_tensors="pt")
    with torch.no_grad():
        found = model.get_text_features(**pieces)
    own = torch.nn.functional.normalize(found if isinstance(found, torch.Tensor) else found.pooler_output, dim=-1)
    np.testing.assert_allclose(matcher.encode_texts(text), own.numpy(), atol=1e-5)


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision_is_close(hub: Hub, photos: list[Path], precision: str) -> None:
    whole = ta.load_matcher(f"hf:{hub('clip')}", device="cpu")
    half = ta.load_matcher(f"hf:{hub('clip')}", device="cpu", precision=precision)
    assert half.encode_images(photos).dtype == np.float32
    assert (whole.encode_images(photos) * half.encode_images(photos)).sum(1).min() > 0.99
    assert (whole.encode_texts(TEXTS) * half.encode_texts(TEXTS)).sum(1).min() > 0.99


def test_batches_do_not_change_vectors(hub: Hub, photos: list[Path]) -> None:
    matcher = ta.load_matcher(f"hf:{hub('siglip')}", device="cpu")
    np.testing.assert_allclose(
        matcher.encode_images(photos, batch_size=1), matcher.encode_images(photos, batch_size=3), atol=1e-6
    )


@pytest.mark.parametrize(
    ("family", "words"), [("blip", "not a matcher"), ("vit", "neither a matcher"), ("llava", "not a matcher")]
)
def test_another_kind_of_model_is_an_error(hub: Hub, family: str, words: str) -> None:
    with pytest.raises(ta.InputError, match=words):
        ta.load_matcher(f"hf:{hub(family)}", device="cpu")


@pytest.mark.parametrize(
    ("missing", "words"),
    [("config.json", "no config.json"), ("preprocessor_config.json", "no image processor"), ("tok", "no tokenizer")],
)
def test_a_missing_file_is_named(hub: Hub, tmp_path: Path, missing: str, words: str) -> None:
    folder = tmp_path / "clip"
    shutil.copytree(hub("clip"), folder)
    for path in folder.iterdir():
        if path.name == missing or (missing == "tok" and path.name.startswith(("tokenizer", "vocab", "merges"))):
            path.unlink()
    with pytest.raises(ta.InputError, match=words):
        ta.load_matcher(f"hf:{folder}", device="cpu")


def test_without_a_network_a_name_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: object, **options: object) -> None:
        raise OSError("We couldn't connect to the hub")

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", fails)
    with pytest.raises(ta.InputError, match=r"not a folder.*give its folder"):
        ta.load_matcher("hf:openai/nothing", device="cpu")


def test_further_modules_of_sentence_transformers_are_an_error(hub: Hub, tmp_path: Path) -> None:
    folder = tmp_path / "dense"
    shutil.copytree(hub("sentence_transformers"), folder)
    (folder / "modules.json").write_text(
        '[{"path": "0_CLIPModel", "type": "a.CLIPModel"}, {"path": "1", "type": "a.Dense"}]'
    )
    with pytest.raises(ta.InputError, match="module Dense"):
        ta.load_matcher(f"hf:{folder}", device="cpu")


def test_compiling_is_asked_of_the_towers(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self, *given, **options: asked.append(type(self).__name__))
    ta.load_matcher(f"hf:{hub('clip')}", device="cpu", compile=True)
    assert sorted(asked) in (["CLIPTextModel", "CLIPVisionModel"], ["CLIPTextTransformer", "CLIPVisionTransformer"])
    with pytest.raises(ta.InputError, match="models of transformers"):
        ta.load_matcher(device="cpu", compile=True)
