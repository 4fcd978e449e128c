"""Models by `hf:` through the verbs of the command line: index, search, caption, evaluate, extract, serve."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import tyro

import tellapart as ta
import tiny_hub
from photo_world import draw_photos
from tellapart.cli.alt_text import AltTextOptions, alt_text
from tellapart.cli.caption import CaptionOptions, caption
from tellapart.cli.evaluate import EvaluateOptions, evaluate
from tellapart.cli.extract import ExtractOptions, extract
from tellapart.cli.index import IndexOptions, index
from tellapart.cli.prepare import PrepareOptions, prepare
from tellapart.cli.report import ReportOptions, report
from tellapart.cli.search import SearchOptions, search
from tellapart.data.pack import Pack

Hub = Callable[[str], Path]
PAIRS = [
    ("clip", "blip"), ("siglip2", "git"), ("siglip", "llava"), ("align", "vit_gpt2"), ("chinese_clip", "idefics3"),
    ("sentence_transformers", "blip"),
]  # fmt: skip
"""Every captioner with a matcher of another family."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve drawn photos with captions, and their pack."""
    folder = tmp_path_factory.mktemp("world")
    draw_photos(folder / "photos")
    prepare(PrepareOptions(str(folder / "photos"), folder / "pack", min_count=1, nouns=False))
    return folder


@pytest.mark.parametrize(("matcher", "captioner"), PAIRS)
def test_an_index_is_made_and_searched(
    hub: Hub, world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], matcher: str, captioner: str
) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for path in sorted((world / "photos").glob("*.png"))[:4]:
        shutil.copy(path, photos)
    where, named = str(tmp_path / "index"), f"hf:{hub(matcher)}"
    index(IndexOptions((photos,), out=where, matcher=named, captioner=f"hf:{hub(captioner)}", progress=False))
    opened = ta.open_index(where)
    assert opened.matcher.run.folder.is_relative_to(hub(matcher)) and len(opened) == 4
    own = opened.matcher.similarity(sorted(photos.iterdir()), "a red ball")[:, 0]
    capsys.readouterr()
    search(SearchOptions(where, ("a", "red", "ball"), count=4, json=True))
    found = json.loads(capsys.readouterr().out)
    if not any({"red", "ball"} & {*(row["caption"] or "").split()} for row in found):  # such words raise a score
        assert np.allclose(sorted(own, reverse=True), [row["score"] for row in found], atol=1e-3)
    assert not opened.search("a tabby ball").unknown, "its tokenizer reads any word"
    captions = {Path(row["path"]).name: row["caption"] for row in found}
    expected = opened.captioner.caption(sorted(photos.iterdir()))  # type: ignore[union-attr]
    assert captions == {path.name: one.text for path, one in zip(sorted(photos.iterdir()), expected)}


def test_an_index_rejects_another_model(hub: Hub, world: Path, tmp_path: Path) -> None:
    where = str(tmp_path / "index")
    ta.open_index(where, f"hf:{hub('clip')}", None, device="cpu").update(world / "photos")
    with pytest.raises(ta.InputError, match=r"made by another matcher \(hf:.*clip\)"):
        ta.open_index(where, f"hf:{hub('siglip')}", None, device="cpu").search("a ball")
    shutil.copytree(hub("clip"), tmp_path / "moved")
    moved = ta.open_index(where, f"hf:{tmp_path / 'moved'}", None, device="cpu")
    assert len(moved.search("a ball", 3)) == 3, "the same weights elsewhere are the same matcher"


@pytest.mark.parametrize("family", [*tiny_hub.CAPTIONERS, *tiny_hub.CHAT])
def test_photos_are_captioned(hub: Hub, world: Path, capsys: pytest.CaptureFixture[str], family: str) -> None:
    photos = tuple(str(path) for path in sorted((world / "photos").glob("*.png"))[:2])
    caption(CaptionOptions(photos, captioner=f"hf:{hub(family)}", quiet=True, json=True, device="cpu"))
    printed = json.loads(capsys.readouterr().out)
    assert len(printed["captions"]) == 2


@pytest.mark.parametrize(("family", "generator"), PAIRS)
def test_captions_are_compared_with_an_index_of_the_same_matcher(
    hub: Hub, world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], family: str, generator: str
) -> None:
    where, matcher = tmp_path / "index", f"hf:{hub(family)}"
    ta.open_index(str(where), matcher, None, device="cpu").update(world / "photos")
    photo = str(world / "photos" / "red-left.png")
    options = {"captioner": f"hf:{hub(generator)}", "against": where, "quiet": True, "json": True, "device": "cpu"}
    caption(CaptionOptions((photo,), matcher=matcher, **options))  # type: ignore[arg-type]
    (found,) = json.loads(capsys.readouterr().out)["captions"]
    assert found["caption"] is not None and len(found["neighbours"]) == 10
    other = f"hf:{hub('clip' if family == 'siglip' else 'siglip')}"
    with pytest.raises(ta.InputError, match="encoded by another matcher"):
        caption(CaptionOptions((photo,), matcher=other, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("family", tiny_hub.MATCHERS)
def test_a_matcher_is_evaluated_on_a_pack(hub: Hub, world: Path, family: str) -> None:
    named = Path(f"hf:{hub(family)}")
    values = evaluate(EvaluateOptions(named, world / "pack", split="val", json=True))
    matcher = ta.load_matcher(str(named), device="cpu")
    pack = Pack(world / "pack")
    rows = pack.split("val").images
    texts = [pack.captions[row].text for image in rows for row in pack.captions_of[image]]
    scores = matcher.similarity([pack.image_path(int(row)) for row in rows], texts)
    best = scores.argmax(0) == np.repeat(np.arange(len(rows)), 2)
    assert values["t2i_r1"] == pytest.approx(100 * best.mean())


@pytest.mark.parametrize("family", tiny_hub.CAPTIONERS)
def test_a_captioner_is_evaluated_with_a_judge(hub: Hub, world: Path, family: str) -> None:
    named = Path(f"hf:{hub(family)}")
    options = {"split": "val", "json": True, "judge": Path(f"hf:{hub('clip')}")}
    values = evaluate(EvaluateOptions(named, world / "pack", **options))  # type: ignore[arg-type]
    assert values["loss"] > 0 and 0 <= values["judge_accuracy"] <= 100 and values["judge_among"] == 4


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
@pytest.mark.parametrize("family", ["clip", "siglip2", "align", *tiny_hub.CAPTIONERS, "llava"])
def test_models_are_evaluated_in_half_precision(hub: Hub, world: Path, family: str, precision: Any) -> None:
    named = Path(f"hf:{hub(family)}")
    options = {"split": "val", "json": True}
    if family not in tiny_hub.MATCHERS:
        options["judge"] = Path(f"hf:{hub('siglip')}")
    whole = evaluate(EvaluateOptions(named, world / "pack", **options))  # type: ignore[arg-type]
    half = evaluate(EvaluateOptions(named, world / "pack", precision=precision, **options))  # type: ignore[arg-type]
    assert half.keys() == whole.keys() and all(np.isfinite(value) for value in half.values())
    if "loss" in whole:
        assert half["loss"] != whole["loss"] and half["loss"] == pytest.approx(whole["loss"], rel=0.05)


def test_precision_and_compilation_of_the_other_verbs(
    hub: Hub, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fastapi")
    from tellapart.search import photo_index
    from tellapart.serve.server import ServerSettings, open_server

    compiled = list[str]()
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self, *_, **__: compiled.append(type(self).__name__))
    evaluate(EvaluateOptions(Path(f"hf:{hub('clip')}"), world / "pack", split="val", compile=True, json=True))
    assert len(compiled) == 2, "two towers"
    with pytest.raises(ta.InputError, match="`compile` is for models of transformers"):
        evaluate(EvaluateOptions(Path("bundled:matcher"), world / "pack", split="val", compile=True))
    with pytest.raises(ta.InputError, match="`precision` is for models of transformers"):
        evaluate(EvaluateOptions(Path("bundled:matcher"), world / "pack", split="val", precision="bfloat16"))
    where = str(tmp_path / "index")
    ta.open_index(where, f"hf:{hub('clip')}", None, device="cpu").update(world / "photos")
    opened, asked = photo_index.load_matcher, list[tuple[Any, ...]]()

    def recorded(*given: Any, **options: Any) -> Any:
        asked.append((*given[3:], options["compile"]))
        return opened(*given, **options)

    monkeypatch.setattr(photo_index, "load_matcher", recorded)
    search(SearchOptions(where, ("a", "ball"), precision="bfloat16", json=True))
    server = open_server(where, ServerSettings(port=0), captioner=None, precision="float16", compile=True)
    server.socket.close()
    with pytest.raises(ta.InputError, match="`batch` must be at least 1, not 0"):
        open_server(where, ServerSettings(port=0), captioner=None, batch=0)
    assert asked == [("bfloat16", False), ("float16", True)]


@pytest.mark.parametrize("compile", [False, True])
def test_an_update_encodes_as_the_server_does(
    hub: Hub, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compile: bool
) -> None:
    """`serve --update` runs `index`, which got the device alone."""
    pytest.importorskip("fastapi")
    from tellapart.serve.server import ServerSettings, open_server

    monkeypatch.setattr(torch.nn.Module, "compile", lambda self, *_, **__: None)
    how = {"device": "cpu", "precision": "bfloat16", "compile": compile, "batch": 5}
    where, named, photos = str(tmp_path / "index"), f"hf:{hub('clip')}", world / "photos"
    server = open_server(where, ServerSettings(port=0), named, None, update=[photos], **how)  # type: ignore[arg-type]
    server.socket.close()
    assert server.updater is not None
    options = tyro.cli(IndexOptions, args=server.updater.command[4:])
    assert {name: getattr(options, name) for name in how} == how and options.folders == (str(photos),)


@pytest.mark.parametrize("family", [*tiny_hub.CAPTIONERS, *tiny_hub.CHAT])
def test_images_of_a_page_get_texts(hub: Hub, world: Path, tmp_path: Path, family: str) -> None:
    shutil.copytree(world / "photos", tmp_path / "site")
    (tmp_path / "site" / "page.html").write_text('<img src="red-left.png"><img src="blue-right.png">')
    named = {"captioner": f"hf:{hub(family)}", "unsure": True, "device": "cpu", "quiet": True}
    whole, one = (
        alt_text(AltTextOptions((tmp_path / "site" / "page.html",), batch=batch, **named))  # type: ignore[arg-type]
        for batch in (32, 1)
    )
    assert len(whole.proposals) == 2
    assert [found.alt for found in whole.proposals] == [found.alt for found in one.proposals]
    half = {**named, "precision": "bfloat16"}
    assert len(alt_text(AltTextOptions((tmp_path / "site" / "page.html",), **half)).proposals) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("family", tiny_hub.CHAT)
def test_a_chat_model_is_evaluated(hub: Hub, world: Path, family: str) -> None:
    """It has no `start` and `step`, so it was rejected; its captions have every metric but the loss."""
    named, judge = Path(f"hf:{hub(family)}"), Path(f"hf:{hub('siglip')}")
    values = evaluate(EvaluateOptions(named, world / "pack", split="val", json=True, judge=judge))
    assert "loss" not in values and values["judge_among"] == 4 and values["cider_between"] >= 0
    pack = Pack(world / "pack")
    rows = pack.split("val").images
    captions = ta.load_captioner(str(named), device="cpu").caption([pack.image_path(int(row)) for row in rows], beam=3)
    groups = [[pack.captions[row].text for row in pack.captions_of[image]] for image in rows]
    scored = ta.score(groups, [one.text for one in captions])
    assert values["cider"] == pytest.approx(scored["CIDEr"], abs=1e-6)
    assert values["bleu1"] == pytest.approx(scored["BLEU-1"])
    with pytest.raises(ta.InputError, match="has no `start` and `step`"):
        evaluate(EvaluateOptions(named, world / "pack", split="val", evaluation="self-retrieval"))


@pytest.mark.parametrize("family", [*tiny_hub.MATCHERS, *tiny_hub.CAPTIONERS, "llava"])
def test_a_matcher_or_captioner_gives_features(hub: Hub, world: Path, family: str) -> None:
    """Those of its image encoder."""
    (store,) = extract(ExtractOptions(world / "pack", backbone=f"hf:{hub(family)}", kind="vector", progress=False))
    assert len(store) == 12 and store.width > 1


@pytest.mark.parametrize("family", tiny_hub.BACKBONES)
def test_a_backbone_gives_features(hub: Hub, world: Path, family: str) -> None:
    (store,) = extract(ExtractOptions(world / "pack", backbone=f"hf:{hub(family)}", kind="vector", progress=False))
    assert store.facts["resize"] == "own" and store.width in (12, 16) and len(store) == 12


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
@pytest.mark.parametrize("family", ["clip", "siglip2", "dinov2", "convnext"])
def test_features_in_half_precision_are_close(hub: Hub, world: Path, family: str, precision: Any) -> None:
    """A cosine of at least 0.99 with float32, by weights of 16 bits."""
    named = {"backbone": f"hf:{hub(family)}", "kind": "vector", "progress": False}
    (plain,) = extract(ExtractOptions(world / "pack", name=f"{family}-whole", **named))  # type: ignore[arg-type]
    (half,) = extract(ExtractOptions(world / "pack", name=f"{family}-{precision}", precision=precision, **named))  # type: ignore[arg-type]
    first, second = (torch.from_numpy(np.asarray(store.values, np.float32)) for store in (plain, half))
    assert not torch.equal(first, second) and torch.cosine_similarity(first, second).min() > 0.99
    assert half.facts["precision"] == precision and half.values.dtype == np.float16


@pytest.mark.parametrize("family", [*tiny_hub.MATCHERS, *tiny_hub.CAPTIONERS])
def test_a_report_shows_a_model_that_learned_elsewhere(hub: Hub, world: Path, tmp_path: Path, family: str) -> None:
    """Its curves were two empty plots, and matplotlib complained."""
    out = tmp_path / "report.html"
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        report(ReportOptions((Path(f"hf:{hub(family)}"),), world / "pack", out, split="val", examples=2))
    page = out.read_text()
    assert ": metrics" in page and "learning curves" not in page
    assert ("images found by text" if family in tiny_hub.MATCHERS else ": captions") in page


@pytest.mark.parametrize(("matcher", "captioner"), PAIRS)
def test_the_page_describes_a_photo(hub: Hub, world: Path, tmp_path: Path, matcher: str, captioner: str) -> None:
    pytest.importorskip("fastapi")
    from tellapart.serve.describe import Describer
    from tellapart.serve.library import PhotoLibrary

    where = str(tmp_path / "index")
    opened = ta.open_index(where, f"hf:{hub(matcher)}", f"hf:{hub(captioner)}", device="cpu")
    opened.update(world / "photos")
    described = Describer(PhotoLibrary(ta.open_index(where, device="cpu")), 3).describe(
        world / "photos" / "red-left.png", 4
    )
    assert described.caption is not None and described.distinctive_caption is not None and len(described.similar) == 4


def test_workers_encode_as_this_process_does(
    hub: Hub, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Precision, compilation and batches also reach what Ray's workers open; workers took none of them."""
    from tellapart.search import photo_index

    given: list[Any] = []
    factory, compiled = photo_index.engine_factory, list[str]()

    def recorded(*arguments: Any) -> Any:
        given.extend(arguments[1:3])
        return factory(*arguments)

    monkeypatch.setattr(photo_index, "engine_factory", recorded)
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self, *_, **__: compiled.append(type(self).__name__))
    how = {"captioner": "none", "precision": "bfloat16", "compile": True, "batch": 5, "progress": False}
    options = IndexOptions((str(world / "photos"),), str(tmp_path / "index"), f"hf:{hub('clip')}", **how)  # type: ignore[arg-type]
    index(options)
    own, make = given
    there = make()
    for embedder in (own, there):
        assert embedder.batch == 5 and next(embedder.matcher.model.parameters()).dtype == torch.bfloat16
    assert len(compiled) == 4, "two towers, here and there"
    with pytest.raises(ta.InputError, match="`batch` must be at least 1, not 0"):
        index(replace(options, batch=0))
