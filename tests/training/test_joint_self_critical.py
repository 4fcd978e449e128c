"""Self-critical training with the backbone: who learns, what mirrored images are paid for, and hard negatives."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tellapart.images.crops import Crops
from tellapart.metrics.captions.token_reward import TokenCider
from tellapart.models.captioners.transformer import Transformer, TransformerCaptioner
from tellapart.models.matchers.dual_encoder import DualEncoderModel
from tellapart.models.matchers.word_gru import WordGru
from tellapart.text.sides import swap_table
from tellapart.text.vocabulary import END, START, Vocabulary
from tellapart.training.end_to_end import joint_self_critical
from tellapart.training.end_to_end.drawing import CaptionTable, with_look_alikes
from tellapart.training.end_to_end.joint import JointModel
from tellapart.training.end_to_end.joint_self_critical import JointSelfCritical, JointSelfCriticalTraining
from tellapart.training.end_to_end.object_words import ObjectWords
from tellapart.training.end_to_end.pixels import PixelStore
from tellapart.training.end_to_end.rewards import Rewards, RewardWeights, nearest
from tellapart.training.end_to_end.words import PiecesOfWords

WORDS = Vocabulary.from_words(["a", "dog", "left", "right", "cat", "red", "kite", "sofa"])
LEFT, RIGHT, END_ID = WORDS.ids["left"], WORDS.ids["right"], END
SETTINGS = JointSelfCritical(
    size=8, batch=4, each=2, most_steps=3, seconds=60, warm_up=1, most_words=4, log_every=1, look_alikes=0.0
)


class TinyBackbone(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(3, 8, 4, stride=4), nn.BatchNorm2d(8)

    def forward(self, pixels: Tensor) -> Tensor:
        return self.norm(self.convolution(pixels))


def training(settings: JointSelfCritical = SETTINGS) -> JointSelfCriticalTraining:
    """Three images whose references say "a dog left", and three with "a red kite"."""
    torch.manual_seed(0)
    size = len(WORDS)
    captioner = TransformerCaptioner(Transformer(width=16, heads=2, feed_forward=16), size, 8, 4)
    model = JointModel(TinyBackbone(), DualEncoderModel(8, WordGru(size, 6, 6), 10), captioner)
    store = PixelStore(6, 8, "cpu")
    store.fill(np.arange(6), np.random.default_rng(0).integers(0, 256, (6, 8, 8, 3), dtype=np.uint8))
    tokens = torch.tensor([START, WORDS.ids["a"], WORDS.ids["dog"], LEFT, END_ID, 0]).int().repeat(6, 5, 1)
    tokens[3:, :, 2:4] = torch.tensor([WORDS.ids["red"], WORDS.ids["kite"]])
    table = CaptionTable(tokens, torch.from_numpy(swap_table(WORDS)))
    cider = TokenCider.from_references(tokens[:, :, 1:].long().flatten(0, 1), torch.arange(6).repeat_interleave(5))
    vectors = nn.functional.normalize(torch.randn(6, 10), dim=1)
    frozen = DualEncoderModel(8, WordGru(size, 6, 6), 10).eval().requires_grad_(False)
    near, named = nearest(vectors, 2), torch.zeros(6, 80, dtype=torch.bool)
    rewards = Rewards(cider, frozen, PiecesOfWords(WORDS, WORDS), ObjectWords(WORDS), vectors, near, named, 10.0)
    return JointSelfCriticalTraining(model, store, table, table, rewards, settings)


def test_backbone_matcher_and_captioner_learn_and_the_judge_of_rewards_does_not() -> None:
    trained, lines, kept = training(), [], []
    before = {name: value.clone() for name, value in trained.model.state_dict().items()}
    paid_by = [value.clone() for value in trained.rewards.matcher.parameters()]
    trained.settings = JointSelfCritical(**{**vars(SETTINGS), "keep_every": 0.0})
    average = trained.run(lambda: np.arange(6), lines.append, kept.append)
    assert len(lines) == 3 and "contrastive" in lines[0] and "retrieval" in lines[0] and len(kept) == 3
    after = trained.model.state_dict()
    for name in ("backbone.convolution.weight", "captioner.bias", "matcher.text.words.weight"):
        assert not torch.equal(before[name], after[name]), name
        assert not torch.equal(average.state_dict()[name], after[name]), name
    assert all(torch.equal(a, b) for a, b in zip(paid_by, trained.rewards.matcher.parameters()))


def test_the_policy_gradient_reaches_the_backbone() -> None:
    alone = JointSelfCritical(**{**vars(SETTINGS), "contrastive": 0.0, "likelihood": 0.0})
    trained = training(alone)
    torch.autograd.backward(trained.losses(torch.arange(4))["loss"])
    gradient = trained.model.backbone.convolution.weight.grad  # type: ignore[union-attr]
    assert gradient is not None and float(gradient.abs().max()) > 0


@pytest.mark.parametrize("mirrored", [False, True])
def test_mirrored_images_are_paid_for_the_other_side(monkeypatch: pytest.MonkeyPatch, mirrored: bool) -> None:
    """The references say "left": of a mirrored image, "a dog right" is the right caption."""
    trained = training(JointSelfCritical(**{**vars(SETTINGS), "reward": RewardWeights(retrieval=0.0)}))
    numbers = torch.full((3, 5), 0.0 if mirrored else 0.9)
    monkeypatch.setattr(joint_self_critical.Crops, "random", lambda *_: Crops.drawn(numbers, 1.0))
    paid = {}
    for side in (LEFT, RIGHT):
        said = torch.tensor([WORDS.ids["a"], WORDS.ids["dog"], side, END_ID, 0])
        monkeypatch.setattr(joint_self_critical, "draw_captions", lambda *_, said=said: said.repeat(6, 1))
        paid[side] = float(trained.losses(torch.arange(3))["cider"])
    assert (paid[RIGHT] > paid[LEFT]) == mirrored


def test_look_alikes_replace_the_end_of_a_batch() -> None:
    torch.manual_seed(0)
    neighbours = torch.arange(20).unsqueeze(1) + torch.tensor(
        [100, 200]
    )  # the look-alikes of r are r + 100 and r + 200
    rows = torch.tensor([3, 7, 5, 9])
    assert with_look_alikes(rows, neighbours, 0.0).tolist() == rows.tolist()
    assert with_look_alikes(rows, neighbours, 1.0)[0] == 3
    for _ in range(10):
        drawn = with_look_alikes(rows, neighbours, 0.5).tolist()
        assert drawn[:2] == [3, 7] and drawn[2] in {103, 107, 203, 207} and drawn[3] in {103, 107, 203, 207, 5}


def test_no_image_is_in_a_batch_twice() -> None:
    """Its captions would have it as a negative."""
    torch.manual_seed(0)
    alike = torch.tensor([[1, 2], [0, 2], [0, 1], [4, 5], [3, 5], [3, 4]])
    for share in (0.25, 0.5, 1.0):
        for _ in range(20):
            drawn = with_look_alikes(torch.randperm(6)[:4], alike, share).tolist()
            assert len(drawn) == len(set(drawn)) == 4
    assert with_look_alikes(torch.tensor([0, 0, 0, 0]), alike, 0.5).shape == (4,), "unless the set is tiny"


def test_lack_of_memory_halves_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    trained, lines = training(JointSelfCritical(**{**vars(SETTINGS), "batch": 16, "most_steps": 2})), []

    def too_large(rows: Tensor) -> dict[str, Tensor]:
        if len(rows) > 8:
            raise torch.OutOfMemoryError("no memory")
        return JointSelfCriticalTraining.losses(trained, rows)

    monkeypatch.setattr(trained, "losses", too_large)
    trained.run(lambda: np.arange(6), lines.append)
    assert trained.batch == 8 and "the batch is now 8" in lines[0]
