"""Captions against all images: the tree of prefixes equals sentence by sentence, and ranks are counted right."""

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.evaluation.self_retrieval import score_captions, score_tree, self_retrieval, top_recalls
from tellapart.models.captioners import CAPTIONERS
from tellapart.models.decoding import greedy, log_prob, with_start
from tellapart.models.decoding.prefixes import prefix_tree
from tellapart.text.vocabulary import END, PAD
from tiny_captioners import numbered_images, random_table
from tiny_world import tiny_context

SMALL = {
    "neuraltalk2": {"hidden": 8},
    "adaptive-attention": {"hidden": 8, "attention": 8, "tied": True},
    "up-down": {"hidden": 8, "attention": 8},
    "transformer": {"width": 8, "heads": 2, "encoder_layers": 1, "decoder_layers": 2, "feed_forward": 16},
}


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), sentences=st.integers(1, 12))
def test_tree_equals_sentence_by_sentence(seed: int, sentences: int) -> None:
    random = torch.Generator().manual_seed(seed)
    tokens = torch.randint(4, 6, (sentences, 5), generator=random)
    ends = torch.randint(0, 5, (sentences, 1), generator=random)
    steps = torch.arange(5)
    tokens = tokens.masked_fill(steps == ends, END).masked_fill(steps > ends, PAD)
    captioner, images = random_table(4, 6, seed), numbered_images(4)
    found = score_tree(captioner, images, prefix_tree(tokens))
    for image in range(4):
        owner = torch.full((sentences,), image)
        torch.testing.assert_close(found[:, image], log_prob(captioner, images, with_start(tokens), owner))


def test_tree_reads_each_prefix_once() -> None:
    """a b END, a b END, a c END, END: the prefixes read are the empty one, a, a b, a c."""
    tokens = torch.tensor([[4, 5, END], [4, 5, END], [4, 6, END], [END, PAD, PAD]])
    tree = prefix_tree(tokens)
    assert tree.read == 4
    assert tree.leaf[0] == tree.leaf[1] and len(set(tree.leaf.tolist())) == 3


@pytest.mark.parametrize("name", SMALL)
def test_models_agree_with_log_prob(name: str, tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    model = CAPTIONERS[name](**SMALL[name]).build(context.inputs).eval()
    image_rows = context.pack.split("train").images
    tokens = greedy(model, context.batches.images(image_rows), max_words=6).tokens
    tokens = torch.cat(
        [tokens, context.batches.texts(context.pack.split("val").captions).tokens[:, 1 : tokens.shape[1] + 1]]
    )
    tokens = tokens[(tokens == END).any(1)]
    scores = score_captions(model, context, image_rows, tokens)
    images = context.batches.images(image_rows)
    for column in range(len(image_rows)):
        expected = log_prob(model, images, with_start(tokens), torch.full((len(tokens),), column))
        torch.testing.assert_close(scores[:, column], expected, atol=1e-4, rtol=1e-4)
    rough = score_captions(model, context, image_rows, tokens, torch.bfloat16)
    torch.testing.assert_close(rough, scores, atol=0.03, rtol=0.01)
    assert set(self_retrieval(model, context, "train")) == {"top1", "top5"}


def test_recalls_by_hand() -> None:
    """Own images stand first, second and (by a tie, which counts against it) second of three."""
    scores = torch.tensor([[3.0, 1.0, 2.0], [5.0, 4.0, 1.0], [0.0, 2.0, 2.0]])
    assert top_recalls(scores) == {"top1": pytest.approx(100 / 3)}
    same = top_recalls(torch.zeros(6, 6))
    assert same == {"top1": 0.0, "top5": 0.0}
    assert top_recalls(torch.full((6, 6), torch.nan)) == same  # a broken captioner finds nothing
