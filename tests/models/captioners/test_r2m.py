"""R2M's model: the fast path against steps, decoding, the reconstructor, and the ablations."""

import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.core.protocols import Captioner
from tellapart.core.types import Images
from tellapart.models.captioners.r2m import R2M, R2MModel
from tellapart.models.captioners.teacher_forcing import SequenceCaptioner
from tellapart.models.decoding import beam, greedy, log_prob, with_start
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.fusion_memory import PlainFusion
from tellapart.models.layers.recurrent_memory import PlainRecurrence
from tellapart.text.vocabulary import Vocabulary

WORDS = Vocabulary.from_words([f"w{n}" for n in range(30)])
SMALL = {"width": 8, "heads": 2, "key_width": 4, "value_width": 4}
VARIANTS = {
    "full": R2M(**SMALL),
    "slots": R2M(**SMALL, slots=3),
    "without fusion": R2M(**SMALL, fusion_memory=False),
    "lstm decoder": R2M(**SMALL, decoder_memory=False, slots=2),
    "lstm reconstructor": R2M(**SMALL, reconstructor_memory=False, slots=2),
    "lstm both": R2M(**SMALL, decoder_memory=False, reconstructor_memory=False),
}


def build(config: R2M, seed: int = 0) -> R2MModel:
    torch.manual_seed(seed)
    model = config.build(ModelInputs(WORDS, feature_width=5)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)  # far from the even start, so that words differ
    return model


def images(concepts: list[list[int]]) -> Images:
    count = len(concepts)
    columns = {"concepts": torch.tensor(concepts, dtype=torch.int32)}
    return Images(torch.zeros(count, 1, 5), torch.ones(count, 1, dtype=torch.bool), columns=columns)


SEEN = images([[5, 6, 0], [7, 0, 0], [0, 0, 0], [9, 5, 8]])
TOKENS = torch.tensor([[1, 4, 5, 6, 2, 0], [1, 7, 7, 8, 9, 2], [1, 2, 0, 0, 0, 0], [1, 20, 21, 2, 0, 0]])


@pytest.mark.parametrize("name", VARIANTS)
def test_whole_sentences_equal_steps(name: str) -> None:
    model = build(VARIANTS[name])
    assert isinstance(model, Captioner) and isinstance(model, SequenceCaptioner)
    forced = model(SEEN, TOKENS).logits  # [4, 5, V]
    state = model.start(SEEN)
    for time in range(TOKENS.shape[1] - 1):
        step = model.step(TOKENS[:, time], state)
        state = step.state
        assert all(value.shape[0] == 4 for value in state.values())
        assert torch.allclose(forced[:, time], step.logits, atol=1e-5)


@pytest.mark.parametrize("name", VARIANTS)
def test_decoding_works_unchanged(name: str) -> None:
    """Greedy and beam agree at width one, and the beam's log-probability is the model's own."""
    model = build(VARIANTS[name])
    said = greedy(model, SEEN, max_words=6)
    assert torch.equal(said.tokens, beam(model, SEEN, width=1, max_words=6).tokens)
    best = beam(model, SEEN, width=3, max_words=6)
    with torch.no_grad():
        assert torch.allclose(log_prob(model, SEEN, with_start(best.tokens)), best.log_probability, atol=1e-4)


def test_a_image_without_concepts_gets_a_caption() -> None:
    model = build(R2M(**SMALL))
    nothing = images([[0, 0, 0]])
    assert not model.encode(nothing.columns["concepts"]).any()
    tokens = beam(model, nothing, width=3, max_words=6).tokens
    assert (
        tokens.shape[0] == 1 and (tokens == 2).any() and torch.isfinite(model(nothing, with_start(tokens)).logits).all()
    )


@pytest.mark.parametrize("name", VARIANTS)
def test_the_reconstructor_reads_up_to_the_end_word(name: str) -> None:
    """v~ is the reconstructor's memory where END was predicted: what comes after in the row changes nothing."""
    model = build(VARIANTS[name])
    lengths = (TOKENS != 0).sum(1)
    hidden = model.read(model.start(SEEN), TOKENS).hidden
    rebuilt = model.reconstruct(hidden, lengths)
    assert rebuilt.shape == (4, 8)
    for row in range(4):
        alone = model.reconstruct(hidden[row : row + 1, : lengths[row] - 1], lengths[row : row + 1])
        assert torch.allclose(alone[0], rebuilt[row], atol=1e-5)


def test_reconstructor_has_own_weights_and_the_output_table_too() -> None:
    model = R2M(**SMALL).build(ModelInputs(WORDS, feature_width=5))
    shared = {id(p) for p in model.decoder.parameters()} & {id(p) for p in model.reconstructor.parameters()}
    assert not shared and model.predict.weight is not model.words.weight
    without = VARIANTS["lstm both"].build(ModelInputs(WORDS, feature_width=5))
    assert isinstance(without.decoder, PlainRecurrence) and isinstance(without.reconstructor, PlainRecurrence)
    assert isinstance(build(VARIANTS["without fusion"]).fusion, PlainFusion)


def test_the_papers_sizes() -> None:
    model = R2M().build(ModelInputs(WORDS, feature_width=5))
    assert model.decoder.project.weight.shape == (1536, 512) and model.fusion.fuse.weight.shape == (512, 1024)
    assert model.decoder.begin(2, torch.zeros(1))["memory"].shape == (2, 1, 512)
    assert model.words.weight.abs().max() <= 0.08


def test_trace_gives_weights_that_add_up() -> None:
    model = build(VARIANTS["slots"])
    traced = model.memory_attention(SEEN, TOKENS)
    assert traced.fusion.shape == (4, 5, 2, 2, 2) and traced.recurrent.shape == (4, 5, 2, 3, 4)
    for weights in (traced.fusion, traced.recurrent):
        assert torch.allclose(weights.sum(-1), torch.ones(1), atol=1e-5)


def test_missing_concepts_are_named() -> None:
    model = build(R2M(**SMALL))
    with pytest.raises(InputError, match="column 'concepts'"):
        model.start(Images(torch.zeros(1, 1, 5), torch.ones(1, 1, dtype=torch.bool)))
