"""Input target decoding: the likelihood against a loop, a bound that needs the caption's vector, both decoders learn,
both readings of the softmax."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.models.matchers import MATCHERS
from tellapart.models.matchers.vse import VSE
from tellapart.objectives.extra_loss import Joining
from tellapart.objectives.input_target import InputTarget
from tellapart.papers.recipes import RECIPES
from tellapart.text.vocabulary import PAD
from tiny_world import tiny_context

SMALL = {"word_width": 8, "hidden": 12}


@pytest.mark.parametrize("per_token", [True, False])
def test_likelihood_against_a_loop(tmp_path: Path, per_token: bool) -> None:
    context = tiny_context(tmp_path)
    torch.manual_seed(0)
    model = VSE(embedding=8, word_width=8).build(context.inputs)
    objective = InputTarget(per_token=per_token, **SMALL).build(model, context)
    texts = context.batches.texts(np.arange(7))
    logits = objective.decoder(model.encode_text(texts).vectors, texts.tokens)
    total, count = 0.0, 0
    for sentence, words in zip(logits, texts.tokens[:, 1:]):
        for row, word in zip(sentence, words):
            if word != PAD:
                total -= torch.log_softmax(row, 0)[word].item()
                count += 1
    found = objective.likelihood(logits, texts.tokens[:, 1:]).item()
    assert found == pytest.approx(total / (count if per_token else 7), rel=1e-5)


@pytest.mark.parametrize("recipe", ["ltd-baseline-itd", "ltd-triplet-itd"])
def test_word_frequencies_alone_do_not_meet_the_bound(tmp_path: Path, recipe: str) -> None:
    """The best decoder that ignores the vector has the entropy of single words per word. The mean over words of eleven
    equally frequent words is at most log 13 = 2.6 nats, below the bound of 6; the sum of Eq. 4 is above it."""
    context = tiny_context(tmp_path)
    chosen = RECIPES[recipe].stages[0].objective
    objective = chosen.build(VSE(embedding=8, word_width=8).build(context.inputs), context)
    words = context.batches.texts(np.arange(24)).tokens[:, 1:]
    counts = torch.bincount(words[words != PAD], minlength=len(context.inputs.vocabulary)).double()
    frequencies = (counts.clamp(min=1e-9) / counts.sum()).log()
    met_by_all = objective.likelihood(frequencies.expand(*words.shape, -1), words).item()
    assert met_by_all > chosen.joining.bound
    per_word = met_by_all * len(words) / counts.sum().item()
    assert per_word == pytest.approx(-(frequencies.exp() * frequencies).sum().item(), rel=1e-6)
    assert per_word < chosen.joining.bound  # so that a mean over words would meet it


@pytest.mark.parametrize("from_regions", [False, True])
@pytest.mark.parametrize("bound", [0.0, 1.0])
def test_both_decoders_learn_to_write_back(tmp_path: Path, from_regions: bool, bound: float) -> None:
    context = tiny_context(tmp_path)
    torch.manual_seed(0)
    config = MATCHERS["vsrn"](embedding=16, word_width=8) if from_regions else VSE(embedding=16, word_width=8)
    objective = InputTarget(joining=Joining(bound=bound), from_regions=from_regions, **SMALL).build(
        config.build(context.inputs), context
    )
    batch = context.batches.batch(np.arange(12))
    optimiser = torch.optim.Adam(objective.parameters(), 1e-2)
    values = []
    for _ in range(30):
        optimiser.zero_grad()
        step = objective(batch)
        step["loss"].backward()
        optimiser.step()
        values.append(step["reconstruction"].item())
    assert values[-1] < 0.8 * values[0]
    assert ("multiplier" in step) == (bound > 0)


def test_the_released_softmax_runs_over_time(tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    torch.manual_seed(0)
    model = VSE(embedding=8, word_width=8).build(context.inputs)
    objective = InputTarget(compat="code", **SMALL).build(model, context)
    words = torch.tensor([[4, 5]])
    logits = torch.zeros(1, 2, len(context.inputs.vocabulary))
    # Two steps share each word's mass equally, whatever the vocabulary: -log 1/2 for each of two words.
    assert objective.likelihood(logits, words).item() == pytest.approx(2 * np.log(2))


def test_only_vsrn_has_regions_to_decode(tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    with pytest.raises(InputError, match="use VSRN"):
        InputTarget(from_regions=True).build(VSE(embedding=8, word_width=8).build(context.inputs), context)


def test_a_reading_that_does_not_exist_is_rejected(tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    with pytest.raises(InputError, match="not 'coded'"):
        InputTarget(compat="coded").build(VSE(embedding=8, word_width=8).build(context.inputs), context)
