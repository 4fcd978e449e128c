"""Runs in the hub's format: transformers opens them, `hf:` opens them, and results stay the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import tellapart as ta
import tiny_hub
from photo_world import draw_photos
from tellapart.cli.export import ExportOptions, export
from tellapart.cli.prepare import PrepareOptions, prepare
from tellapart.core.model_names import model_folder
from tellapart.inference import captioning
from tellapart.inference import matching as by_torch
from tellapart.papers.recipes import find_recipe
from tellapart.runs.export import export_hub
from tellapart.runs.own_hub import register
from tellapart.runs.slim_run import slim_run
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe

transformers = pytest.importorskip("transformers")
Hub = Callable[[str], Path]
CAPTIONERS = [
    ("blip", "BlipForConditionalGeneration"), ("git", "GitForCausalLM"), ("vit_gpt2", "VisionEncoderDecoderModel"),
]  # fmt: skip
SHORT = ("train.epochs=1", "train.sampling.batch=4", "train.sampling.steps=2")


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    draw_photos(folder / "photos")
    prepare(PrepareOptions(str(folder / "photos"), folder / "pack", min_count=1, nouns=False))
    return folder / "pack"


@pytest.mark.parametrize("family", tiny_hub.MATCHERS)
def test_a_tuned_matcher_opens_in_transformers(
    hub: Hub, pack: Path, photos: list[Path], tmp_path: Path, family: str
) -> None:
    start = f"hf:{hub(family)}"
    train_recipe(find_recipe("clip-plain"), TrainSettings(pack, tmp_path / "run", start=start, set=SHORT))
    out = export(ExportOptions(str(tmp_path / "run"), tmp_path / "hub"))
    ours = ta.load_matcher(tmp_path / "run", device="cpu")
    model = transformers.AutoModel.from_pretrained(out).eval()
    processor = transformers.AutoImageProcessor.from_pretrained(out)
    pixels = processor(images=[Image.open(path).convert("RGB") for path in photos], return_tensors="pt")
    with torch.no_grad():
        found = model.get_image_features(**pixels)
    found = found if isinstance(found, torch.Tensor) else found.pooler_output
    vectors = torch.nn.functional.normalize(found.flatten(1), dim=-1).numpy()
    np.testing.assert_allclose(ours.encode_images(photos), vectors, atol=1e-5)
    again = ta.load_matcher(f"hf:{out}", device="cpu")
    np.testing.assert_allclose(again.encode_texts("a red ball"), ours.encode_texts("a red ball"), atol=1e-6)
    card = (out / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: transformers") and f"base_model: {model_folder(start)}" in card
    with pytest.raises(ta.InputError, match="exists"):
        export_hub(tmp_path / "run", out)


@pytest.mark.parametrize(("family", "loader"), CAPTIONERS)
def test_a_tuned_captioner_opens_in_transformers(
    hub: Hub, pack: Path, photos: list[Path], tmp_path: Path, family: str, loader: str
) -> None:
    start = f"hf:{hub(family)}"
    train_recipe(find_recipe("blip-cl"), TrainSettings(pack, tmp_path / "run", start=start, set=SHORT))
    out = export_hub(tmp_path / "run", tmp_path / "hub")
    ours = ta.load_captioner(tmp_path / "run", device="cpu").caption(photos, beam=1)
    model = getattr(transformers, loader).from_pretrained(out).eval()
    processor = transformers.AutoImageProcessor.from_pretrained(out)
    pixels = processor(images=[Image.open(path).convert("RGB") for path in photos], return_tensors="pt")
    own = model.generate(**pixels, max_new_tokens=20, num_beams=1, do_sample=False)
    tokenizer = transformers.AutoTokenizer.from_pretrained(out)
    expected = [text.strip() for text in tokenizer.batch_decode(own, skip_special_tokens=True)]
    assert [caption.text for caption in ours] == expected


def test_heads_have_no_place(hub: Hub, pack: Path, tmp_path: Path) -> None:
    changes = (*SHORT, "train.model.heads=24")
    settings = TrainSettings(pack, tmp_path / "run", start=f"hf:{hub('clip')}", set=changes)
    train_recipe(find_recipe("clip-convse"), settings)
    with pytest.raises(ta.InputError, match="ConVSE's heads"):
        export_hub(tmp_path / "run", tmp_path / "hub")


def test_the_bundled_models_in_the_hubs_format(photos: list[Path], tmp_path: Path) -> None:
    """Opened by `hf:` they give the same vectors and likeliest captions; AutoModel opens them without remote code."""
    for name in ("matcher", "captioner"):
        export_hub(f"bundled:{name}", tmp_path / name)
    bundled, opened = by_torch.load_matcher(device="cpu"), ta.load_matcher(f"hf:{tmp_path / 'matcher'}", device="cpu")
    texts = ["a cat on a sofa", "a red bus"]
    np.testing.assert_allclose(opened.encode_texts(texts), bundled.encode_texts(texts), atol=1e-6)
    np.testing.assert_allclose(opened.encode_images(photos[:2]), bundled.encode_images(photos[:2]), atol=1e-5)
    captions = ta.load_captioner(f"hf:{tmp_path / 'captioner'}", device="cpu").caption(photos[:2])
    original = captioning.load_captioner(device="cpu")
    images = next(iter(original.extractor.extract(photos[:2]))).images
    assert [one.text for one in captions] == original.generator.generate(images).texts, "the likeliest captions"
    register()
    model = transformers.AutoModel.from_pretrained(str(tmp_path / "matcher"))
    assert type(model).__name__ == "TellapartMatcher"
    with torch.no_grad():
        np.testing.assert_allclose(model.get_text_features(texts).numpy(), bundled.encode_texts(texts), atol=1e-6)
    captioner = transformers.AutoModel.from_pretrained(str(tmp_path / "captioner"))
    rows = torch.randn(1, 81, 1280)
    assert isinstance(captioner.generate(rows)[0], str)
    with pytest.raises(ta.InputError, match="already"):
        export_hub(f"hf:{tmp_path / 'matcher'}", tmp_path / "again")


def test_a_slim_copy_opens_by_itself(hub: Hub, pack: Path, tmp_path: Path) -> None:
    start = f"hf:{hub('siglip')}"
    train_recipe(find_recipe("clip-plain"), TrainSettings(pack, tmp_path / "run", start=start, set=SHORT))
    slim = ta.load_matcher(slim_run(tmp_path / "run", tmp_path / "slim"), device="cpu")
    ours = ta.load_matcher(tmp_path / "run", device="cpu")
    assert float((slim.encode_texts("a ball") * ours.encode_texts("a ball")).sum()) > 0.999
