"""Parts of objectives that the tests of whole objectives do not notice: logged values, edges, what is never read."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor

from frozen_values import changeable
from tellapart.core.errors import InputError
from tellapart.core.types import Batch, Encoded, Images, State, Step, Texts
from tellapart.models.captioners.neuraltalk import NeuralTalk2
from tellapart.models.decoding import Decoded, log_prob
from tellapart.models.matchers.scan import SCAN
from tellapart.models.matchers.vse import VSE
from tellapart.objectives import adversarial, attention_supervision, extra_loss
from tellapart.objectives.adversarial import Adversarial
from tellapart.objectives.attention_supervision import TeacherAttention, TokenLookup
from tellapart.objectives.caption_judge import CaptionJudge
from tellapart.objectives.context import Context
from tellapart.objectives.extra_loss import Joining
from tellapart.objectives.introspection import Introspection
from tellapart.objectives.latent_target import LatentTarget
from tellapart.objectives.likelihood import Likelihood, LikelihoodObjective, sampled_predictions
from tellapart.objectives.reference_contrast import ReferenceContrastLearning
from tellapart.objectives.rewards import Rewards, match
from tellapart.objectives.self_critical import loss_and_values
from tiny_world import tiny_context


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return tiny_context(tmp_path)


def test_settings_never_change() -> None:
    """Recipes are hashed by them, and stages share them."""
    assert changeable("objectives") == []


class Certain:
    """A captioner that is sure of one next word per caption: its row's own word."""

    def __init__(self) -> None:
        self.read: list[Tensor] = []

    def start(self, images: Images) -> State:
        return {"row": torch.arange(len(images))}

    def step(self, word: Tensor, state: State) -> Step:
        self.read.append(word)
        logits = torch.zeros(len(word), 12)
        logits[torch.arange(len(word)), 5 + state["row"]] = 50.0
        return Step(logits, state)


def test_scheduled_sampling_draws_from_the_prediction_of_each_caption(context: Context) -> None:
    """A softmax over captions instead of words would draw words that nobody predicted."""
    batch = context.batches.images_and_captions(context.pack.split("train").images[:3])
    captioner = Certain()
    sampled_predictions(captioner, batch, 1.0)  # type: ignore[arg-type]
    assert len(captioner.read) > 2
    for word in captioner.read[1:]:
        assert torch.equal(word, 5 + batch.owner)


def test_the_share_of_own_words_is_zero_outside_training(context: Context) -> None:
    config = Likelihood(sampling_most=0.5, sampling_rise=0.25, sampling_every=1)
    objective = config.build(NeuralTalk2(hidden=8).build(context.inputs), context)
    batch = context.batches.batch(context.pack.split("train").captions[:4])
    assert objective.phase() == 0.0
    objective.seen.fill_(16)
    objective.train().prepare(batch)
    assert objective.phase() == 0.25
    objective.eval().prepare(batch)
    assert objective.phase() == 0.0


@pytest.mark.parametrize(("most", "draws"), [(0.0, False), (1.0, True)])
def test_only_scheduled_sampling_draws_words(context: Context, most: float, draws: bool) -> None:
    """Without it, a step uses no random numbers but those of dropout, and reads captions at once."""
    model = NeuralTalk2(hidden=8, dropout=0.0, word_dropout=0.0).build(context.inputs)
    config = Likelihood(sampling_most=most, sampling_rise=1.0, sampling_every=1)
    objective = config.build(model, context).train()
    objective.seen.fill_(16)  # one epoch
    before = torch.get_rng_state()
    objective(context.batches.batch(context.pack.split("train").captions[:4]))
    assert torch.equal(torch.get_rng_state(), before) != draws


def test_epochs_of_a_single_caption_are_counted(context: Context) -> None:
    """One caption per epoch: after three of them the share has risen three times."""
    config = Likelihood(sampling_most=1.0, sampling_rise=0.25, sampling_every=1)
    objective = LikelihoodObjective(config, NeuralTalk2(hidden=8).build(context.inputs), captions=1)
    objective.seen.fill_(3)
    assert objective.share() == 0.75


@pytest.mark.parametrize(("shape", "per"), [((24,), "caption"), ((12, 6), "image")])
def test_a_latent_target_is_one_vector_per_caption(context: Context, shape: tuple[int, ...], per: str) -> None:
    context.pack.save_column("odd", np.zeros(shape, np.float32), per)
    with pytest.raises(InputError, match="one vector per caption"):
        LatentTarget(column="odd").build(VSE(embedding=8, word_width=4).build(context.inputs), context)


class Rated:
    """A matcher with given scores of its two images."""

    def encode_image(self, images: Images) -> Encoded:
        return Encoded(images.features[:, 0])

    def encode_text(self, texts: Texts) -> Encoded:
        return Encoded(texts.tokens.float())

    def score(self, images: Encoded, texts: Encoded) -> Tensor:
        return images.vectors @ texts.vectors.T


class Scaled(Rated):
    """The same with a learned scale."""

    def scale(self) -> Tensor:
        return torch.tensor(3.0, requires_grad=True)


@pytest.mark.parametrize(("matcher", "scale"), [(Rated(), 20.0), (Scaled(), 3.0)])
def test_a_judge_reads_scores_at_its_temperature(matcher: Rated, scale: float) -> None:
    """p(I | c) is a softmax of the scores over 0.05, or at the matcher's own scale. Scores here: 0.1 and 0.3."""
    images = Images(torch.tensor([[[0.1]], [[0.3]]]), torch.ones(2, 1, dtype=torch.bool))
    judge = CaptionJudge(
        matcher,
        lambda rows: images.select(torch.from_numpy(rows)),
        lambda captions: Texts(torch.ones(len(captions), 1, dtype=torch.long), torch.ones(len(captions))),
    )
    found = judge.posterior(torch.arange(2), ["a", "a"], torch.tensor([0, 1]))
    ahead = 1 / (1 + np.exp(-scale * 0.2))
    assert found.tolist() == pytest.approx([1 - ahead, ahead], rel=1e-5)


def test_judged_rewards_are_opened_and_weighted(context: Context) -> None:
    """With a judge that is half sure, twice the retrieval weight is a reward of one."""
    asked: list[str] = []
    judge = SimpleNamespace(posterior=lambda rows, captions, owner: torch.full((len(captions),), 0.5))
    opened = Context(
        context.pack, context.inputs, context.batches, context.store, context.device,
        load_judge=lambda name: asked.append(name) or judge,  # type: ignore[func-returns-value, arg-type, return-value]
    )  # fmt: skip
    batch = context.batches.images_and_captions(context.pack.split("train").images[:2])
    reward = Rewards(cider=0.0, judge="bundled:matcher", retrieval=2.0).build(opened)
    assert asked == ["bundled:matcher"]
    assert reward(torch.tensor([[4, 2], [5, 2]]), batch, torch.tensor([0, 1])).tolist() == [1.0, 1.0]


def test_bleu_rewards_are_added(context: Context) -> None:
    """A caption of the image itself has a BLEU-4 of one where it has four words or more with END."""
    batch = context.batches.images_and_captions(context.pack.split("train").images)
    longest = int(batch.texts.lengths.argmax())
    tokens, owner = batch.texts.tokens[longest : longest + 1, 1:], batch.owner[longest : longest + 1]
    reward = Rewards(cider=0.0, bleu=3.0).build(context)
    assert reward(tokens, batch, owner).item() == pytest.approx(3.0, rel=1e-4)


class ReadsNouns(Rated):
    """Its captions are the number of their words that are marked as nouns, or -1 without marks."""

    def encode_text(self, texts: Texts) -> Encoded:
        marked = texts.columns["nouns"].float().sum(1) if "nouns" in texts.columns else -torch.ones(len(texts.tokens))
        return Encoded(marked.unsqueeze(1))


def test_a_matcher_is_shown_the_nouns_where_they_are_known() -> None:
    images = Images(torch.tensor([[[1.0]], [[10.0]]]), torch.ones(2, 1, dtype=torch.bool))
    none = torch.zeros(0, dtype=torch.long)
    batch = Batch(images, Texts(none.view(0, 1), none), none, torch.arange(2), none)
    tokens, owner = torch.tensor([[5, 6, 5, 2], [6, 2, 0, 0]]), torch.tensor([1, 0])
    nouns = torch.tensor([word == 5 for word in range(8)])
    assert match(ReadsNouns(), tokens, batch, owner, nouns).tolist() == [20.0, 0.0]
    assert match(ReadsNouns(), tokens, batch, owner).tolist() == [-10.0, -1.0]


def test_all_processes_measure_the_mean_of_the_second_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """0.3 here and 0.5 in another process."""
    monkeypatch.setattr(extra_loss, "gather_rows", lambda own: torch.cat([own, torch.tensor([0.5])]))
    found = Joining(weight=2.0).build()(torch.tensor(1.0), torch.tensor(0.3), pairs=4)
    assert found["reconstruction"].item() == pytest.approx(0.4) and found["loss"].item() == pytest.approx(1.6)


def test_logged_values_of_scst_are_means() -> None:
    """Captions of two words and of one with END; rewards 1 and 4, advantages -1 and 3."""
    tokens = torch.tensor([[5, 6, 2], [5, 2, 0]])
    words = torch.tensor([[-1.0, -2.0, -3.0], [-4.0, -5.0, 0.0]])
    found = loss_and_values(tokens, words, torch.tensor([1.0, 4.0]), torch.tensor([-1.0, 3.0]))
    assert {name: value.item() for name, value in found.items()} == pytest.approx(
        {"loss": -(-1.0 * -6.0 + 3.0 * -9.0) / 5, "reward": 2.5, "advantage": 1.0, "words": 2.5}
    )


def test_rollouts_are_compared_with_the_other_samples(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """-sum over words of (expected reward - mean reward of the image's other samples) ln p(word), over all words."""
    torch.manual_seed(0)
    config = Adversarial(width=8, samples=2, rollouts=1, evaluator_first=0)
    objective = config.build(NeuralTalk2(hidden=8).build(context.inputs), context)
    batch = context.batches.images_and_captions(context.pack.split("train").images[:1])
    words = torch.tensor([[-1.0, -2.0], [-3.0, 0.0]], requires_grad=True)
    drawn = Decoded(torch.tensor([[5, 2], [2, 0]]), words.sum(1), None, words)
    expected = torch.tensor([[0.9, 0.2], [0.4, 0.0]])
    monkeypatch.setattr(adversarial, "rollout_rewards", lambda *_: expected)
    monkeypatch.setattr(objective, "rewards", lambda *_: torch.tensor([0.5, 0.1]))
    loss, reward = objective.policy_loss(batch, drawn, torch.tensor([0, 0]))
    total = (0.9 - 0.1) * -1.0 + (0.2 - 0.1) * -2.0 + (0.4 - 0.5) * -3.0
    assert loss.item() == pytest.approx(-total / 3, rel=1e-5) and reward.item() == pytest.approx(0.3)


def test_a_stored_run_keeps_its_other_images(context: Context) -> None:
    """The next image in a cycle that depends on the seed alone; images outside the split meet the first."""
    found = Introspection(seed=4).build(NeuralTalk2(hidden=8).build(context.inputs), context).others
    train = context.pack.split("train").images
    cycle = np.random.default_rng(4).permutation(train).tolist()
    following = dict(zip(cycle, [*cycle[1:], cycle[0]]))
    assert found.tolist() == [following.get(image, cycle[0]) for image in range(12)]


def test_logged_gains_of_contrastive_learning_are_means(context: Context) -> None:
    """The mean of G = ln p_m - ln p_n, over true pairs and over mismatched pairs; one round is enough."""
    torch.manual_seed(0)
    context.models["mle"] = NeuralTalk2(hidden=8, dropout=0.0).build(context.inputs)
    target = NeuralTalk2(hidden=8, dropout=0.0).build(context.inputs)
    objective = ReferenceContrastLearning(reference="mle", rounds=1).build(target, context).eval()
    batch = context.batches.images_and_captions(context.pack.split("train").images[:4])
    texts, owner = objective.mismatched_texts(batch)
    found = objective(batch, (texts, owner))
    for name, tokens, owners in (
        ("gain", batch.texts.tokens, batch.owner),
        ("mismatched_gain", texts.tokens, owner),
    ):
        each = [log_prob(model, batch.images, tokens, owners) for model in (target, context.models["mle"])]
        assert found[name].item() == pytest.approx((each[0] - each[1]).mean().item(), rel=1e-4)


def test_images_without_captions_are_never_mismatched(context: Context) -> None:
    """Such an image has no caption that another could be paired with."""
    train = context.pack.split("train").images
    silent = int(train[2])
    context.pack.captions_of[silent].clear()
    context.models["mle"] = NeuralTalk2(hidden=8).build(context.inputs)
    objective = ReferenceContrastLearning(reference="mle").build(NeuralTalk2(hidden=8).build(context.inputs), context)
    assert objective.images.tolist() == [image for image in train.tolist() if image != silent]
    assert silent not in objective.mismatched.order.tolist()


def test_places_after_a_caption_are_not_looked_up() -> None:
    """A pack of one word: its caption is "dog", and another one is empty."""
    context = SimpleNamespace(pack=SimpleNamespace(offsets=np.array([0, 1, 1])), device=torch.device("cpu"))
    texts = Texts(torch.tensor([[1, 5, 2], [1, 2, 0]]), torch.tensor([3, 2]))
    images = Images(torch.zeros(1, 1, 1), torch.ones(1, 1, dtype=torch.bool))
    batch = Batch(images, texts, torch.tensor([0, 0]), torch.tensor([0]), torch.tensor([0, 1]))
    caption, position, token = TokenLookup(context).chosen(batch, torch.tensor([True]))  # type: ignore[arg-type]
    assert (caption.tolist(), position.tolist(), token.tolist()) == ([0], [0], [0])


def test_attention_is_stored_in_chunks_of_images_with_different_regions(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three captions at once: their images have two to four regions."""
    torch.manual_seed(0)
    context.models["scan"] = SCAN(8, 4).build(context.inputs)
    monkeypatch.setattr(attention_supervision, "CHUNK", 3)
    captions = context.pack.split("train").captions
    asked = TeacherAttention(context, "scan", stored=False)
    stored = TeacherAttention(context, "scan")
    widths = set()
    for first in range(0, len(captions), 4):
        batch = context.batches.batch(captions[first : first + 4])
        widths.add(batch.images.features.shape[1])
        torch.testing.assert_close(stored(batch, True).weights, asked(batch, True).weights, atol=1e-3, rtol=1e-2)
    assert len(widths) > 1 and stored.kept.shape[1] == 4
