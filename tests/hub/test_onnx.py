"""`export --format onnx`: what onnxruntime computes equals torch to 1e-4."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import tellapart as ta
from tellapart.cli.export import ExportOptions, export
from tellapart.inference import matching as by_torch
from tellapart.inference.light.matching import LightMatcher

transformers = pytest.importorskip("transformers")
pytest.importorskip("onnx")
Hub = Callable[[str], Path]
LONG = "the red ball on the left is on the left " * 9
TEXTS = ["a red ball on the left", "the dog, is blue.", "a red tabby ball", LONG]


@pytest.mark.parametrize("family", ["clip", "siglip", "siglip2", "align", "chinese_clip"])
def test_a_dual_encoder_of_transformers(hub: Hub, photos: list[Path], tmp_path: Path, family: str) -> None:
    import onnxruntime

    out = export(ExportOptions(f"hf:{hub(family)}", tmp_path / "onnx", format="onnx"))
    matcher = ta.load_matcher(f"hf:{hub(family)}", device="cpu")
    processor = transformers.AutoImageProcessor.from_pretrained(out)
    pixels = processor(images=[Image.open(path).convert("RGB") for path in photos], return_tensors="pt")
    session = onnxruntime.InferenceSession(out / "image.onnx")
    (vectors,) = session.run(None, {one.name: pixels[one.name].numpy() for one in session.get_inputs()})
    np.testing.assert_allclose(vectors, matcher.encode_images(photos), atol=1e-4)
    facts = json.loads((out / "exported.json").read_text())
    tokenizer = transformers.AutoTokenizer.from_pretrained(out)
    pieces = tokenizer(TEXTS, return_tensors="np", **facts["tokenizer"])
    session = onnxruntime.InferenceSession(out / "text.onnx")
    given = {one.name: pieces[one.name] for one in session.get_inputs()}
    np.testing.assert_allclose(session.run(None, given)[0], matcher.encode_texts(TEXTS), atol=1e-4)
    assert facts["width"] == vectors.shape[1] and facts["scale"] == pytest.approx(float(matcher.model.scale()))


def test_a_matcher_of_our_own_opens_without_torch(photos: list[Path], tmp_path: Path) -> None:
    options = ExportOptions("bundled:matcher", tmp_path / "onnx", format="onnx", images=photos[0].parent, count=2)
    export(options)
    light, torch_s = ta.load_matcher(tmp_path / "onnx", device="cpu", precision="float32"), by_torch.load_matcher()
    assert isinstance(light, LightMatcher)
    np.testing.assert_allclose(light.encode_texts(TEXTS), torch_s.encode_texts(TEXTS), atol=1e-4)
    assert (tmp_path / "onnx" / "image.onnx").is_file()


@pytest.mark.parametrize(
    ("family", "loader"), [("blip", "BlipForConditionalGeneration"), ("vit_gpt2", "VisionEncoderDecoderModel")]
)
def test_a_captioner_of_transformers(hub: Hub, photos: list[Path], tmp_path: Path, family: str, loader: str) -> None:
    """A greedy caption by onnxruntime alone is transformers' own; captioners could not be exported."""
    import onnxruntime

    out = export(ExportOptions(f"hf:{hub(family)}", tmp_path / "onnx", format="onnx"))
    processor = transformers.AutoImageProcessor.from_pretrained(out)
    tokenizer = transformers.AutoTokenizer.from_pretrained(out)
    pixels = processor(images=[Image.open(path).convert("RGB") for path in photos], return_tensors="pt")["pixel_values"]
    model = getattr(transformers, loader).from_pretrained(hub(family)).eval()
    own = model.generate(pixel_values=pixels, max_new_tokens=20, num_beams=1, do_sample=False)
    expected = [text.strip() for text in tokenizer.batch_decode(own, skip_special_tokens=True)]
    facts = json.loads((out / "exported.json").read_text())
    (rows,) = onnxruntime.InferenceSession(out / "image.onnx").run(None, {"pixel_values": pixels.numpy()})
    session = onnxruntime.InferenceSession(out / "next.onnx")
    for row, text in enumerate(expected):
        pieces = [facts["first"]]
        for _ in range(facts["most"]):
            (logits,) = session.run(None, {"pieces": np.array([pieces]), "rows": rows[row : row + 1]})
            pieces.append(int(logits[0].argmax()))
            if pieces[-1] == facts["last"]:
                break
        assert tokenizer.decode(pieces[1:], skip_special_tokens=True).strip() == text
    card = (out / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: transformers") and "ONNX graphs for onnxruntime" in card


def test_what_cannot_be_exported_says_so(hub: Hub, tmp_path: Path) -> None:
    for family, words in (("git", "reads image and words in one sequence"), ("llava", "is a chat model")):
        with pytest.raises(ta.InputError, match=words):
            export(ExportOptions(f"hf:{hub(family)}", tmp_path / family, format="onnx"))
        assert not (tmp_path / family).exists()
    with pytest.raises(ta.InputError, match="give a folder of them with `images`"):
        export(ExportOptions("bundled:matcher", tmp_path / "own", format="onnx"))
    (tmp_path / "own").mkdir()
    with pytest.raises(ta.InputError, match="exists"):
        export(ExportOptions("bundled:matcher", tmp_path / "own", format="onnx"))


@pytest.mark.parametrize("shape", [(4, 4), (2, 8), (8, 2), (3, 5), (1, 16), (7, 2)])
def test_positions_of_patches_are_those_of_transformers(shape: tuple[int, int]) -> None:
    import torch
    from transformers.models.siglip2.modeling_siglip2 import Siglip2VisionEmbeddings

    from tellapart.exported.patch_positions import resized_positions

    table, count = torch.randn(4, 4, 3), shape[0] * shape[1]
    shapes = torch.tensor([shape, (4, 4)])
    theirs = Siglip2VisionEmbeddings.resize_positional_embeddings(table, shapes, 16)
    ours = resized_positions(table, shapes, 16)
    torch.testing.assert_close(ours[0, :count], theirs[0, :count], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(ours[1], theirs[1], rtol=1e-5, atol=1e-6)
