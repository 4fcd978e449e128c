"""Batch sizes change how much is read at once, and no result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import tellapart as ta
import tiny_hub
from photo_world import draw_photos
from tellapart.cli.evaluate import EvaluateOptions, evaluate
from tellapart.cli.main import main
from tellapart.cli.prepare import PrepareOptions, prepare
from tellapart.core.types import Images
from tellapart.data.batches import Batches
from tellapart.data.pack import Pack
from tellapart.evaluation.retrieval import score_split
from tellapart.runs.context import context_for
from tellapart.runs.run import open_run

Hub = Callable[[str], Path]
EVALUATED = [
    ("clip", None, False), ("siglip2", None, False), ("blip", None, True), ("git", "self-retrieval", False),
    ("vit_gpt2", "self-retrieval", False), ("llava", None, True), ("idefics3", None, False),
]  # fmt: skip
"""(family, evaluation, whether a matcher judges the captions)."""


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pack of twelve drawn photos with captions of their own: equal captions would tie."""
    folder = tmp_path_factory.mktemp("world")
    draw_photos(folder / "photos")
    table = folder / "photos" / "captions.csv"
    table.write_text("\n".join(line for line in table.read_text().splitlines() if ",the ball is" not in line))
    prepare(PrepareOptions(str(folder / "photos"), folder / "pack", min_count=1, nouns=False))
    return folder / "pack"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many images were read at each time."""
    sizes: list[int] = []
    own = Batches.images

    def images(self: Batches, rows: np.ndarray, seed: tuple[int, ...] | None = None) -> Images:
        sizes.append(len(rows))
        return own(self, rows, seed)

    monkeypatch.setattr(Batches, "images", images)
    return sizes


@pytest.mark.parametrize(("family", "evaluation", "judged"), EVALUATED)
def test_evaluations_read_so_many_at_once(
    hub: Hub, pack: Path, read: list[int], family: str, evaluation: str | None, judged: bool
) -> None:
    """`evaluate` had no batch size."""
    named, judge = Path(f"hf:{hub(family)}"), Path(f"hf:{hub('siglip')}") if judged else None
    found = []
    for batch in (0, 1, 3):
        read.clear()
        options = EvaluateOptions(named, pack, "all", evaluation=evaluation, judge=judge, json=True, batch=batch)
        found.append(evaluate(options))
        chat = family in tiny_hub.CHAT  # reads images one by one and joins them
        assert max(read) == (1 if chat and not judged else batch or 12)
    whole, *smaller = found
    for values in smaller:
        assert values == pytest.approx(whole, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("family", tiny_hub.MATCHERS)
def test_scores_are_the_same(hub: Hub, pack: Path, family: str) -> None:
    run = open_run(f"hf:{hub(family)}")
    context = context_for(run, Pack(pack))
    whole, *smaller = (score_split(run.model, replace(context, batch=batch), "all").scores for batch in (0, 1, 5))
    for scores in smaller:
        torch.testing.assert_close(scores, whole, atol=1e-5, rtol=1e-5)


def test_an_impossible_batch_is_one_error(hub: Hub, pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = Path(f"hf:{hub('clip')}")
    with pytest.raises(ta.InputError, match=r"`batch` must be at least 1, or 0 for the default, not -2\.$"):
        evaluate(EvaluateOptions(named, pack, batch=-2))
    assert main(["evaluate", str(named), "--data", str(pack), "--batch", "-2"]) == 1
    said = capsys.readouterr().err
    assert said == "tellapart evaluate: --batch must be at least 1, or 0 for the default, not -2.\n"
