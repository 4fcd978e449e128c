"""Grounding of captioners of transformers: attention is rolled out onto patches, and from there to boxes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

import tellapart as ta
from tellapart.cli.evaluate import EvaluateOptions, evaluate
from tellapart.core.types import Forced
from tellapart.data.annotate_objects import ObjectSettings, annotate_objects
from tellapart.data.object_words import open_objects
from tellapart.data.own_text import with_own_text
from tellapart.data.pack import Pack
from tellapart.data.pack_types import Caption, PackImage, Phrase
from tellapart.data.write_pack import write_pack
from tellapart.evaluation import grounding_maps
from tellapart.evaluation.grounding import class_table, ground
from tellapart.metrics.grounding.map_boxes import map_boxes
from tellapart.models.captioners.pretrained import PretrainedCaptionerModel
from tellapart.models.decoding import Decoded
from tellapart.models.hub.roll_out import roll_out
from tellapart.runs.context import context_for
from tellapart.runs.run import Run, open_run
from tellapart.text.vocabulary import END, PAD, Vocabulary

transformers = pytest.importorskip("transformers")
Hub = Callable[[str], Path]
TEXTS = ("a red dog on the left", "the cat is on the right")
LEFT, RIGHT = (0.0, 0.0, 0.5, 1.0), (0.5, 0.0, 1.0, 1.0)


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    """Six images of a dog on the left half and a cat on the right half, as two captions each say."""
    folder = tmp_path_factory.mktemp("grounded")
    splits, random = ["train"] * 3 + ["val"] * 3, np.random.default_rng(0)
    images, captions, phrases = [], [], []
    for number, split in enumerate(splits):
        pixels = random.integers(0, 255, (4, 6, 3), dtype=np.uint8)
        Image.fromarray(pixels).resize((96, 64), Image.Resampling.BICUBIC).save(folder / f"{number}.png")
        images.append(PackImage(str(number), f"{number}.png", split, 96, 64))
        captions += [Caption(number, text, tuple(text.split()), split) for text in TEXTS]
        phrases += [Phrase(2 * number, 0, 3, (LEFT,)), Phrase(2 * number + 1, 0, 2, (RIGHT,))]
    words = Vocabulary.from_words(sorted({word for caption in captions for word in caption.words}))
    made = write_pack(folder / "pack", "drawn", str(folder), images, captions, words, {}, phrases)
    nouns = [word in ("dog", "cat") for caption in captions for word in caption.words]
    made.save_column("nouns", np.asarray(nouns), "token")
    annotate_objects(made, ObjectSettings(least=1))
    return Pack(made.folder)


def opened(hub: Hub, family: str) -> Run:
    return open_run(f"hf:{hub(family)}")


def half(rows: int, left: bool) -> Tensor:
    """Attention over a class row and 4 x 4 patches: all on one half."""
    cells = torch.zeros(4, 4)
    cells[:, :2] = float(left)
    cells[:, 2:] = float(not left)
    return torch.cat([torch.zeros(rows - 16), cells.flatten() / 8])


@pytest.mark.parametrize("family", ["blip", "vit_gpt2"])
def test_words_attend_as_transformers_own_attention_rolled_out(hub: Hub, pack: Pack, family: str) -> None:
    """Attention accuracy of a true caption, computed from what transformers gives for it."""
    run = opened(hub, family)
    context = context_for(run, pack)
    objects = open_objects(pack)
    caption = 2 * 4  # the first of image 4
    found = grounding_maps.read_by_maps(run.model, context, objects, np.array([caption]))  # type: ignore[arg-type]
    name = {"blip": "BlipForConditionalGeneration", "vit_gpt2": "VisionEncoderDecoderModel"}[family]
    model = getattr(transformers, name).from_pretrained(hub(family), attn_implementation="eager").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(hub(family))
    processor = transformers.AutoImageProcessor.from_pretrained(hub(family))
    pixels = processor(images=Image.open(pack.image_path(4)).convert("RGB"), return_tensors="pt")["pixel_values"]
    pieces = torch.tensor([[run.model.first, *tokenizer(TEXTS[0], add_special_tokens=False)["input_ids"]]])  # type: ignore[list-item]
    with torch.no_grad():
        if family == "blip":
            rows = model.vision_model(pixel_values=pixels).last_hidden_state
            said = model.text_decoder(input_ids=pieces, encoder_hidden_states=rows, output_attentions=True)
            weights = roll_out(said.attentions, said.cross_attentions)
        else:
            rows = model.encoder(pixel_values=pixels).last_hidden_state
            rows = model.enc_to_dec_proj(rows) if hasattr(model, "enc_to_dec_proj") else rows
            said = model.decoder(input_ids=pieces, encoder_hidden_states=rows, output_attentions=True)
            weights = roll_out(said.attentions, said.cross_attentions)
    dog = weights[0, 2, -16:].reshape(1, 4, 4).double().numpy()  # the third word, one piece, is predicted by row 2
    x0, y0, x1, y1 = map_boxes(dog)[0]
    shared = max(0.0, min(x1, 0.5) - x0) * (y1 - y0)
    union = (x1 - x0) * (y1 - y0) + 0.5 - shared
    assert bool(found.boxes.hit[0]) == (shared / union > 0.5) and len(found.boxes.hit) == 1
    _, column = divmod(int(dog.argmax()), 4)
    assert bool(found.points.hit[0]) == ((column + 0.5) / 4 <= 0.5)
    assert objects.classes[found.boxes.word_class[0]] == "dog" and found.boxes.image[0] == 4


def looking(run: Run, right_side: bool) -> Callable[..., Forced]:
    """A stand-in for `attend` that looks left at every dog and right at every cat, or the other way round."""
    dog = run.vocabulary.ids["dog"]

    def attend(self: PretrainedCaptionerModel, rows: Tensor, tokens: Tensor) -> Forced:
        said = tokens[:, 1:]
        weights = torch.stack([half(rows.shape[1], bool(word == dog) == right_side) for word in said.flatten()])
        logits = torch.zeros(*said.shape, len(run.vocabulary))
        return Forced(logits, weights.view(*said.shape, -1))

    return attend


@pytest.mark.parametrize(("right_side", "accuracy"), [(True, 100.0), (False, 0.0)])
def test_attention_on_the_right_half_is_right(
    hub: Hub, pack: Pack, monkeypatch: pytest.MonkeyPatch, right_side: bool, accuracy: float
) -> None:
    run = opened(hub, "blip")
    monkeypatch.setattr(PretrainedCaptionerModel, "attend", looking(run, right_side))

    def greedy(model: PretrainedCaptionerModel, images: object, longest: int) -> Decoded:
        """Says "a dog on the cat" of every image."""
        ids = [*run.vocabulary.encode_texts(["a dog on the cat"])[0], END, PAD]  # type: ignore[attr-defined]
        tokens = torch.tensor([ids] * 3)
        looks = looking(run, right_side)(model, torch.zeros(3, 17, 2), torch.cat([tokens[:, :1], tokens], 1))
        return Decoded(tokens, torch.zeros(3), looks.attention)

    monkeypatch.setattr(grounding_maps, "greedy", greedy)
    context = context_for(run, pack)
    found = ground(run.model, context, "val")
    for name in ("attention_accuracy", "attention_accuracy_words", "pointing_accuracy"):
        assert found.values[name] == accuracy, name
    # each caption annotates one of the two classes: the other word of a generated caption is a miss in F1_all
    assert found.values["f1_loc"] == pytest.approx(accuracy) and found.values["f1_all"] <= accuracy
    assert found.values["chair_words"] == 0 and found.values["loss"] == pytest.approx(np.log(len(run.vocabulary)))
    assert [row["said"] for row in class_table(found, context)] == [3, 3]


def test_a_crop_of_the_processor_moves_boxes(hub: Hub, pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    """ViT's processor squashes; one that crops the middle of 96 x 64 sees 64/96 of the width, of 36 pixels 32."""
    run = opened(hub, "vit_gpt2")
    own = context_for(run, pack).batches.own
    assert own is not None
    crops = {"do_center_crop": True, "size": {"shortest_edge": 36}, "crop_size": {"height": 32, "width": 32}}
    monkeypatch.setattr(own.processor, "settings", lambda: crops)
    left, top, right, bottom = own.window(0)
    assert (right - left, bottom - top) == pytest.approx((32 / 54, 32 / 36)) and left + right == pytest.approx(1)
    moved = grounding_maps._in_image(np.array([[0.0, 0.0, 0.5, 1.0]]), np.array(own.window(0)))
    assert moved[0] == pytest.approx([left, top, 0.5, bottom])


@pytest.mark.parametrize("family", ["blip", "vit_gpt2"])
def test_the_command_evaluates_grounding(
    hub: Hub, pack: Pack, capsys: pytest.CaptureFixture[str], tmp_path: Path, family: str
) -> None:
    """It asked for features with boxes, which such a model does not read."""
    named = Path(f"hf:{hub(family)}")
    out = tmp_path / "grounding.json"
    evaluate(EvaluateOptions(named, pack.folder, split="val", evaluation="grounding", json=True, out=out))
    values = json.loads(capsys.readouterr().out)
    assert 0 <= values["attention_accuracy_low"] <= values["attention_accuracy"] <= values["attention_accuracy_high"]
    assert 0 <= values["pointing_accuracy"] <= 100 and 0 <= values["f1_all"] <= 100 and values["loss"] > 0
    assert (tmp_path / "grounding-classes.csv").read_text().startswith("class,words,said")


def test_models_without_such_attention_say_so(hub: Hub, pack: Pack) -> None:
    for family, words in (
        ("git", "reads image and words in one sequence"),
        ("llava", "no attention per word"),
    ):
        with pytest.raises(ta.InputError, match=words):
            evaluate(EvaluateOptions(Path(f"hf:{hub(family)}"), pack.folder, split="val", evaluation="grounding"))


def test_object_words_keep_their_places(hub: Hub, pack: Pack) -> None:
    """The pack of a model's own pieces has other token places than the pack whose words were annotated."""
    from tellapart.data.own_text import pack_of_words

    own = with_own_text(pack, opened(hub, "blip").vocabulary)
    assert pack_of_words(own) is pack and pack_of_words(pack) is pack
