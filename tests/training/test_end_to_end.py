"""Pieces of end-to-end training: crops, token tables, objects, rewards, averages, saving, and a few whole steps."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from tellapart.images.crops import Crops, resample
from tellapart.images.preprocessing import Preprocessing
from tellapart.metrics.captions.token_reward import TokenCider
from tellapart.models.captioners.transformer import Transformer, TransformerCaptioner
from tellapart.models.matchers.dual_encoder import DualEncoderModel
from tellapart.models.matchers.word_gru import WordGru
from tellapart.text.concepts import ConceptDictionary
from tellapart.text.sides import swap_table
from tellapart.text.vocabulary import END, START, Vocabulary
from tellapart.training.end_to_end.average import Average
from tellapart.training.end_to_end.drawing import CaptionTable
from tellapart.training.end_to_end.joint import JointModel, Parts
from tellapart.training.end_to_end.loop import Settings, Training
from tellapart.training.end_to_end.measure import among_look_alikes
from tellapart.training.end_to_end.object_words import ObjectWords, untrue_objects
from tellapart.training.end_to_end.optimiser import learning_rate_factor
from tellapart.training.end_to_end.pixels import PixelStore
from tellapart.training.end_to_end.rewards import Rewards, RewardWeights, leave_one_out, nearest
from tellapart.training.end_to_end.self_critical import SelfCritical, train_self_critical
from tellapart.training.end_to_end.words import PiecesOfWords, piece_table, swapped, word_table

WORDS = Vocabulary.from_words(["dog", "cat", "a", "b", "c", "d", "e", "f"])


def bytes_of_images(count: int = 3, size: int = 8) -> torch.Tensor:
    return torch.randint(0, 256, (count, size, size, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


def test_a_whole_crop_at_the_same_size_is_the_image() -> None:
    pixels = bytes_of_images()
    taken = resample(pixels, Crops.whole(3, "cpu"), 8)
    torch.testing.assert_close(taken, pixels.permute(0, 3, 1, 2).float(), atol=1e-2, rtol=0)
    store = PixelStore(3, 8, "cpu")
    store.fill(np.arange(3), pixels.numpy())
    assert torch.equal(store.whole(torch.arange(3), 8), (taken - 127) / 128)
    store = PixelStore(3, 8, "cpu", Preprocessing(8, (0.5, 0.4, 0.2), (0.2, 0.25, 0.5)))
    store.fill(np.arange(3), pixels.numpy())
    expected = (taken / 255 - torch.tensor([0.5, 0.4, 0.2]).view(3, 1, 1)) / torch.tensor([0.2, 0.25, 0.5]).view(
        3, 1, 1
    )
    torch.testing.assert_close(store.whole(torch.arange(3), 8), expected)


def test_flipped_crops_are_mirrored_and_their_captions_swapped() -> None:
    pixels, crops = bytes_of_images(), Crops.whole(3, "cpu")
    flipped = Crops(crops.centre, crops.extent, torch.tensor([True, False, True]))
    taken, plain = resample(pixels, flipped, 8), resample(pixels, crops, 8)
    torch.testing.assert_close(taken[0], plain[0].flip(-1), atol=1e-2, rtol=0)
    torch.testing.assert_close(taken[1], plain[1])
    tokens = torch.tensor([[5, 6, 7], [5, 6, 7], [6, 6, 2]])
    table = torch.from_numpy(swap_table(Vocabulary.from_words(["a", "left", "right", "b", "c"])))
    assert swapped(tokens, flipped.flipped, table).tolist() == [[6, 5, 7], [5, 6, 7], [5, 5, 2]]


def test_random_crops_lie_within_the_image() -> None:
    torch.manual_seed(0)
    crops = Crops.random(500, "cpu", least_area=0.6)
    assert float((crops.centre.abs() + crops.extent).max()) <= 1 + 1e-6
    assert float((crops.extent[:, 0] * crops.extent[:, 1]).min()) > 0.5  # clamping a side loses a little area
    assert 0.4 < float(crops.flipped.float().mean()) < 0.6


def test_word_and_piece_tables() -> None:
    vocabulary = Vocabulary.from_words(["a", "dog"])
    captions = [caption.split() for caption in ("a dog runs", "a dog sits on a mat", "dog")]
    assert word_table(captions, vocabulary, longest=3).tolist() == [[1, 4, 5, 3, 2], [1, 4, 5, 3, 3], [1, 5, 2, 0, 0]]
    pieces = Vocabulary.from_words(["ab", "##c", "d"])
    assert piece_table(["AB. ", "abcc d"], pieces, longest=3).tolist() == [[1, 4, 2, 0, 0], [1, 4, 5, 5, 2]]


def test_words_become_pieces_on_the_device() -> None:
    pieces = PiecesOfWords(Vocabulary.from_words(["ab", "c"]), Vocabulary.from_words(["a", "##b", "c"]), longest=2)
    found = pieces(torch.tensor([[4, 5, 2, 4], [5, 3, 5, 5], [4, 4, 4, 4]]), longest=7)
    assert found.tolist() == [[1, 4, 5, 6, 2, 0, 0], [1, 6, 6, 6, 2, 0, 0], [1, 4, 5, 4, 5, 4, 2]]


def test_objects_in_token_ids_are_those_in_words() -> None:
    captions = ["two puppies share a hot dog near a bench", "a man with a teddy bear", "a bear on skis", "nothing"]
    vocabulary = Vocabulary.from_words(dict.fromkeys(" ".join(captions).split()))
    tokens = torch.zeros(4, 10, dtype=torch.long)
    for row, caption in zip(tokens, captions):
        ids = torch.tensor([*vocabulary.encode(caption.split()), END])
        row[: len(ids)] = ids
    dictionary = ConceptDictionary.coco()
    named = ObjectWords(vocabulary)(tokens)
    for row, caption in zip(named, captions):
        found = {dictionary.labels[number] for number in row.nonzero().flatten().tolist()}
        assert found == set(dictionary.of_sentence(caption.split()))
    assert untrue_objects(named[:2], named[1:3]).tolist() == [3.0, 2.0]


def test_nearest_look_alikes_and_the_baseline() -> None:
    vectors = torch.tensor([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    assert nearest(vectors, 1, block=2).flatten().tolist() == [1, 0, 1]
    assert among_look_alikes(vectors, vectors, torch.tensor([[1], [0], [1]])) == pytest.approx(2 / 3)
    assert leave_one_out(torch.tensor([1.0, 2.0, 6.0]), 3).tolist() == [-3.0, -1.5, 4.5]


def test_average_follows() -> None:
    model = nn.Sequential(nn.Linear(40, 30), nn.BatchNorm1d(30))
    average = Average(model, 0.5)
    before = model[0].weight.detach().clone()
    with torch.no_grad():
        model[0].weight.add_(1.0)
        model[1].running_mean.fill_(3.0)
    average.update(model)
    torch.testing.assert_close(average.model[0].weight, before + 0.9)  # the first decay is 1 / 10
    assert float(average.model[1].running_mean[0]) == 3.0


def test_learning_rate_warms_up_and_ends_low() -> None:
    assert learning_rate_factor(0, 0.0, 10) == pytest.approx(0.1)
    assert learning_rate_factor(99, 0.0, 10) == pytest.approx(1.0)
    assert learning_rate_factor(99, 1.0, 10) == pytest.approx(0.01)


class TinyBackbone(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(3, 8, 4, stride=4), nn.BatchNorm2d(8)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.norm(self.convolution(pixels))


def tiny_world() -> tuple[JointModel, PixelStore, CaptionTable]:
    torch.manual_seed(0)
    captioner = TransformerCaptioner(Transformer(width=16, heads=2, feed_forward=16), 12, 8, 4)
    model = JointModel(TinyBackbone(), DualEncoderModel(8, WordGru(12, 6, 6), 10), captioner)
    store = PixelStore(6, 8, "cpu")
    store.fill(np.arange(6), bytes_of_images(6).numpy())
    tokens = torch.randint(4, 12, (6, 5, 7), dtype=torch.int32)
    tokens[:, :, 0], tokens[:, :, 5], tokens[:, :, 6] = START, END, 0
    return model, store, CaptionTable(tokens, torch.arange(12))


def test_joint_training_and_self_critical_training_run() -> None:
    model, store, words = tiny_world()
    lines: list[str] = []
    settings = Settings(size=8, batch=4, most_steps=3, seconds=60, warm_up=1, compiled=False, log_every=1)
    training = Training(model, store, words, words, settings, lines.append)
    before = model.backbone.norm.running_mean.clone()
    training.warm()
    assert torch.equal(model.backbone.norm.running_mean, before)
    assert training.run(lambda: np.arange(6), lambda *_: None) == 3
    assert sum("images/s" in line for line in lines) == 3
    features = model.cells(store.whole(torch.arange(6), 8)).detach()
    references = words.tokens.long()
    cider = TokenCider.from_references(references[:, :, 1:].flatten(0, 1), torch.arange(6).repeat_interleave(5))
    objects = ObjectWords(WORDS)
    pieces = PiecesOfWords(WORDS, WORDS)
    vectors = torch.nn.functional.normalize(torch.randn(6, 10), dim=1)
    matcher = DualEncoderModel(8, WordGru(12, 6, 6), 10)
    rewards = Rewards(cider, matcher, pieces, objects, vectors, nearest(vectors, 2), torch.zeros(6, 80).bool(), 10.0)
    chosen = SelfCritical(
        batch=4, each=2, most_steps=2, seconds=60, log_every=1, most_words=5, reward=RewardWeights(1, 1, 1)
    )
    averaged = train_self_critical(
        model.captioner, features, references, rewards, lambda: np.arange(6), chosen, lines.append
    )
    assert isinstance(averaged, TransformerCaptioner)
    assert "retrieval" in lines[-1] and "untrue" in lines[-1]


def test_failed_compilation_and_lack_of_memory_do_not_end_training(monkeypatch: pytest.MonkeyPatch) -> None:
    model, store, words = tiny_world()
    lines: list[str] = []
    settings = Settings(size=8, batch=16, most_steps=4, seconds=60, warm_up=1, compiled=False, log_every=1)
    training = Training(model, store, words, words, settings, lines.append)
    failing = Parts.of(model, settings.weights, compiled=False)
    failing.compiled, failing.likelihood = True, lambda cells, tokens: 1 / 0
    training.parts = failing
    taken = training._losses

    def short_of_memory(rows: torch.Tensor) -> dict[str, torch.Tensor]:
        if len(rows) > 8:
            raise torch.OutOfMemoryError("too much")
        return taken(rows)

    monkeypatch.setattr(training, "_losses", short_of_memory)
    assert training.run(lambda: np.arange(6), lambda *_: None) == 4
    assert training.batch == 8 and not training.parts.compiled
    assert "out of memory" in lines[0] and "without compilation" in lines[1]
