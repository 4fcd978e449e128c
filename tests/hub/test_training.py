"""The papers' methods on tiny pretrained models: every recipe runs, adapters learn alone, runs open by themselves."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import tellapart as ta
import tiny_hub
from photo_world import draw_photos, drawn_pack_with_targets
from tellapart.cli.check import CheckOptions, check
from tellapart.cli.extract import ExtractOptions, extract
from tellapart.cli.prepare import PrepareOptions, prepare
from tellapart.cli.report import ReportOptions, report
from tellapart.data.pack import Pack
from tellapart.models.layers.lora import ATTENTION, Lora, LoraLinear, adapters, add_lora, merge_lora
from tellapart.papers.recipes import find_recipe
from tellapart.runs.export import export_hub
from tellapart.runs.run import open_run
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe

transformers = pytest.importorskip("transformers")
Hub = Callable[[str], Path]
SHORT = ("train.epochs=1", "train.sampling.batch=4", "train.sampling.steps=2", "train.lora.rank=2")


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve drawn photos with captions and made-up sentence targets."""
    return drawn_pack_with_targets(tmp_path_factory.mktemp("world"))


RECIPES = [
    ("clip-plain", "clip", ()),
    ("clip-hard-negatives", "chinese_clip", ("train.lora=none",)),
    ("clip-convse", "clip", ("train.model.heads=24",)),
    ("clip-ltd", "clip", ("train.objective.hidden=8",)),
    ("clip-ltd", "sentence_transformers", ("train.objective.hidden=8",)),
    ("clip-hard-negatives", "align", ("train.lora=none",)),
    ("siglip-ltd", "siglip", ("train.objective.hidden=8",)),
    ("siglip-ltd", "siglip2", ("train.objective.hidden=8",)),
    ("blip-cl", "blip", ()),
    ("blip-cl", "git", ()),
    ("blip-scst-self-retrieval", "vit_gpt2", ("train.objective.rewards.judge=hf:JUDGE",)),
    ("vse++", "clip", ()),
]


@pytest.mark.parametrize(("name", "family", "changes"), RECIPES)
def test_a_recipe_tunes_a_pretrained_model(
    hub: Hub, pack: Path, tmp_path: Path, name: str, family: str, changes: tuple[str, ...]
) -> None:
    source, out = tmp_path / "source", tmp_path / "run"
    shutil.copytree(hub(family), source)
    stage = find_recipe(name).stages[0].name
    short = tuple(one.replace("train.", f"{stage}.", 1) for one in SHORT)
    changes = tuple(change.replace("JUDGE", str(hub("clip"))) for change in changes)
    train_recipe(find_recipe(name), TrainSettings(pack, out, start=f"hf:{source}", set=(*short, *changes)))
    before = load_file(next(source.rglob("model.safetensors")))
    shutil.rmtree(source)  # a run alone rebuilds its model
    assert not check(CheckOptions((str(out),)))[0].damaged
    report(ReportOptions((out,), pack, tmp_path / "report.html", split="val", examples=2))
    run = open_run(out)
    after = {key.removeprefix("model."): value for key, value in run.model.state_dict().items()}
    changed = [key for key, value in before.items() if key in after and not torch.equal(value, after[key])]
    assert changed, "something has learned"
    if "train.lora=none" not in changes:
        assert all(key.split(".")[-2] in ATTENTION for key in changed), "only adapted layers have learned"
    if family in tiny_hub.MATCHERS:
        assert ta.load_matcher(out, device="cpu").encode_texts("a zebra").shape == (1, run.model.width)
    else:
        assert isinstance(
            ta.load_captioner(out, device="cpu").caption(np.zeros((20, 20, 3), np.uint8), beam=1).text, str
        )


def test_training_repeats_bit_for_bit(hub: Hub, pack: Path, tmp_path: Path) -> None:
    recipe, start = find_recipe("clip-plain"), f"hf:{hub('clip')}"
    whole = (*SHORT, "train.epochs=2")
    train_recipe(recipe, TrainSettings(pack, tmp_path / "whole", start=start, set=whole))
    again = train_recipe(recipe, TrainSettings(pack, tmp_path / "whole", start=start, set=whole, resume=True))
    other = train_recipe(recipe, TrainSettings(pack, tmp_path / "other", start=start, set=whole))
    for key, value in again.model.state_dict().items():
        assert torch.equal(value, other.model.state_dict()[key]), key


@pytest.mark.parametrize(("name", "family", "parts"), [("clip-plain", "clip", 2), ("blip-cl", "blip", 2)])
def test_a_pretrained_model_is_compiled(
    hub: Hub, pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, family: str, parts: int
) -> None:
    """`train --compile` compiled backbones alone and passed over models of transformers."""
    compiled: list[torch.nn.Module] = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self, *_, **__: compiled.append(self))
    recipe, start = find_recipe(name), f"hf:{hub(family)}"
    plain = train_recipe(recipe, TrainSettings(pack, tmp_path / "plain", start=start, set=SHORT))
    assert not compiled
    run = train_recipe(recipe, TrainSettings(pack, tmp_path / "run", start=start, set=SHORT, compile=True))
    assert len(compiled) == parts, "encoder of images, and of texts or captions"
    for key, value in plain.model.state_dict().items():
        assert torch.equal(value, run.model.state_dict()[key]), key


def test_an_adapter_starts_at_zero_and_merges(hub: Hub) -> None:
    """Before training nothing changes; W + (alpha / r) B A afterwards, computed by hand."""
    layer = torch.nn.Linear(3, 2)
    values = torch.randn(5, 3)
    expected = layer(values)
    adapted = LoraLinear(layer, rank=2, alpha=4.0)
    torch.testing.assert_close(adapted(values), expected)
    with torch.no_grad():
        adapted.lora_A.weight.copy_(torch.tensor([[1.0, 0, 0], [0, 1, 0]]))
        adapted.lora_B.weight.copy_(torch.tensor([[1.0, 0], [0, 3]]))
    change = 2.0 * torch.stack([values[:, 0], 3 * values[:, 1]], 1)  # alpha / r = 2
    torch.testing.assert_close(adapted(values), expected + change)
    torch.testing.assert_close(adapted.merged()(values), expected + change)


def test_adapters_open_in_peft(hub: Hub, pack: Path, tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    start = f"hf:{hub('clip')}"
    train_recipe(find_recipe("clip-plain"), TrainSettings(pack, tmp_path / "run", start=start, set=SHORT))
    base = transformers.CLIPModel.from_pretrained(hub("clip"))
    opened = peft.PeftModel.from_pretrained(base, str(tmp_path / "run" / "adapters" / "train")).merge_and_unload()
    ours = open_run(tmp_path / "run").model.state_dict()
    for key, value in opened.state_dict().items():
        torch.testing.assert_close(value, ours[f"model.{key}"], atol=1e-6, rtol=1e-5)


def test_adapters_have_a_model_card(hub: Hub, pack: Path, tmp_path: Path) -> None:
    """The hub shows it, and it says to which model they belong; adapters came without one."""
    train_recipe(find_recipe("clip-plain"), TrainSettings(pack, tmp_path / "run", start=f"hf:{hub('clip')}", set=SHORT))
    card = (tmp_path / "run" / "adapters" / "train" / "README.md").read_text()
    assert card.startswith(f"---\nlibrary_name: peft\nbase_model: {hub('clip')}\n") and "rank 2" in card
    assert f'PeftModel.from_pretrained(AutoModel.from_pretrained("{hub("clip")}"), "FOLDER")' in card


OWN = [
    ("matcher", "find-from-coco-lora-ltd", ("train.objective.hidden=8",), "reconstruction"),
    ("captioner", "tell-from-coco-lora-cl", ("train.objective.rounds=1",), "mismatched_gain"),
]
"""(model, recipe, changes, a term of its loss that plain tuning lacks)."""


@pytest.mark.parametrize(("name", "recipe", "changes", "term"), OWN)
def test_our_own_models_are_tuned_from_the_hubs_format(
    tmp_path: Path, name: str, recipe: str, changes: tuple[str, ...], term: str
) -> None:
    """Exported, opened by hf: and tuned by adapters with LTD, or with CL: the losses and weights of the package's own.

    The runs of the tables strong-start began with `bundled:`; this is why they answer for `hf:`, too.
    """
    source = f"hf:{export_hub(f'bundled:{name}', tmp_path / name)}"
    draw_photos(tmp_path / "photos")
    prepare(PrepareOptions(str(tmp_path / "photos"), tmp_path / "pack", vocabulary_from=source, nouns=False))
    extract(ExtractOptions(tmp_path / "pack", like=source, progress=False))
    drawn = Pack(tmp_path / "pack")
    drawn.save_column(
        "targets-minilm", np.random.default_rng(0).random((len(drawn.captions), 6), np.float32), "caption"
    )
    weights, logs = [], []
    for start in (source, f"bundled:{name}"):
        out = tmp_path / f"run{len(weights)}"
        train_recipe(find_recipe(recipe), TrainSettings(drawn.folder, out, start=start, set=(*SHORT, *changes)))
        weights.append(load_file(out / "model.safetensors"))
        logs.append([json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()])
    for ours, theirs in zip(*logs, strict=True):  # the first step, then the epoch
        assert term in ours or f"mean_{term}" in ours
        assert {name: ours[name] for name in ours if name != "stage"} == pytest.approx(
            {name: theirs[name] for name in theirs if name != "stage"}, abs=1e-5
        )
    first, second = weights
    assert first.keys() == second.keys() and all(torch.equal(first[key], second[key]) for key in first)
    assert any(
        not torch.equal(first[key], value) for key, value in load_file(tmp_path / name / "model.safetensors").items()
    )
    card = (tmp_path / "run0" / "adapters" / "train" / "README.md").read_text()
    assert "`tellapart export RUN`" in card and "PeftModel" not in card


def test_unknown_layers_are_named(hub: Hub) -> None:
    with pytest.raises(ta.InputError, match=r"no linear layer called nothing"):
        add_lora(torch.nn.Linear(2, 2), Lora(layers=("nothing",)))


def test_merging_leaves_no_adapters(hub: Hub) -> None:
    model = open_run(f"hf:{hub('vit_gpt2')}").model
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    names = add_lora(model, Lora(rank=2))
    assert set(adapters(model)) == set(names)
    merge_lora(model)
    assert not adapters(model)
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, weights[name])


@pytest.mark.parametrize(
    ("recipe", "family", "words"), [("blip-cl", "clip", "is a matcher"), ("clip-ltd", "blip", "is a captioner"),
                                    ("blip-cl", "llava", "chat model")]
)  # fmt: skip
def test_another_kind_of_start_is_an_error(
    hub: Hub, pack: Path, tmp_path: Path, recipe: str, family: str, words: str
) -> None:
    with pytest.raises(ta.InputError, match=words):
        train_recipe(find_recipe(recipe), TrainSettings(pack, tmp_path / "run", start=f"hf:{hub(family)}"))
