"""SCST: rewards part by part, both baselines, the loss written out, and that the reward rises."""

from pathlib import Path

import numpy as np
import pytest
import torch

from recording_world import NoQuestions
from tellapart.core.errors import InputError
from tellapart.core.recording import recorded
from tellapart.core.types import Batch, Encoded, Images, Texts
from tellapart.metrics.captions.bleu import bleu
from tellapart.metrics.captions.cider import cider_d
from tellapart.models.captioners.neuraltalk import NeuralTalk2
from tellapart.models.decoding import sample
from tellapart.objectives.context import Context
from tellapart.objectives.rewards import Rewards
from tellapart.objectives.self_critical import RereadObjective, SelfCritical, greedy_rewards
from tiny_world import tiny_context


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return tiny_context(tmp_path)


def all_images(context: Context) -> Batch:
    return context.batches.images_and_captions(context.pack.split("train").images)


def spelled(tokens: torch.Tensor) -> list[str]:
    return [" ".join(str(word) for word in row if word) for row in tokens.tolist()]


def test_rewards_are_the_metrics_on_ids(context: Context) -> None:
    """CIDEr-D and BLEU-4 of the ids written as words, END among them, weighted and added."""
    batch = all_images(context)
    tokens = batch.texts.tokens[::2, 1:].roll(1, 0)  # each image gets its neighbour's first caption
    owner = torch.arange(len(tokens))
    found = Rewards(cider=0.5, bleu=3.0).build(context)(tokens, batch, owner)
    references = [spelled(batch.texts.tokens[batch.owner == image, 1:]) for image in range(len(tokens))]
    candidates = spelled(tokens)
    expected = 0.5 * cider_d(candidates, references).each + 3.0 * bleu(candidates, references)[3].each
    torch.testing.assert_close(found, torch.from_numpy(expected).float(), atol=1e-4, rtol=1e-4)


class Likes:
    """A matcher that scores a sentence by its length and an image by its row."""

    def encode_image(self, images: Images) -> Encoded:
        return Encoded(torch.arange(len(images)).float().unsqueeze(1))

    def encode_text(self, texts: Texts) -> Encoded:
        assert (texts.tokens[:, 0] == 1).all()
        return Encoded(texts.lengths.float().unsqueeze(1))

    def score(self, images: Encoded, texts: Encoded) -> torch.Tensor:
        return 100 * images.vectors + texts.vectors.T


class LikesModule(torch.nn.Module, Likes):
    pass


def test_a_matcher_rewards(context: Context) -> None:
    context.models["scan"] = LikesModule()
    batch = all_images(context)
    tokens = torch.tensor([[4, 5, 2, 0], [4, 2, 0, 0]])
    reward = Rewards(cider=0.0, matcher="scan", matching=2.0).build(context)
    assert reward(tokens, batch, torch.tensor([3, 1])).tolist() == [2 * (300 + 4), 2 * (100 + 3)]
    context.models["captioner"] = NeuralTalk2(hidden=4).build(context.inputs)
    with pytest.raises(InputError, match="not a matcher"):
        Rewards(matcher="captioner").build(context)


def test_a_matcher_knows_which_words_are_nouns(context: Context) -> None:
    """By the pack's marks, where it has them: POS-SCAN reads nouns only."""
    context.models["scan"] = LikesModule()
    nouns = Rewards(cider=0.0, matcher="scan").build(context).nouns
    assert nouns is not None
    marked = {context.pack.vocabulary.words[word] for word in nouns.nonzero().flatten().tolist()}
    assert marked == {"dog", "cat", "grass", "sand", "ball"}


def test_one_image_of_another_split_is_rejected(context: Context) -> None:
    images = np.concatenate([context.pack.split("train").images[:2], context.pack.split("val").images[:1]])
    batch = context.batches.images_and_captions(images)
    tokens = torch.tensor([[4, 5, 2]] * 3)
    with pytest.raises(InputError, match="training split"):
        Rewards().build(context)(tokens, batch, torch.arange(3))


@pytest.mark.parametrize("baseline", ["greedy", "leave-one-out"])
def test_loss_written_out(context: Context, baseline: str) -> None:
    model = NeuralTalk2(hidden=8).build(context.inputs)
    objective = SelfCritical(baseline=baseline, samples=3, max_words=5).build(model, context).eval()
    batch = all_images(context)
    torch.manual_seed(2)
    loss = objective(batch)["loss"].item()
    torch.manual_seed(2)
    drawn = sample(model, batch.images, 3, max_words=5)
    rewards = objective.reward(drawn.tokens, batch, torch.arange(len(batch.images)).repeat_interleave(3))
    total = 0.0
    for row, reward in enumerate(rewards.tolist()):
        image = row // 3
        if baseline == "greedy":
            against = greedy_rewards(objective.config, objective.model, objective.reward, batch)[image].item()
        else:
            against = (rewards[image * 3 : image * 3 + 3].sum().item() - reward) / 2
        total -= float(drawn.word_log_probability[row].detach().sum()) * (reward - against)
    words = int((drawn.tokens != 0).sum())
    assert loss == pytest.approx(total / words, rel=1e-3, abs=1e-5)
    assert not model.training


def test_reward_rises(context: Context) -> None:
    torch.manual_seed(0)
    objective = SelfCritical(baseline="leave-one-out", samples=8, max_words=6).build(
        NeuralTalk2(hidden=16, dropout=0.0).build(context.inputs), context
    )
    optimiser = torch.optim.Adam(objective.parameters(), 0.02)
    batch = all_images(context)
    rewards = []
    for _ in range(40):
        optimiser.zero_grad()
        loss_and_values = objective(batch)
        loss_and_values["loss"].backward()
        optimiser.step()
        rewards.append(loss_and_values["reward"].item())
    assert sum(rewards[-5:]) > 1.25 * sum(rewards[:5])


def test_errors(context: Context) -> None:
    model = NeuralTalk2(hidden=4).build(context.inputs)
    with pytest.raises(InputError, match="Unknown baseline"):
        SelfCritical(baseline="mean").build(model, context)
    with pytest.raises(InputError, match="two samples"):
        SelfCritical(baseline="leave-one-out", samples=1).build(model, context)
    with pytest.raises(InputError, match="needs baseline=leave-one-out"):
        SelfCritical(reread=True).build(model, context)
    with pytest.raises(InputError, match="need an image of the training split"):
        val = context.batches.images_and_captions(context.pack.split("val").images)
        SelfCritical().build(model, context)(val)


@pytest.mark.parametrize("max_words", [2, 20])
def test_rereading_gives_the_same_loss_and_gradient_without_dropout(context: Context, max_words: int) -> None:
    batch, found = all_images(context), []
    for reread in (False, True):
        torch.manual_seed(0)
        model = NeuralTalk2(hidden=16, dropout=0.0, word_dropout=0.0).build(context.inputs)
        settings = SelfCritical(Rewards(cider=1.0), "leave-one-out", samples=3, max_words=max_words, reread=reread)
        objective = settings.build(model, context).train()
        torch.manual_seed(1)
        loss_and_values = objective(batch)
        loss_and_values["loss"].backward()
        found.append((loss_and_values, [parameter.grad for parameter in model.parameters()]))
    for name, value in found[0][0].items():
        torch.testing.assert_close(found[1][0][name], value, atol=1e-5, rtol=1e-4)
    for plain, again in zip(found[0][1], found[1][1]):
        torch.testing.assert_close(again, plain, atol=1e-6, rtol=1e-3)


def test_sentences_worth_the_same_move_nothing_though_dropout_reads_them(context: Context) -> None:
    model = NeuralTalk2(hidden=16, dropout=0.5).build(context.inputs)
    config = SelfCritical(baseline="leave-one-out", samples=3, reread=True)
    objective = RereadObjective(config, model, lambda tokens, batch, owner: torch.ones(len(tokens))).train()  # type: ignore[arg-type]
    objective(all_images(context))["loss"].backward()
    assert all(float(parameter.grad.abs().max()) == 0 for parameter in model.parameters() if parameter.grad is not None)


def test_rereading_can_be_recorded_and_has_the_models_weights_once(context: Context) -> None:
    model = NeuralTalk2(hidden=16).build(context.inputs)
    objective = SelfCritical(baseline="leave-one-out", reread=True).build(model, context).train()
    assert {name.split(".")[0] for name in objective.state_dict()} == {"model"}
    batch = all_images(context)
    prepared = objective.prepare(batch)
    assert model.training
    with recorded(), NoQuestions():
        objective(batch, prepared)["loss"].backward()
