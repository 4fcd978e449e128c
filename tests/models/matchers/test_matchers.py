"""What every matcher promises: shapes, padding that changes nothing, gradients everywhere, JSON and back, learning."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.core.protocols import Matcher
from tellapart.core.types import Images, Texts
from tellapart.losses import Contrast
from tellapart.models.matchers import MATCHERS
from tellapart.models.matchers.ltd_baseline import LTDBaseline
from tellapart.models.matchers.pooled import Pooled
from tellapart.models.matchers.scan import SCAN
from tellapart.models.matchers.tern import TERN
from tellapart.models.matchers.vse import VSE
from tellapart.models.matchers.vsrn import VSRN
from tellapart.objectives.ranking import Ranking
from tiny_world import tiny_context

CONFIGS: dict[str, Any] = {
    "vse": VSE(embedding=16, word_width=8),
    "vse with heads": VSE(embedding=16, word_width=8, heads=12, output=10, normalise_features=True),
    "ltd": LTDBaseline(embedding=16, word_width=8),
    "ltd triplet": LTDBaseline(embedding=16, word_width=8, batch_norm=True, compat="code"),
    "scan": SCAN(embedding=16, word_width=8),
    "scan i2t": SCAN(embedding=16, word_width=8, direction="i2t", aggregation="logsumexp", compat="code"),
    "pos-scan": SCAN(embedding=16, word_width=8, nouns=True),
    "scan both": SCAN(embedding=16, word_width=8, direction="both"),
    "vsrn": VSRN(embedding=16, word_width=8, layers=2),
    "vsrn original": VSRN(embedding=16, word_width=8, text="gru", normalisation="regions", normalise_first=True),
    "tern": TERN(
        embedding=16, text_layers=1, word_width=16, region_width=16, region_layers=1, shared_layers=1, heads=2,
        hidden=16,
    ),
    "pooled": Pooled(embedding=16, word_width=8),
    "pooled attention": Pooled(
        embedding=16, word_width=8, pooling="attention", text_pooling="max", row_layers=1,
        sentence_column="targets", sentence_width=6,
    ),
}  # fmt: skip
COLUMNS = ("nouns", "targets")


@pytest.mark.parametrize("name", CONFIGS)
def test_scores_are_a_matrix_that_padding_does_not_change(tmp_path: Path, name: str) -> None:
    context = tiny_context(tmp_path, columns=COLUMNS)
    torch.manual_seed(0)
    model = CONFIGS[name].build(context.inputs).eval()
    assert isinstance(model, Matcher)
    images, texts = context.batches.images(np.arange(5)), context.batches.texts(np.arange(7))
    with torch.no_grad():
        scores = model.score(model.encode_image(images), model.encode_text(texts))
        padded = model.score(model.encode_image(wider(images)), model.encode_text(longer(texts)))
    assert scores.shape == (5, 7) and scores.isfinite().all()
    assert torch.allclose(scores, padded, atol=1e-5)


def wider(images: Images) -> Images:
    """The same images with two rows more that are masked out."""
    pad = torch.nn.functional.pad
    assert images.boxes is not None
    return Images(pad(images.features, (0, 0, 0, 2)), pad(images.mask, (0, 2)), pad(images.boxes, (0, 0, 0, 2)))


def longer(texts: Texts) -> Texts:
    """The same sentences with three more steps of padding."""
    columns = {
        name: torch.nn.functional.pad(column, (0, 3)) if column.shape == texts.tokens.shape else column
        for name, column in texts.columns.items()
    }
    return Texts(torch.nn.functional.pad(texts.tokens, (0, 3)), texts.lengths, columns)


@pytest.mark.parametrize("name", CONFIGS)
def test_every_parameter_learns(tmp_path: Path, name: str) -> None:
    context = tiny_context(tmp_path, columns=COLUMNS)
    torch.manual_seed(0)
    model = CONFIGS[name].build(context.inputs).train()
    objective = Ranking(Contrast("info-nce")).build(model, context)
    optimiser = torch.optim.Adam(model.parameters(), 5e-3)
    batch = context.batches.batch(np.arange(14))
    losses = []
    for _ in range(25):
        optimiser.zero_grad()
        loss = objective(batch)["loss"]
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert sum(losses[-5:]) < 0.9 * sum(losses[:5])
    missing = [name for name, parameter in model.named_parameters() if parameter.grad is None]
    assert not missing  # a parameter without a gradient would stall training over several processes


@pytest.mark.parametrize("kind", MATCHERS)
def test_settings_are_plain_values_with_a_word_on_each(kind: str) -> None:
    """Recipes are written as JSON, so that every field is a number, a word, a flag or a tuple of them."""
    config = MATCHERS[kind]()
    for field in dataclasses.fields(config):
        assert isinstance(getattr(config, field.name), int | float | str | bool | tuple)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (LTDBaseline(compat="coded"), "compat must be 'paper' or 'code', not 'coded'"),
        (TERN(heads=3), "heads must divide embedding, but 3 does not divide 1024"),
        (TERN(heads=0), "0 does not divide 1024"),
        (TERN(word_width=510), "divide word_width, but 4 does not divide 510"),
    ],
)
def test_settings_that_fit_nothing_are_rejected(config: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        config.build(tiny_context(tmp_path).inputs)
