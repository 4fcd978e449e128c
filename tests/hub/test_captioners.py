"""Captioners by `hf:`: greedy captions and log-probabilities equal transformers' own."""

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
from tellapart.core.types import Images
from tellapart.models.captioners.pretrained import PretrainedCaptionerModel
from tellapart.models.decoding import greedy, log_prob, with_start
from tellapart.runs.run import open_run
from tellapart.text.model_tokenizer import SHIFT
from tellapart.text.vocabulary import END

transformers = pytest.importorskip("transformers")
Hub = Callable[[str], Path]
CLASSES = {
    "blip": "BlipForConditionalGeneration",
    "git": "GitForCausalLM",
    "vit_gpt2": "VisionEncoderDecoderModel",
    "llava": "LlavaForConditionalGeneration",
    "idefics3": "Idefics3ForConditionalGeneration",
}


def pixel_values(folder: Path, photos: list[Path]) -> torch.Tensor:
    processor = transformers.AutoImageProcessor.from_pretrained(folder)
    return processor(images=[Image.open(path).convert("RGB") for path in photos], return_tensors="pt")["pixel_values"]


@pytest.mark.parametrize("family", tiny_hub.CAPTIONERS)
def test_greedy_captions_are_transformers_own(hub: Hub, photos: list[Path], family: str) -> None:
    folder = hub(family)
    model = getattr(transformers, CLASSES[family]).from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    own = model.generate(pixel_values=pixel_values(folder, photos), max_new_tokens=20, num_beams=1, do_sample=False)
    expected = [text.strip() for text in tokenizer.batch_decode(own, skip_special_tokens=True)]
    captions = ta.load_captioner(f"hf:{folder}", device="cpu").caption(photos, beam=1)
    assert len(set(expected)) > 1 or family == "vit_gpt2"
    for caption, text in zip(captions, expected):  # an unfinished caption of 20 pieces ends there in both
        assert caption.text == text


@pytest.mark.parametrize("family", tiny_hub.CAPTIONERS)
def test_log_probabilities_are_transformers_own(hub: Hub, photos: list[Path], family: str) -> None:
    """ln p of a caption is the sum of the log-softmax of the logits that transformers computes for its pieces."""
    folder = hub(family)
    run = open_run(f"hf:{folder}")
    pixels = pixel_values(folder, photos)
    images = Images(
        torch.zeros(len(photos), 1, 0),
        torch.ones(len(photos), 1, dtype=torch.bool),
        columns={"pixel_values": pixels},
    )
    words = [4 + SHIFT + number for number in range(6)]
    tokens = with_start(torch.tensor([[*words, END]] * len(photos)))
    with torch.no_grad():
        found = log_prob(run.model, images, tokens)  # type: ignore[arg-type]
        model = getattr(transformers, CLASSES[family]).from_pretrained(folder).eval()
        first, last = run.model.first, run.model.last  # type: ignore[union-attr]
        pieces = torch.tensor([[first, *(word - SHIFT for word in words)]] * len(photos))
        name = "decoder_input_ids" if family == "vit_gpt2" else "input_ids"
        logits = model(pixel_values=pixels, **{name: pieces}).logits[:, -pieces.shape[1] :].log_softmax(-1)
        targets = torch.tensor([[*(word - SHIFT for word in words), last]] * len(photos))
        expected = logits.gather(2, targets.unsqueeze(2)).squeeze(2).sum(1)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("family", tiny_hub.CAPTIONERS)
def test_stepping_equals_reading_whole_captions(hub: Hub, photos: list[Path], family: str) -> None:
    run = open_run(f"hf:{hub(family)}")
    images = Images(
        torch.zeros(2, 1, 0),
        torch.ones(2, 1, dtype=torch.bool),
        columns={"pixel_values": pixel_values(hub(family), photos[:2])},
    )
    with torch.no_grad():
        decoded = greedy(run.model, images, 8)  # type: ignore[arg-type]
        again = log_prob(run.model, images, with_start(decoded.tokens))  # type: ignore[arg-type]
    torch.testing.assert_close(decoded.log_probability, again, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("family", ["blip", "vit_gpt2"])
def test_words_attend_to_patches(hub: Hub, photos: list[Path], family: str) -> None:
    caption = ta.load_captioner(f"hf:{hub(family)}", device="cpu").caption(photos[0], attention=True)
    assert caption.attention is not None
    sums = caption.attention.weights.sum(1)
    assert caption.attention.weights.shape[1] == 17 and (sums <= 1.001).all() and (sums > 0.2).all()


def test_attention_is_rolled_out_as_products_of_whole_layers() -> None:
    """Words and rows of the image are nodes of one graph; each layer is a matrix over all of them."""
    from tellapart.models.hub.roll_out import roll_out

    words, rows, random = 3, 4, torch.Generator().manual_seed(0)
    own = [torch.rand(1, 2, words, words, generator=random).tril().add(1e-3).softmax(-1) for _ in range(3)]
    cross = [torch.rand(1, 2, words, rows, generator=random).softmax(-1) for _ in range(3)]
    whole = torch.eye(words + rows)
    for a, c in zip(own, cross):
        to_words, to_rows = torch.eye(words + rows), torch.eye(words + rows)
        to_words[:words, :words] = (torch.eye(words) + a[0].mean(0)) / 2
        to_rows[:words, :words] = torch.eye(words) / 2
        to_rows[:words, words:] = c[0].mean(0) / 2
        whole = to_rows @ to_words @ whole
    torch.testing.assert_close(whole.sum(1), torch.ones(words + rows))
    expected = whole[:words, words:] / whole[:words, words:].sum(1, keepdim=True)
    torch.testing.assert_close(roll_out(own, cross)[0], expected)
    torch.testing.assert_close(roll_out(own[:1], cross[:1])[0], cross[0][0].mean(0))
    with pytest.raises(ta.InputError, match="no attention over the image"):
        roll_out(None, cross)


def test_pixels_are_scaled_as_the_processor_does(hub: Hub) -> None:
    """Pixels 0 ... 255 over 255, less the processor's mean, over its deviation."""
    model = open_run(f"hf:{hub('blip')}").model
    assert isinstance(model, PretrainedCaptionerModel)
    pixels = torch.randint(0, 256, (2, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in ([0.48, 0.46, 0.41], [0.27, 0.26, 0.28]))
    shown = Images(torch.zeros(2, 1, 0), torch.ones(2, 1, dtype=torch.bool), pixels=pixels)
    ready = Images(shown.features, shown.mask, columns={"pixel_values": (pixels / 255 - mean) / std})
    with torch.no_grad():
        torch.testing.assert_close(model.rows(shown), model.rows(ready), atol=1e-5, rtol=1e-5)


def test_git_has_no_attention_to_draw(hub: Hub, photos: list[Path]) -> None:
    with pytest.raises(ta.InputError, match="no attention"):
        ta.load_captioner(f"hf:{hub('git')}", device="cpu").caption(photos[0], attention=True)


@pytest.mark.parametrize("family", [*tiny_hub.CAPTIONERS, *tiny_hub.CHAT])
def test_another_model_judges_captions(hub: Hub, photos: list[Path], family: str) -> None:
    """The judge sees other features and other words than the captioner."""
    captioner = ta.load_captioner(f"hf:{hub(family)}", device="cpu")
    captions = captioner.caption(photos[:2], against=photos, matcher=f"hf:{hub('clip')}", neighbours=2)
    assert all(len(caption.neighbours) == 2 and caption.posterior is not None for caption in captions)


def test_a_captioner_judges_itself(hub: Hub, photos: list[Path]) -> None:
    captions = ta.load_captioner(f"hf:{hub('blip')}", device="cpu").caption(photos[:2], against=photos, neighbours=2)
    assert [caption.likeliest is not None for caption in captions] == [True, True]


@pytest.mark.parametrize("family", tiny_hub.CHAT)
def test_a_chat_model_answers_as_transformers_does(hub: Hub, photos: list[Path], family: str) -> None:
    folder = hub(family)
    model = getattr(transformers, CLASSES[family]).from_pretrained(folder).eval()
    processor = transformers.AutoProcessor.from_pretrained(folder)
    asked = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": tiny_prompt()}]}]
    text = processor.apply_chat_template(asked, add_generation_prompt=True)
    inputs = processor(text=text, images=[Image.open(photos[1]).convert("RGB")], return_tensors="pt")
    own = model.generate(**inputs, max_new_tokens=60, do_sample=False)[:, inputs["input_ids"].shape[1] :]
    expected = processor.tokenizer.decode(own[0], skip_special_tokens=True).strip()
    caption = ta.load_captioner(f"hf:{folder}", device="cpu").caption(photos[1], beam=1)
    assert caption.text == expected
    assert np.isfinite(caption.log_probability) and caption.log_probability < 0


def test_a_processor_that_cannot_be_opened_is_an_error(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without torchvision transformers fails with an AttributeError for processors that also read videos."""

    def fails(*given: object, **options: object) -> None:
        raise AttributeError("type object 'VIDEO_PROCESSOR_MAPPING' has no attribute '_extra_content'")

    monkeypatch.setattr(transformers.AutoProcessor, "from_pretrained", fails)
    with pytest.raises(ta.InputError, match=r"cannot be opened as a model of transformers: .*VIDEO_PROCESSOR"):
        ta.load_captioner(f"hf:{hub('llava')}", device="cpu")


def tiny_prompt() -> str:
    from tellapart.models.hub.chat import PROMPT

    return PROMPT


def test_a_matcher_is_not_a_captioner(hub: Hub) -> None:
    with pytest.raises(ta.InputError, match="not a captioner"):
        ta.load_captioner(f"hf:{hub('clip')}", device="cpu")


@pytest.mark.parametrize("family", ["blip", "llava"])
def test_a_missing_tokenizer_is_named(hub: Hub, tmp_path: Path, family: str) -> None:
    folder = tmp_path / family
    shutil.copytree(hub(family), folder)
    for path in folder.glob("tokenizer*"):
        path.unlink()
    with pytest.raises(ta.InputError, match=rf"{family} has no tokenizer .*save the tokenizer into"):
        ta.load_captioner(f"hf:{folder}", device="cpu")
