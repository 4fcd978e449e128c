"""NeuralTalk2 and AdaptiveAttention against their equations, written out in numpy, one caption and one word at a time.

The oracles know nothing of the model's methods: they read its weights and follow the papers.
"""

import math

import numpy as np
import pytest
import torch
from torch import nn

from tellapart.core.types import Images
from tellapart.models.captioners.adaptive_attention import AdaptiveAttention
from tellapart.models.captioners.neuraltalk import NeuralTalk2
from tellapart.models.inputs import ModelInputs
from tellapart.text.vocabulary import END, PAD, START, Vocabulary

INPUTS = ModelInputs(Vocabulary.from_words([f"w{i}" for i in range(9)]), feature_width=6, feature_rows=5)
SHOWN = (5, 3, 1)
"""Cells of the three images."""
CAPTIONS = ((START, 5, 7, 3, END), (START, 12, END, PAD, PAD), (START, 4, 4, END, PAD))


def sigmoid(values: np.ndarray) -> np.ndarray:
    return np.asarray([1 / (1 + math.exp(-value)) for value in values])


class Weights:
    """A model's weights as float64 arrays, and the layers that need them."""

    def __init__(self, model: nn.Module) -> None:
        self.of = {name: value.detach().double().numpy() for name, value in model.state_dict().items()}

    def linear(self, name: str, given: np.ndarray) -> np.ndarray:
        return self.of[f"{name}.weight"] @ given + self.of[f"{name}.bias"]

    def lstm(self, given: np.ndarray, hidden: np.ndarray, cell: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """i, f, g, o; c' = f c + i g; h' = o tanh(c')."""
        gates = self.of["lstm.weight_ih_l0"] @ given + self.of["lstm.bias_ih_l0"]
        gates = gates + self.of["lstm.weight_hh_l0"] @ hidden + self.of["lstm.bias_hh_l0"]
        enter, keep, new, leave = np.split(gates, 4)
        cell = sigmoid(keep) * cell + sigmoid(enter) * np.tanh(new)
        return sigmoid(leave) * np.tanh(cell), cell

    def predict(self, hidden: np.ndarray) -> np.ndarray:
        return self.of["words.predict"] @ hidden + self.of["words.bias"]


def relu(values: np.ndarray) -> np.ndarray:
    return np.maximum(values, 0)


def neuraltalk(weights: Weights, cells: np.ndarray, caption: tuple[int, ...]) -> list[np.ndarray]:
    """x_{-1} = ReLU(W CNN(I)), x_t = W_e S_t, h_t = LSTM(x_t); logits of S_{t+1} from h_t, none from h_{-1}."""
    nothing = np.zeros_like(weights.of["image.project.bias"])
    hidden, cell = weights.lstm(relu(weights.linear("image.project", cells.mean(0))), nothing, nothing)
    logits = []
    for word in caption[:-1]:
        hidden, cell = weights.lstm(weights.of["words.read.weight"][word], hidden, cell)
        logits.append(weights.predict(hidden))
    return logits


def adaptive(
    weights: Weights, cells: np.ndarray, caption: tuple[int, ...]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """x_t = [w_t; v_g]; g_t = sigmoid(W_x x_t + W_h h_{t-1}), s_t = g_t tanh(m_t); z over sentinel and cells;
    alpha^ = softmax(z); c^_t = alpha^_0 s_t + sum_i alpha^_i v_i; p = softmax(W_p tanh(W(c^_t + h_t)))."""
    whole = relu(weights.linear("whole.project", cells.mean(0)))
    projected = [relu(weights.linear("cells.project", cell)) for cell in cells]
    hidden = memory = np.zeros_like(whole)
    logits, attention = [], []
    for word in caption[:-1]:
        given = np.concatenate([relu(weights.of["words.read.weight"][word]), whole])
        gate = sigmoid(weights.linear("sentinel_gate", np.concatenate([given, hidden])))
        hidden, memory = weights.lstm(given, hidden, memory)
        sentinel = relu(weights.linear("sentinel", gate * np.tanh(memory)))
        output = np.tanh(weights.linear("output", hidden))
        query = weights.linear("query", output)
        keys = [weights.linear("sentinel_key", sentinel)] + [weights.linear("keys", cell) for cell in projected]
        scores = [float(weights.linear("attend.weigh", np.tanh(key + query))[0]) for key in keys]
        total = sum(math.exp(score) for score in scores)
        alpha = [math.exp(score) / total for score in scores]
        context = sum((share * part for share, part in zip(alpha, [sentinel, *projected])), np.zeros_like(sentinel))
        logits.append(weights.predict(np.tanh(weights.linear("combine", context + output))))
        attention.append(np.asarray(alpha[1:]))
    return logits, attention


def world(seed: int) -> tuple[Images, list[np.ndarray], torch.Tensor]:
    random = np.random.default_rng(seed)
    cells = [random.standard_normal((count, 6)) for count in SHOWN]
    features = np.zeros((3, 5, 6))
    for image, own in enumerate(cells):
        features[image, : len(own)] = own
    mask = torch.arange(5).unsqueeze(0) < torch.tensor(SHOWN).unsqueeze(1)
    return Images(torch.from_numpy(features), mask), cells, torch.tensor(CAPTIONS)


def built(config: NeuralTalk2 | AdaptiveAttention, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    model = config.build(INPUTS).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            # No bias stays zero, and no nonlinearity is asked about its flat part.
            parameter.copy_(2 * parameter + 0.3 * torch.randn_like(parameter))
    return model


@pytest.mark.parametrize("seed", range(3))
def test_neuraltalk(seed: int) -> None:
    model = built(NeuralTalk2(hidden=8), seed)
    images, cells, tokens = world(seed)
    found = model(images, tokens).logits
    for row, caption in enumerate(CAPTIONS):
        for time, wanted in enumerate(neuraltalk(Weights(model), cells[row], caption)):
            if caption[time + 1] != PAD:
                assert np.allclose(found[row, time].detach().numpy(), wanted, atol=1e-9)


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_adaptive_attention(seed: int, grad: bool) -> None:
    model = built(AdaptiveAttention(hidden=8, attention=7), seed)
    images, cells, tokens = world(seed)
    with torch.set_grad_enabled(grad):
        found = model(images, tokens)
    assert found.attention is not None
    for row, caption in enumerate(CAPTIONS):
        logits, attention = adaptive(Weights(model), cells[row], caption)
        for time in range(len(caption) - 1):
            if caption[time + 1] == PAD:
                continue
            assert np.allclose(found.logits[row, time].detach().numpy(), logits[time], atol=1e-9)
            ours = found.attention[row, time].detach().numpy()
            assert np.allclose(ours[: SHOWN[row]], attention[time], atol=1e-9)
            assert (ours[SHOWN[row] :] == 0).all()


def test_steps_of_adaptive_attention() -> None:
    """`step` has its own code for the gates; it follows the same equations."""
    model = built(AdaptiveAttention(hidden=8, attention=7), 4)
    images, cells, tokens = world(4)
    state = model.start(images)  # type: ignore[operator]
    wanted = [adaptive(Weights(model), cells[row], caption) for row, caption in enumerate(CAPTIONS)]
    for time in range(tokens.shape[1] - 1):
        step = model.step(tokens[:, time], state)  # type: ignore[operator]
        state = step.state
        for row, caption in enumerate(CAPTIONS):
            if caption[time + 1] != PAD:
                assert np.allclose(step.logits[row].detach().numpy(), wanted[row][0][time], atol=1e-9)
                share = step.attention[row].detach().numpy()[: SHOWN[row]]
                assert np.allclose(share, wanted[row][1][time], atol=1e-9)


def test_the_sentinel_takes_its_share_of_attention() -> None:
    """A sentinel that scores high leaves the cells nothing, and one that scores low leaves them everything."""
    model = built(AdaptiveAttention(hidden=8, attention=7), 5)
    images, _, tokens = world(5)
    shares = []
    weigh = model.attend.weigh.weight[0].sign()  # type: ignore[union-attr]
    for bias in (-50.0, 50.0):
        with torch.no_grad():
            model.sentinel_key.bias.copy_(bias * weigh)  # type: ignore[union-attr]
        found = model(images, tokens).attention
        shares.append(found[0, 0].sum().item())
    assert shares[0] > shares[1] and shares[1] < 0.5


def test_dropout_of_neuraltalk_is_of_words_and_output_only() -> None:
    """Without either, training and evaluation predict the same: the image is never dropped."""
    model = built(NeuralTalk2(hidden=8, dropout=0.0), 0)
    images, _, tokens = world(0)
    assert torch.equal(model.train()(images, tokens).logits, model.eval()(images, tokens).logits)
