"""The training loop's small parts: schedules, averages, optimisers, overrides, the log."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from tellapart.core.errors import InputError
from tellapart.papers.recipes import RECIPES, find_recipe
from tellapart.runs.overrides import override
from tellapart.runs.recipe import Average, Optimiser, Schedule
from tellapart.runs.registry import recipe_from_plain, to_plain
from tellapart.training.averaging import WeightAverage
from tellapart.training.log import Log, read_log
from tellapart.training.optimisers import AdamP, build_optimiser, freeze
from tellapart.training.schedules import lr_factor


def test_schedules() -> None:
    assert lr_factor(Schedule(), 9, 9, 0.9) == 1
    assert lr_factor(Schedule("milestones", at=(2, 4), factor=0.5), 4, 0, 0) == 0.25
    assert lr_factor(Schedule("cosine"), 0, 0, 0.0) == 1
    assert lr_factor(Schedule("cosine-rising"), 0, 0, 0.0) == 0
    assert math.isclose(lr_factor(Schedule("cosine", warmup_steps=10), 0, 4, 0.0), 0.5)
    with pytest.raises(ValueError, match="Unknown schedule"):
        lr_factor(Schedule("wavy"), 0, 0, 0)


def test_epoch_average_is_the_mean_of_its_snapshots() -> None:
    """100 steps, the last 10%, 5 snapshots: steps 90, 92, 94, 97, 99 (evenly spread, rounded)."""
    module = nn.Linear(1, 1, bias=False)
    average = WeightAverage(Average("epoch", start=0.9, snapshots=5), module)
    for step in range(100):
        module.weight.data.fill_(step)
        average.after_step(step, 100)
    average.end_epoch()
    taken = sorted(average._snapshot_steps(100))
    assert taken[0] == 90 and taken[-1] == 99 and len(taken) == 5
    assert math.isclose(float(module.weight), sum(taken) / 5, rel_tol=1e-6)


def test_moving_average_is_lent_and_taken_back() -> None:
    module = nn.Linear(1, 1, bias=False)
    module.weight.data.fill_(0)
    average = WeightAverage(Average("ema", decay=0.5), module)
    module.weight.data.fill_(1)
    average.after_step(0, 10)  # decay is (1 + 1) / (10 + 1) at first: 0 * 2/11 + 1 * 9/11
    with average.evaluated():
        assert math.isclose(float(module.weight), 9 / 11, rel_tol=1e-6)
    assert float(module.weight) == 1


def test_frozen_and_scaled_parameters() -> None:
    holder = nn.Module()
    holder.model = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Linear(2, 2)})
    freeze(holder.model, ["a.weight"])
    optimiser = build_optimiser(Optimiser(scaled=(("b", 0.1),)), holder)
    assert sorted((group["scale"], len(group["params"])) for group in optimiser.param_groups) == [(0.1, 2), (1.0, 1)]
    with pytest.raises(InputError, match="begins with 'c'"):
        freeze(holder.model, ["c"])


def test_adamp_step_is_orthogonal_to_a_scale_invariant_weight() -> None:
    """A gradient at a right angle to the weight marks it scale-invariant; the step must not run along the weight."""
    weight = nn.Parameter(torch.tensor([[3.0, 4.0, 0.0]]))
    optimiser = AdamP([weight], lr=0.1)
    weight.grad = torch.tensor([[4.0, -3.0, 1.0]])
    before = weight.detach().clone()
    optimiser.step()
    assert abs(float((before * (weight.detach() - before)).sum())) < 1e-5


def naive_adamp(weight: torch.Tensor, gradients: list[torch.Tensor], rate: float, decay: float) -> torch.Tensor:
    """Algorithm 2 of Heo et al. step by step: Adam, then the projection by channel, or by layer, or none."""
    mean, square = torch.zeros_like(weight), torch.zeros_like(weight)
    for count, gradient in enumerate(gradients, start=1):
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        move = (mean / (1 - 0.9**count)) / ((square / (1 - 0.999**count)).sqrt() + 1e-8)
        damping = 1.0
        for rows in (list(weight.unbind(0)), [weight.flatten()]):
            parts = list(zip(rows, gradient.reshape(len(rows), -1)))
            cosines = [abs(float(torch.dot(w.flatten(), g) / (w.norm() * g.norm()))) for w, g in parts]
            if max(cosines) < 0.1 / rows[0].numel() ** 0.5:
                flat = move.reshape(len(rows), -1)
                flat = torch.stack(
                    [m - w.flatten() * torch.dot(w.flatten(), m) / w.norm() ** 2 for w, m in zip(rows, flat)]
                )
                move, damping = flat.reshape(weight.shape), 0.1
                break
        weight = weight * (1 - rate * decay * damping) - rate * move
    return weight


def turned(kind: str, start: torch.Tensor) -> torch.Tensor:
    """A random gradient at a right angle to the weight's channels, to the weight as a whole, or to neither."""
    gradient = torch.randn_like(start)
    if kind == "channels":
        gradient -= start * (gradient * start).sum(1, keepdim=True) / (start**2).sum(1, keepdim=True)
    elif kind == "layer":
        gradient -= start * (gradient * start).sum() / (start**2).sum()
    return gradient


def test_adamp_against_the_algorithm() -> None:
    """Weights of one row length are projected together; each must still fare as by itself."""
    torch.manual_seed(0)
    shapes = {"channels": (3, 4), "layer": (5, 4), "neither": (2, 4)}
    starts = {kind: torch.randn(*shape, dtype=torch.float64) for kind, shape in shapes.items()}
    weights = {kind: nn.Parameter(start.clone()) for kind, start in starts.items()}
    optimiser = AdamP(weights.values(), lr=0.01, weight_decay=0.1)
    gradients = {kind: turned(kind, start) for kind, start in starts.items()}
    for kind, weight in weights.items():
        weight.grad = gradients[kind]
    optimiser.step()
    for kind, weight in weights.items():
        torch.testing.assert_close(weight.detach(), naive_adamp(starts[kind], [gradients[kind]], 0.01, 0.1))


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_survive_json(name: str) -> None:
    recipe = RECIPES[name]
    assert recipe_from_plain(json.loads(json.dumps(to_plain(recipe)))) == recipe


def test_overrides() -> None:
    recipe = override(find_recipe("vse++"), ["seed=7", "base.epochs=3", "stages.0.optimiser.betas=0.5,0.9"])
    assert (recipe.seed, recipe.stages[0].epochs, recipe.stages[0].optimiser.betas) == (7, 3, (0.5, 0.9))
    assert override(recipe, ["base.sampling.steps=4"]).stages[0].sampling.steps == 4
    assert override(recipe, ["base.sampling.steps=none"]).stages[0].sampling.steps is None
    for wrong, said in (
        ("base.epoch=3", "has no field 'epoch'"),
        ("base.epochs=many", "invalid value"),
        ("base.epochs", "not of the form"),
        ("nowhere.epochs=1", "no stage 'nowhere'"),
    ):
        with pytest.raises(InputError, match=said):
            override(recipe, [wrong])


def test_unknown_fields_in_a_recipe_file_are_named() -> None:
    plain = to_plain(find_recipe("vse++"))
    plain["stages"][0]["speed"] = 9
    with pytest.raises(InputError, match="Stage has no field speed"):
        recipe_from_plain(plain)


def test_log_forgets_what_came_after_the_checkpoint(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl")
    for total in range(1, 5):
        log.write(stage="s", epoch=0, total=total, loss=1.0 / total)
    log.close()
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('{"stage": "s", "tot')
    Log(tmp_path / "log.jsonl", [row for row in read_log(tmp_path / "log.jsonl") if row["total"] <= 2]).close()
    assert [row["total"] for row in read_log(tmp_path / "log.jsonl")] == [1, 2]


def test_every_stage_field_is_reachable_by_name() -> None:
    recipe = find_recipe("vse++")
    assert override(recipe, ["base.clip_norm=1.5"]) == replace(
        recipe, stages=(replace(recipe.stages[0], clip_norm=1.5),)
    )
