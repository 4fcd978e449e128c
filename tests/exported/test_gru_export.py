"""A matcher that reads words with a GRU, exported: equal to torch, alone and as a run folder on PP-LCNetV2."""

import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.core.files import write_json
from tellapart.core.types import Texts
from tellapart.exported.export import export_run
from tellapart.exported.graph import StoredWeights
from tellapart.exported.linear_layers import FloatLinears
from tellapart.exported.matcher_graphs import image_graph, text_graph
from tellapart.exported.running import graph_results
from tellapart.features import backbones
from tellapart.features.backbones import IMAGENET_MEAN, IMAGENET_STD, TUNED_NETWORK, TUNED_SIZE, Backbone
from tellapart.features.folding import fold_norms
from tellapart.features.pp_lcnet import PPLCNetV2, Stage
from tellapart.images.preprocessing import Preprocessing
from tellapart.inference.light.exported_run import ExportedRun, is_exported
from tellapart.inference.light.matching import LightMatcher
from tellapart.inference.matching import load_matcher
from tellapart.losses import Contrast
from tellapart.models.captioners.transformer import Transformer
from tellapart.models.inputs import ModelInputs
from tellapart.models.matchers.dual_encoder import DualEncoder, DualEncoderModel
from tellapart.objectives.likelihood import Likelihood
from tellapart.objectives.ranking import Ranking
from tellapart.runs.quantised import quantise, restore
from tellapart.runs.recipe import Recipe
from tellapart.runs.recipe import Stage as TrainingStage
from tellapart.runs.registry import to_plain
from tellapart.runs.run import open_run
from tellapart.runs.texts import as_texts
from tellapart.text.rules import TextRules
from tellapart.text.vocabulary import END, START, Vocabulary

pytest.importorskip("onnx")
WORDS = Vocabulary.from_words(["a", "dog", "cat", "ball", "red", "blue", "runs", "sleeps", "on", "grass", ","])
SMALL = DualEncoder(width=8, text="gru", start="", text_width=12, feed_forward=16)
TINY, SIZE, ROWS, WIDTH = "tiny-lcnet", 40, 25, 32
STAGES = (Stage(1, 3, 1, 16), Stage(2, 5, 2, 24, merged=True, split=True), Stage(2, 5, 2, WIDTH, residual=True))
CAPTIONS = ("a dog", "a red ball on grass", "cat", "a blue dog runs on a red cat on a blue ball, a cat sleeps on grass")


def small_model(settings: DualEncoder = SMALL) -> DualEncoderModel:
    torch.manual_seed(0)
    model = settings.build(ModelInputs(WORDS, WIDTH, ROWS, False)).eval()
    for parameter in model.parameters():
        if parameter.ndim == 1:
            torch.nn.init.uniform_(parameter, -0.5, 0.5)  # biases move the state through the padding
    return model


def stored_as(model: DualEncoderModel, kind: str) -> dict[str, Tensor]:
    """Weights as a file has them; the model has the same values from now on."""
    stored = {key: value.contiguous().clone() for key, value in model.state_dict().items()}
    if kind == "float16":
        stored = {key: value.half() for key, value in stored.items()}
    elif kind == "int8":
        stored = quantise(stored)
    model.load_state_dict(restore(stored))
    return stored


def padded(lengths: list[int], longest: int) -> tuple[Tensor, Tensor]:
    """Random words between START and END, and which of them are real."""
    tokens = torch.zeros(len(lengths), longest, dtype=torch.long)
    for row, length in enumerate(lengths):
        tokens[row, : length + 2] = torch.tensor(
            [START, *torch.randint(4, len(WORDS), (length,), generator=torch.manual_seed(row)).tolist(), END]
        )
    return tokens, torch.arange(longest) < torch.tensor(lengths).unsqueeze(1) + 2


@pytest.mark.parametrize("kind", ["float32", "float16", "int8"])
def test_texts_are_those_of_torch(tmp_path: Path, kind: str) -> None:
    """In one batch, captions of different lengths, of which the longest has more words than training."""
    model, file, path = small_model(), tmp_path / "model.safetensors", tmp_path / "text.onnx"
    save_file(stored_as(model, kind), file)
    text_graph(StoredWeights(file), FloatLinears(), SMALL).save(path)
    tokens, mask = padded([3, 1, 9, 5, 0], 11)
    longer, shown = padded([3, 1, 9, 5, 0], 30)
    for ids, real in ((tokens, mask), (longer, shown), (tokens[1:2, :3], mask[1:2, :3])):
        (found,) = graph_results(path, [{"tokens": ids.numpy(), "mask": real.numpy()}], "vectors")
        with torch.no_grad():
            right = model.text_vectors(ids, real).numpy()
        np.testing.assert_allclose(found, right, atol=1e-5)
        np.testing.assert_allclose((found**2).sum(1), 1, rtol=1e-5)


@pytest.mark.parametrize("kind", ["float32", "float16", "int8"])
def test_images_are_those_of_torch(tmp_path: Path, kind: str) -> None:
    model, file, path = small_model(), tmp_path / "model.safetensors", tmp_path / "image.onnx"
    torch.nn.init.normal_(model.pool.attend.weight)
    save_file(stored_as(model, kind), file)
    image_graph(StoredWeights(file), FloatLinears(), ROWS, WIDTH).save(path)
    cells = torch.randn(3, ROWS, WIDTH, generator=torch.manual_seed(1))
    (found,) = graph_results(path, [{"cells": cells.numpy()}], "vectors")
    with torch.no_grad():
        right = model.image_vectors(cells, torch.ones(3, ROWS, dtype=torch.bool)).numpy()
    np.testing.assert_allclose(found, right, atol=1e-5)


def test_a_transformer_may_be_stored_in_float16(tmp_path: Path) -> None:
    settings = DualEncoder(width=8, start="", text_width=12, layers=1, heads=2, feed_forward=16, positions=16)
    model, file, path = small_model(settings), tmp_path / "model.safetensors", tmp_path / "text.onnx"
    save_file(stored_as(model, "float16"), file)
    text_graph(StoredWeights(file), FloatLinears(), settings).save(path)
    tokens, mask = padded([3, 1, 9], 11)
    (found,) = graph_results(path, [{"tokens": tokens.numpy(), "mask": mask.numpy()}], "vectors")
    with torch.no_grad():
        np.testing.assert_allclose(found, model.text_vectors(tokens, mask).numpy(), atol=1e-5)


def load_tiny(trainable: bool, pretrained: bool) -> Backbone:
    network = PPLCNetV2(STAGES)
    plain = network if trainable else fold_norms(network)
    return Backbone(TINY, plain, WIDTH, Preprocessing(SIZE, IMAGENET_MEAN, IMAGENET_STD))


@pytest.fixture
def run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of the small matcher on a tiny PP-LCNetV2, in float16 as shared runs are."""
    monkeypatch.setitem(backbones.BACKBONES, TINY, load_tiny)
    folder = tmp_path / "run"
    folder.mkdir()
    torch.manual_seed(1)
    network = PPLCNetV2(STAGES)
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0
    network.train()(torch.randn(8, 3, SIZE, SIZE))  # batch norms have the statistics of these
    weights = {key: v.half() if v.is_floating_point() else v for key, v in network.state_dict().items()}
    save_file(weights, folder / "backbone.safetensors", {TUNED_NETWORK: TINY, TUNED_SIZE: str(SIZE)})
    save_file(stored_as(small_model(), "float16"), folder / "model.safetensors")
    describe(folder, TrainingStage("joint", Ranking(Contrast("info-nce")), SMALL))
    WORDS.save(folder / "vocabulary.json")
    features = {
        "name": "end-to-end-grid",
        "rows": ROWS,
        "kind": "grid",
        "width": WIDTH,
        "backbone": "backbone.safetensors",
        "preprocessing": asdict(Preprocessing(SIZE, IMAGENET_MEAN, IMAGENET_STD)),
        "resize": "squash",
    }
    rules = TextRules(min_count=0).as_dict()
    write_json(folder / "data.json", {"pack": "tiny", "fingerprint": "", "rules": rules, "features": features})
    return folder


def describe(folder: Path, stage: TrainingStage) -> None:
    write_json(folder / "recipe.json", to_plain(Recipe("small", "none", "small", (stage,), "grid")))


def photos() -> list[Image.Image]:
    random = np.random.default_rng(2)
    coarse = [random.integers(0, 256, (4, 4, 3), np.uint8) for _ in range(5)]
    return [Image.fromarray(one).resize((60, 45), Image.Resampling.BICUBIC) for one in coarse]


def test_an_exported_run_equals_torch(run_folder: Path) -> None:
    assert not is_exported(run_folder, "matcher")
    written = export_run(run_folder, [], captions=CAPTIONS)
    assert [path.name for path in written] == ["backbone.onnx", "image.onnx", "text.onnx"]
    assert is_exported(run_folder, "matcher") and not list(run_folder.glob("*-int8.onnx"))
    slow, run = load_matcher(run_folder, "cpu", 1, "float32"), open_run(run_folder)
    assert isinstance(run.model, DualEncoderModel)
    right = slow.encode_images(photos())
    assert np.abs(right - right[0]).max() > 0.01
    for precision in ("float32", "int8"):
        light = LightMatcher(ExportedRun(run_folder), workers=1, precision=precision)
        np.testing.assert_allclose(light.encode_images(photos()), right, atol=1e-3)
        texts: Texts = as_texts(run, CAPTIONS)  # the same padding: both read them as one batch
        with torch.no_grad():
            vectors = run.model.encode_text(texts).vectors.numpy()
        np.testing.assert_allclose(light.encode_texts(CAPTIONS), vectors, atol=1e-5)
        np.testing.assert_allclose(light.caption_vectors(CAPTIONS), vectors, atol=1e-5)


def test_a_moved_run_opens_and_can_be_exported_again(run_folder: Path, tmp_path: Path) -> None:
    (run_folder / "text-int8.onnx").write_bytes(b"of other weights")
    export_run(run_folder, [])
    assert not (run_folder / "text-int8.onnx").exists()
    before = LightMatcher(ExportedRun(run_folder)).encode_images(photos())
    graphs = {path.name: path.read_bytes() for path in run_folder.glob("*.onnx")}
    moved = Path(shutil.move(run_folder, tmp_path / "moved"))
    np.testing.assert_array_equal(LightMatcher(ExportedRun(moved)).encode_images(photos()), before)
    export_run(moved, [])
    assert graphs == {path.name: path.read_bytes() for path in moved.glob("*.onnx")}


def test_a_captioner_still_needs_images(run_folder: Path) -> None:
    """Its own graphs have ranges, whatever its backbone is."""
    settings = Transformer(width=16, heads=2, feed_forward=16)
    describe(run_folder, TrainingStage("joint", Likelihood(), settings))
    model = settings.build(ModelInputs(WORDS, WIDTH, ROWS, False))
    save_file({key: v.contiguous().clone() for key, v in model.state_dict().items()}, run_folder / "model.safetensors")
    with pytest.raises(InputError, match="at least one image"):
        export_run(run_folder, [])
    squares = [np.asarray(photo.resize((SIZE, SIZE))) for photo in photos()]
    names = [path.name for path in export_run(run_folder, squares)]
    assert names == ["backbone.onnx", "start.onnx", "step.onnx", "start-int8.onnx", "step-int8.onnx"]
