"""Recorded steps: what they may not do, that they learn the same, and, with a GPU, that replays equal plain steps."""

import json
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from recording_world import NoQuestions, PretendedReplay
from small_recipes import small_pack, small_recipe
from tellapart.core.recording import recorded, recording
from tellapart.core.types import Images, Texts
from tellapart.papers.contrastive_captioning import recipes as contrastive_captioning
from tellapart.papers.convse import recipes as convse
from tellapart.papers.ltd import recipes as ltd
from tellapart.papers.ours import captioner_recipes, matcher_recipes, scan_recipes
from tellapart.training.checkpoints import Position, restore_checkpoint, save_checkpoint
from tellapart.training.optimisers import AdamP
from tellapart.training.replay import (
    Replay,
    make_replayable,
    tensors_of,
    with_tensors,
)
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe

PAPERS = (convse, ltd, scan_recipes, matcher_recipes, contrastive_captioning, captioner_recipes)
NAMES = [recipe.name for paper in PAPERS for recipe in paper.RECIPES]


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_pack(tmp_path_factory.mktemp("packs") / "small").folder


@pytest.mark.parametrize("name", NAMES)
def test_no_recordable_step_asks_the_device_for_anything(
    name: str, pack: Path, tmp_path: Path, pretended_replay: None
) -> None:
    recipe = small_recipe(name)
    stages = tuple(replace(stage, epochs=1, sampling=replace(stage.sampling, steps=2)) for stage in recipe.stages)
    settings = TrainSettings(pack, tmp_path / "run", replay=True)
    before = len(PretendedReplay.phases)
    train_recipe(replace(recipe, stages=stages), settings)
    assert len(PretendedReplay.phases) > before


@pytest.mark.parametrize(
    "name", ["vse++", "ltd-baseline-ltd", "vsrn", "pos-scan", "adaptive-attention-cl", "tell-best-mle"]
)
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_recorded_run_learns_what_a_plain_one_learns(
    name: str, precision: str, pack: Path, tmp_path: Path, pretended_replay: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nn.functional, "dropout", lambda values, *_, **__: values)
    monkeypatch.setattr("tellapart.models.layers.word_embedding.WordNoise.forward", lambda self, texts: texts)
    recipe = small_recipe(name)
    stages = tuple(
        replace(stage, epochs=1, precision=precision, sampling=replace(stage.sampling, steps=3))
        for stage in recipe.stages
    )
    runs, close = [], {"float32": 2e-5, "bfloat16": 5e-3}[precision]
    for replayed in (False, True):
        settings = TrainSettings(pack, tmp_path / f"run-{replayed}", replay=replayed)
        runs.append(train_recipe(replace(recipe, stages=stages), settings).model.state_dict())
    for key, value in runs[0].items():
        if not key.endswith("out.bias"):  # before a batch norm a bias does nothing, and its gradient is rounding
            torch.testing.assert_close(runs[1][key], value, atol=close, rtol=1e-3)


@pytest.mark.parametrize("name", ["tell-best-mle", "tell-averaged-adaptive"])
def test_scheduled_sampling_is_recorded_too(name: str, pack: Path, tmp_path: Path, pretended_replay: None) -> None:
    recipe = small_recipe(name)
    stage = recipe.stages[0]
    objective = replace(stage.objective, sampling_every=1, sampling_rise=0.25)
    stage = replace(stage, objective=objective, epochs=3, evaluation="loss", monitor="loss")
    train_recipe(replace(recipe, stages=(stage,)), TrainSettings(pack, tmp_path / "run", replay=True))
    assert PretendedReplay.phases[-1] == 0.25  # the share of the last step


def test_questions_are_noticed() -> None:
    values = torch.arange(4.0)
    with NoQuestions():
        for question in (
            lambda: values.sum().item(),
            lambda: values[values > 1],
            lambda: values.nonzero(),
            lambda: torch.tensor(1.0),
        ):
            with pytest.raises(AssertionError, match="may not"):
                question()


def test_recording_ends_with_its_block() -> None:
    with recorded():
        assert recording()
    assert not recording()


@dataclass(frozen=True)
class Held:
    texts: Texts
    rest: tuple[Tensor, None]


def test_tensors_are_taken_out_and_put_back_in_one_order() -> None:
    tree = (
        Held(
            Texts(torch.zeros(1, 2), torch.ones(1), {"nouns": torch.full((1, 2), 2.0)}), (torch.full((1,), 3.0), None)
        ),
        Images(torch.full((1, 1, 1), 4.0), torch.ones(1, 1, dtype=torch.bool)),
    )
    tensors = tensors_of(tree)
    assert len(tensors) == 6
    moved = with_tensors(tree, iter([tensor + 1 for tensor in tensors]))
    assert moved[0].texts.columns["nouns"].tolist() == [[3.0, 3.0]]
    assert moved[0].rest[1] is None and moved[1].features.item() == 5.0


def test_adamp_counts_on_the_device_as_on_the_host() -> None:
    ends = []
    for capturable in (False, True):
        torch.manual_seed(0)
        weights = [nn.Parameter(torch.randn(4, 3)), nn.Parameter(torch.randn(4))]
        optimiser = AdamP(weights, 0.1, weight_decay=0.01, capturable=capturable)
        if capturable:
            make_replayable(optimiser, torch.device("cpu"))
        for _ in range(4):
            optimiser.zero_grad()
            sum((weight**3).sum() for weight in weights).backward()
            if capturable:
                with NoQuestions():
                    optimiser.step()
            else:
                optimiser.step()
        ends.append([weight.detach().clone() for weight in weights])
    for plain, counted in zip(*ends):
        torch.testing.assert_close(plain, counted)


def plain_step(model: nn.Module, optimiser: torch.optim.Optimizer, inputs: tuple[Tensor, Tensor]) -> dict[str, Tensor]:
    loss = (model(inputs[0]).squeeze(1) - inputs[1]).square().mean()
    loss.backward()
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)
    return {"loss": loss.detach()}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA graphs need a GPU")
@pytest.mark.parametrize("kind", ["adam", "adamp"])
def test_replays_equal_plain_steps(kind: str) -> None:
    ends = []
    for replayed in (False, True):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1)).cuda()
        optimiser: torch.optim.Optimizer
        optimiser = AdamP(model.parameters(), 0.01) if kind == "adamp" else torch.optim.Adam(model.parameters(), 0.01)

        step = partial(plain_step, model, optimiser)
        replay = Replay(step)
        if replayed:
            make_replayable(optimiser, torch.device("cuda"))
        random = torch.Generator().manual_seed(1)
        losses = []
        for count in (6, 6, 4, 6, 4, 6, 4, 6):
            inputs = torch.randn(count, 8, generator=random).cuda(), torch.randn(count, generator=random).cuda()
            figures = replay(inputs, None) if replayed else step(inputs)
            losses.append(figures["loss"].item())
        if replayed:
            assert len(replay.recordings) == 2
        ends.append(losses)
    assert ends[0] == pytest.approx(ends[1], rel=1e-4)


def test_a_checkpoint_does_not_say_how_steps_were_taken(tmp_path: Path) -> None:
    """Fused and counted on the device, or plainly: a run may go on either way."""
    model = nn.Linear(2, 1)
    optimiser = torch.optim.Adam(model.parameters(), 0.1, fused=True)
    model(torch.ones(1, 2)).sum().backward()
    optimiser.step()
    save_checkpoint(tmp_path / "checkpoints", Position(), model, optimiser)
    (saved,) = (tmp_path / "checkpoints").glob("*/state.json")
    assert not {"fused", "capturable"} & set(json.loads(saved.read_text())["groups"][0])
    plain = torch.optim.Adam(model.parameters(), 0.1)
    restore_checkpoint(saved.parent, model, plain)
    assert not plain.param_groups[0]["fused"]
    plain.step()
