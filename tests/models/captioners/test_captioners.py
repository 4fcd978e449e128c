"""All captioners: the fast path equals `step`, and `step` equals the equations written out naively."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.core.protocols import Captioner
from tellapart.core.types import Images
from tellapart.data.concepts_column import IMAGE_CONCEPTS
from tellapart.models.captioners.adaptive_attention import AdaptiveAttention
from tellapart.models.captioners.neuraltalk import NeuralTalk2
from tellapart.models.captioners.r2m import R2M
from tellapart.models.captioners.teacher_forcing import SequenceCaptioner, predictions
from tellapart.models.captioners.up_down import UpDown, UpDownModel
from tellapart.models.inputs import ModelInputs
from tellapart.text.vocabulary import END, PAD, START, Vocabulary

INPUTS = ModelInputs(Vocabulary.from_words([f"w{i}" for i in range(9)]), feature_width=6, feature_rows=5)
CONFIGS = {
    "neuraltalk2": NeuralTalk2(hidden=8),
    "neuraltalk2 tied": NeuralTalk2(hidden=8, tied=True, scaling="layer"),
    "adaptive attention": AdaptiveAttention(hidden=8, attention=7),
    "adaptive attention scaled": AdaptiveAttention(hidden=8, attention=7, scaling="unit", tied=True),
    "up-down": UpDown(hidden=8, attention=7),
    "up-down as released": UpDown(hidden=8, attention=7, compat="code", scaling="layer"),
}


EACH = 3


def make_images(count: int, seed: int = 0) -> Images:
    random = torch.Generator().manual_seed(seed)
    mask = torch.arange(5).unsqueeze(0) < torch.randint(2, 6, (count, 1), generator=random)
    return Images(torch.randn(count, 5, 6, generator=random) * mask.unsqueeze(-1), mask)


def make_tokens(count: int, longest: int = 7, seed: int = 0) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    tokens = torch.randint(3, 13, (count, longest + 2), generator=random)
    lengths = torch.randint(1, longest + 1, (count, 1), generator=random)
    steps = torch.arange(longest + 2).unsqueeze(0)
    tokens = tokens.masked_fill(steps == lengths + 1, END).masked_fill(steps > lengths + 1, PAD)
    tokens[:, 0] = START
    return tokens


def built(name: str) -> nn.Module:
    torch.manual_seed(1)
    model = CONFIGS[name].build(INPUTS).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)  # away from the flat part of every nonlinearity
    return model


@pytest.mark.parametrize("name", CONFIGS)
def test_protocols_are_met(name: str) -> None:
    assert isinstance(built(name), Captioner)
    assert isinstance(built(name), SequenceCaptioner)


@pytest.mark.parametrize("name", CONFIGS)
def test_step_equals_forward(name: str) -> None:
    model, images, tokens = built(name), make_images(6), make_tokens(6)
    forced = model.forward(images, tokens)
    state = model.start(images)
    for time in range(tokens.shape[1] - 1):
        step = model.step(tokens[:, time], state)
        state = step.state
        real = tokens[:, time + 1] != PAD
        torch.testing.assert_close(step.logits[real], forced.logits[real, time], atol=1e-5, rtol=1e-5)
        if forced.attention is not None:
            torch.testing.assert_close(step.attention[real], forced.attention[real, time], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", CONFIGS)
def test_gradients_of_both_paths_agree(name: str) -> None:
    model, images, tokens = built(name).double(), make_images(4), make_tokens(4)
    images = Images(images.features.double(), images.mask)
    real = tokens[:, 1:] != PAD

    def gradients(logits: Tensor) -> list[Tensor]:
        loss = logits[real].log_softmax(-1).square().sum()
        return torch.autograd.grad(loss, list(model.parameters()), allow_unused=True, materialize_grads=True)

    state, steps = model.start(images), []
    for time in range(tokens.shape[1] - 1):
        step = model.step(tokens[:, time], state)
        state = step.state
        steps.append(step.logits)
    for slow, fast in zip(gradients(torch.stack(steps, 1)), gradients(model.forward(images, tokens).logits)):
        torch.testing.assert_close(fast, slow, atol=1e-8, rtol=1e-6)


@pytest.mark.parametrize("name", CONFIGS)
def test_predictions_share_images(name: str) -> None:
    """One state per image, selected by owner, gives what one image per caption gives; padding is ignored."""
    model, images, tokens = built(name), make_images(3), make_tokens(6)
    owner = torch.tensor([0, 2, 2, 1, 0, 0])
    found = predictions(model, images, tokens, owner)
    forced = model.forward(images.select(owner), tokens)
    real = tokens[:, 1:] != PAD
    torch.testing.assert_close(found.logits, forced.logits[real], atol=1e-5, rtol=1e-5)
    assert found.targets.tolist() == tokens[:, 1:][real].tolist()
    assert (found.targets != PAD).all() and (found.targets == END).sum() == len(tokens)


@pytest.mark.parametrize("name", [name for name in CONFIGS if "neuraltalk" not in name])
def test_attention_stays_on_real_cells(name: str) -> None:
    model, images = built(name), make_images(5)
    attention = model.step(torch.full((5,), START), model.start(images)).attention
    assert (attention[~images.mask] == 0).all()
    total = attention.sum(1)
    if "up-down" in name:
        torch.testing.assert_close(total, torch.ones(5))
    else:  # the sentinel takes its share
        assert ((total > 0) & (total < 1)).all()


@pytest.mark.parametrize("name", CONFIGS)
def test_padding_cells_do_not_matter(name: str) -> None:
    model, images, tokens = built(name), make_images(4), make_tokens(4)
    other = Images(images.features.masked_fill(~images.mask.unsqueeze(-1), 9.0), images.mask)
    torch.testing.assert_close(model.forward(images, tokens).logits, model.forward(other, tokens).logits)


def both_states(model: torch.nn.Module, images: Images) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """A state with a copy of its image for each of three sentences, and one in which they share it."""
    state = model.start(images)
    copied = {name: value.repeat_interleave(EACH, 0) for name, value in state.items()}
    return copied, {name: state[name] if name in model.image_state else copied[name] for name in state}


@pytest.mark.parametrize("name", [*CONFIGS, "r2m"])
@torch.no_grad()
def test_shared_image_equals_a_copy_each(name: str) -> None:
    images = make_images(8)
    if name == "r2m":
        concepts = torch.randint(4, 12, (8, 3), generator=torch.Generator().manual_seed(0))
        images = replace(images, columns={IMAGE_CONCEPTS: concepts})
        model = R2M(width=8, heads=2, key_width=4, value_width=4).build(INPUTS).eval()
    else:
        model = built(name)
    copied, shared = both_states(model, images)
    random = torch.Generator().manual_seed(2)
    for _ in range(3):
        word = torch.randint(3, 13, (8 * EACH,), generator=random)
        one, other = model.step(word, copied), model.step(word, shared)
        torch.testing.assert_close(one.logits, other.logits, atol=1e-5, rtol=1e-5)
        if one.attention is not None:
            torch.testing.assert_close(one.attention, other.attention, atol=1e-5, rtol=1e-5)
        copied, shared = one.state, other.state
        for part in model.image_state:
            assert len(shared[part]) == 8


@pytest.mark.parametrize("name", CONFIGS)
@torch.no_grad()
def test_words_heard_for_all_images(name: str) -> None:
    """n words for each of P images: row p * n + i hears the i-th."""
    model = built(name)
    copied, shared = both_states(model, make_images(4))
    words = torch.tensor([5, 9, 4])
    word_input = model.advance(model.word_input(words), shared)
    step = model.step(words.repeat(4), copied)
    torch.testing.assert_close(model.logits(word_input.hidden), step.logits, atol=1e-5, rtol=1e-5)


def test_up_down_written_out() -> None:
    """Paper 2, Eqs. 9-14, one image and one word at a time."""
    model, images, tokens = built("up-down"), make_images(3), make_tokens(3)
    forced = model.forward(images, tokens)
    assert isinstance(model, UpDownModel)
    for row in range(3):
        cells = model.cells.project(images.features[row][images.mask[row]])  # Eq. 9
        h1 = c1 = h2 = c2 = torch.zeros(1, 8)
        for time in range(int((tokens[row] != PAD).sum()) - 1):
            word = model.words(tokens[row, time]).unsqueeze(0)
            h1, c1 = model.attention_lstm(torch.cat([h2, cells.mean(0, keepdim=True), word], 1), (h1, c1))  # Eq. 10
            scores = [model.attend.weigh(torch.tanh(model.keys(cell) + model.query(h1[0]))) for cell in cells]
            weights = torch.softmax(torch.cat(scores), 0)  # Eqs. 11, 12
            seen = sum(weight * cell for weight, cell in zip(weights, cells)).unsqueeze(0)
            h2, c2 = model.language_lstm(torch.cat([seen, h1], 1), (h2, c2))  # Eq. 13
            torch.testing.assert_close(model.logits(h2)[0], forced.logits[row, time], atol=1e-5, rtol=1e-5)


def test_dropout_is_on_in_training_only() -> None:
    images, tokens = make_images(2), make_tokens(2)
    for name in CONFIGS:
        model = built(name)
        torch.testing.assert_close(model.forward(images, tokens).logits, model.forward(images, tokens).logits)
        model.train()
        assert not torch.equal(model.forward(images, tokens).logits, model.forward(images, tokens).logits)


def test_unknown_settings_are_rejected() -> None:
    with pytest.raises(InputError, match=r"scaling must be one of .*, not 'whitening'"):
        NeuralTalk2(scaling="whitening").build(INPUTS)
    with pytest.raises(InputError, match="compat must be 'paper' or 'code'"):
        UpDown(compat="blog").build(INPUTS)
