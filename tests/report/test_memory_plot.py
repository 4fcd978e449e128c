"""The memories' weights as a figure."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tellapart.cli.report import ReportOptions, report
from tellapart.core.errors import InputError
from tellapart.core.types import Images
from tellapart.data.join import CorpusFilter, join_unpaired
from tellapart.models.captioners.r2m import R2M
from tellapart.models.inputs import ModelInputs
from tellapart.papers.recipes import find_recipe
from tellapart.report.memory_plot import draw_memories, memory_weights
from tellapart.text.vocabulary import Vocabulary
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe
from unpaired_packs import corpus_pack, image_pack

WORDS = Vocabulary.from_words(["a", "dog", "cat", "runs"])


def image(count: int = 1) -> Images:
    columns = {"concepts": torch.tensor([[5, 6]] * count)}
    return Images(torch.zeros(count, 1, 3), torch.ones(count, 1, dtype=torch.bool), columns=columns)


@pytest.mark.parametrize("fusion,slots,rows", [(True, 1, 6), (True, 2, 6), (False, 1, 4)])
def test_weights_of_each_word_and_a_image_on_disk(tmp_path: Path, fusion: bool, slots: int, rows: int) -> None:
    torch.manual_seed(0)
    config = R2M(width=8, key_width=4, value_width=4, fusion_memory=fusion, slots=slots)
    model = config.build(ModelInputs(WORDS, feature_width=3)).eval()
    shown = memory_weights(model, image(), WORDS, max_words=5)
    assert shown.weights.shape == (rows, len(shown.generated)) and shown.read[0] == "<start>"
    assert shown.generated[-1] == "<end>" and shown.read[1:] == shown.generated[:-1]
    pairs = shown.weights.reshape(rows // 2, 2, -1).sum(1)
    assert np.allclose(pairs, 1, atol=1e-5)
    draw_memories([shown, shown], tmp_path / "figures" / "memory.png")
    assert (tmp_path / "figures" / "memory.png").stat().st_size > 1000


def test_the_report_shows_them(tmp_path: Path) -> None:
    """A trained run's memories, a strip for each example; a run without memories has no such section."""
    filters = CorpusFilter(least_count=1, held_out=0.34)
    pack = join_unpaired(image_pack(tmp_path / "a"), corpus_pack(tmp_path / "b"), tmp_path / "c", filters=filters).pack
    for row in pack.split("test").images.tolist():
        pack.image_path(row).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (40, 30)).save(pack.image_path(row))
    for recipe, strips in (("r2m-xe", 2), ("uc-gan", 0)):
        first = find_recipe(recipe).stages[0]
        small = replace(
            first,
            model=replace(first.model, width=8, key_width=4, value_width=4),
            epochs=1,
            sampling=replace(first.sampling, batch=4, steps=1),
        )
        settings = TrainSettings(data=pack.folder, out=tmp_path / recipe)
        train_recipe(replace(find_recipe(recipe), stages=(small,)), settings)
        report(ReportOptions((tmp_path / recipe,), pack.folder, tmp_path / f"{recipe}.html", examples=2))
        page = (tmp_path / f"{recipe}.html").read_text()
        _, _, section = page.partition(f"{recipe} ({recipe}): memories")
        assert section.count("image/png") == strips


def test_what_cannot_be_drawn_is_rejected() -> None:
    config = R2M(width=8, key_width=4, value_width=4, fusion_memory=False, decoder_memory=False)
    model = config.build(ModelInputs(WORDS, feature_width=3)).eval()
    with pytest.raises(InputError, match="neither"):
        memory_weights(model, image(), WORDS)
    with pytest.raises(InputError, match="one image"):
        memory_weights(model, image(2), WORDS)
