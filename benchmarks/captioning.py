"""Captioning: beam search in batches against one image at a time, and training steps against word-by-word ones.

    python -m benchmarks captioning [--device cuda]

Models have their papers' sizes (512), features are 49 cells of 1,280, the vocabulary is Flickr8k's size; weights and
captions are random, since speed does not depend on them. The benchmark checks that both sides compute equal numbers.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from tellapart.core.types import Images
from tellapart.evaluation.self_retrieval import score_tree
from tellapart.losses.likelihood import WordCrossEntropy
from tellapart.losses.reference_contrast import ReferenceContrast
from tellapart.models.captioners import CAPTIONERS
from tellapart.models.captioners.teacher_forcing import predictions
from tellapart.models.decoding import beam, log_prob, with_start
from tellapart.models.decoding.prefixes import prefix_tree
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.eval_with_gradients import eval_with_gradients
from tellapart.objectives.reference_contrast import stacked
from tellapart.text.vocabulary import END, PAD, START, Vocabulary

WORDS, CELLS, WIDTH = 2550, 49, 1280
IMAGES, EACH, ROUNDS = 20, 5, 5
MODELS = ("neuraltalk2", "adaptive-attention", "up-down")


def made_up(device: str) -> tuple[ModelInputs, Images, Tensor, Tensor]:
    """Inputs, 20 images, and five sentences each of 6 to 18 words with their owners."""
    torch.manual_seed(0)
    inputs = ModelInputs(Vocabulary.from_words([f"w{i}" for i in range(WORDS)]), WIDTH, CELLS)
    images = some_images(IMAGES, device)
    owner = torch.arange(IMAGES, device=device).repeat_interleave(EACH)
    return inputs, images, some_sentences(len(owner), device), owner


def some_images(count: int, device: str) -> Images:
    mask = torch.ones(count, CELLS, dtype=torch.bool, device=device)
    return Images(torch.rand(count, CELLS, WIDTH, device=device), mask)


def some_sentences(count: int, device: str) -> Tensor:
    lengths = (6 + 12 * torch.rand(count, 1) ** 1.6).long()  # most near ten, as captions are
    steps = torch.arange(20)
    tokens = torch.randint(4, WORDS, (count, 20)).masked_fill(steps == lengths + 1, END)
    tokens = tokens.masked_fill(steps > lengths + 1, PAD)
    tokens[:, 0] = START
    return tokens.to(device)


def naive_log_probabilities(model: nn.Module, images: Images, tokens: Tensor, owner: Tensor) -> Tensor:
    """One copy of the image for each caption, one step per word, all words predicted at padding, too."""
    state, totals = model.start(images.select(owner)), []
    for place in range(tokens.shape[1] - 1):
        step = model.step(tokens[:, place], state)
        state = step.state
        own = step.logits.log_softmax(-1).gather(1, tokens[:, place + 1 : place + 2]).squeeze(1)
        totals.append(own.masked_fill(tokens[:, place + 1] == PAD, 0.0))
    return torch.stack(totals, 1).sum(1)


def seconds(work: Callable[[], object], device: str, repeats: int = 3) -> float:
    """The best of a few runs after one to warm up."""
    best = float("inf")
    for repeat in range(repeats + 1):
        if device.startswith("cuda"):
            torch.cuda.synchronize()
        started = time.perf_counter()
        work()
        if device.startswith("cuda"):
            torch.cuda.synchronize()
        if repeat:
            best = min(best, time.perf_counter() - started)
    return best


def compare_beam(name: str, inputs: ModelInputs, device: str, image_rows: int = 96) -> float:
    """Captions per second with beam 3, batched and one image at a time; every caption has twelve words."""
    model = CAPTIONERS[name]().build(inputs).to(device).eval()
    with torch.no_grad():
        model.words.bias[END] = -30.0
    images = some_images(image_rows, device)
    few = 4
    batched = seconds(lambda: beam(model, images, 3, max_words=12), device, 2) / image_rows
    singles = [images.select(torch.tensor([row], device=device)) for row in range(few)]
    alone = seconds(lambda: [beam(model, one, 3, max_words=12) for one in singles], device, 2) / few
    together = beam(model, images, 3, max_words=12)
    for row, one in enumerate(singles):
        assert torch.allclose(
            beam(model, one, 3, max_words=12).log_probability[0], together.log_probability[row], atol=1e-3
        )
    print(f"{name:20s} beam 3: {1 / batched:8.1f} captions/s batched, {1 / alone:7.1f} alone: {alone / batched:5.1f}x")
    return alone / batched


def compare_steps(name: str, inputs: ModelInputs, images: Images, tokens: Tensor, owner: Tensor, device: str) -> None:
    """An MLE step and a CL step (K = 5), with backward, against the word-by-word implementation."""
    model = eval_with_gradients(CAPTIONERS[name]().build(inputs).to(device))  # no dropout: both sides must agree
    reference = copy.deepcopy(model).requires_grad_(False)
    wrong, wrong_owner = some_sentences(len(owner) * ROUNDS, device), owner.repeat(ROUNDS)
    cross_entropy, contrast = WordCrossEntropy(), ReferenceContrast()
    words = (tokens[:, 1:] != PAD).sum()
    with torch.no_grad():
        known = log_prob(reference, images, tokens, owner)  # stored once, before training

    def mle() -> Tensor:
        found = predictions(model, images, tokens, owner)
        return cross_entropy(found.logits, found.targets)

    def naive_mle() -> Tensor:
        return -naive_log_probabilities(model, images, tokens, owner).sum() / words

    def cl() -> Tensor:
        both = log_prob(model, images, stacked(tokens, wrong), torch.cat([owner, wrong_owner]))
        with torch.no_grad():
            reference_wrong = log_prob(reference, images, wrong, wrong_owner)
        return contrast(both[: len(owner)], known, both[len(owner) :], reference_wrong)

    def naive_cl() -> Tensor:
        """True pairs again for each round, as Eq. 10 is printed; the reference scores all of them."""
        losses = []
        for mismatched in wrong.chunk(ROUNDS):
            pairs = []
            for sentences in (tokens, mismatched):
                pairs.append(naive_log_probabilities(model, images, sentences, owner))
                with torch.no_grad():
                    pairs.append(naive_log_probabilities(reference, images, sentences, owner))
            losses.append(contrast(*pairs))
        return torch.stack(losses).mean()

    for title, quick, slow in (("MLE step", mle, naive_mle), ("CL step, K = 5", cl, naive_cl)):
        assert torch.allclose(quick(), slow(), atol=1e-4), title
        fast, naive = (seconds(lambda work=work: work().backward(), device, 2) for work in (quick, slow))
        print(f"{name:20s} {title:15s} {fast * 1e3:8.0f} ms, word by word {naive * 1e3:8.0f} ms: {naive / fast:5.1f}x")


def self_retrieval(inputs: ModelInputs, device: str, image_rows: int = 64) -> None:
    """NeuralTalk2's million sentences: 1,000 captions that share prefixes as real ones do, extrapolated."""
    model = CAPTIONERS["neuraltalk2"]().build(inputs).to(device).eval()
    sentences = sharing_sentences(1000).to(device)
    tree = prefix_tree(sentences)
    images = some_images(image_rows, device)
    for precision in (torch.float32, torch.bfloat16):
        spent = seconds(lambda precision=precision: score_tree(model, images, tree, precision), device, 1)
        print(
            f"{'neuraltalk2':20s} self-retrieval, sum over words in {str(precision).removeprefix('torch.')}: "
            f"{1000 * spent / image_rows:.0f} s for 1,000 x 1,000 ({tree.read:,} prefixes of "
            f"{sentences.numel():,} words)"
        )
    rows = torch.arange(16, device=device)
    expected = log_prob(model, images, with_start(sentences[rows]), torch.zeros_like(rows))
    assert torch.allclose(score_tree(model, images, tree)[rows, 0], expected, atol=1e-3)


def sharing_sentences(count: int) -> Tensor:
    """Sentences of ten words, each word one of few that may follow the previous one, as in generated captions."""
    torch.manual_seed(1)
    following = torch.randint(4, WORDS, (WORDS, 3))
    tokens = torch.full((count, 1), START)
    for _ in range(10):
        choice = (2.6 * torch.rand(count) ** 3).long()
        tokens = torch.cat([tokens, following[tokens[:, -1], choice].unsqueeze(1)], 1)
    return torch.cat([tokens[:, 1:], torch.full((count, 1), END)], 1)


def main(device: str = "cpu") -> None:
    inputs, images, tokens, owner = made_up(device)
    for name in MODELS:
        compare_beam(name, inputs, device)
    for name in MODELS:
        compare_steps(name, inputs, images, tokens, owner, device)
    self_retrieval(inputs, device)


if __name__ == "__main__":
    main()
