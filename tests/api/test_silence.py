"""Every public call with every option writes nothing to stdout or stderr; a progress bar appears only when asked for.

The options are read from the signatures: a new one without a case here fails the test.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import tellapart as ta
from tellapart.core import progress
from tellapart.core.types import Images


class World(NamedTuple):
    """What the calls below work on."""

    folder: Path
    matcher: ta.PhotoMatcher
    captioner: ta.PhotoCaptioner
    index: ta.PhotoIndex

    @property
    def photo(self) -> Path:
        return self.folder / "photos" / "red-left.png"

    def new_index(self) -> ta.PhotoIndex:
        return ta.open_index(f"{tempfile.mkdtemp()}/new.index", self.matcher, self.captioner)


class Case(NamedTuple):
    """One public call: what it is called on, what it needs, and for each option a value unlike its default."""

    on: Callable[[World], Any]
    needed: Callable[[World], dict[str, Any]]
    options: dict[str, Callable[[World], Any]]


def given(value: object) -> Callable[[World], Any]:
    return lambda world: value


def features(world: World) -> Images:
    spec = world.matcher.spec
    return Images(torch.ones(1, spec.rows, spec.width), torch.ones(1, spec.rows, dtype=torch.bool))


def attention(world: World) -> ta.CaptionAttention:
    found = world.captioner.caption(world.photo, attention=True).attention
    assert found is not None
    return found


GIVEN_ALWAYS = {"model", "text", "against"}
"""Options that every case gives; tests/api/test_front_door.py runs the bundled models."""
CAPTIONS = {"references": [["a red ball"], ["a cat"]], "candidates": ["a ball", "a cat"]}
BATCHES = {"batch_size": given(1), "progress": given(False)}
LOADING = {"device": given("cpu"), "workers": given(1), "precision": given("bfloat16"), "compile": given(False)}
CASES = {
    "load_matcher": Case(lambda w: ta, lambda w: {"model": w.folder / "find"}, LOADING),
    "load_captioner": Case(lambda w: ta, lambda w: {"model": w.folder / "aa"}, LOADING),
    "open_index": Case(
        lambda w: ta,
        lambda w: {"path": w.index.path},
        {"matcher": lambda w: w.matcher, "captioner": given(None), "device": given("cpu")},
    ),
    "score": Case(
        lambda w: ta,
        lambda w: CAPTIONS,
        {"metrics": given(("BLEU-4", "CIDEr")), "neighbours": given([[1], [0]]), "allow_empty": given(True)},
    ),
    "CaptionAttention.box_of": Case(attention, lambda w: {"word": 0}, {}),
    "PhotoMatcher.encode_images": Case(lambda w: w.matcher, lambda w: {"images": w.photo}, BATCHES),
    "PhotoMatcher.encode_texts": Case(lambda w: w.matcher, lambda w: {"texts": "a red ball"}, {}),
    "PhotoMatcher.encode_features": Case(lambda w: w.matcher, lambda w: {"images": features(w)}, {}),
    "PhotoMatcher.similarity": Case(
        lambda w: w.matcher, lambda w: {"images": [w.photo] * 2, "texts": "a red ball"}, BATCHES
    ),
    "PhotoCaptioner.caption": Case(
        lambda w: w.captioner,
        lambda w: {"images": w.photo, "against": w.folder / "photos"},
        {
            "neighbours": given(2),
            "weight": given(1.0),
            "matcher": lambda w: w.matcher,
            "attention": given(True),
            "beam": given(2),
            **BATCHES,
        },
    ),
    "PhotoCaptioner.stream": Case(
        lambda w: w.captioner, lambda w: {"images": w.photo}, {"settings": lambda w: caption_settings()}
    ),
    "PhotoIndex.update": Case(
        lambda w: w.new_index(),
        lambda w: {"folders": w.folder / "photos"},
        {
            "forget": given(True),
            "verify": given(True),
            "chunk": given(2),
            "engine": given("local"),
            "workers": given(1),
            "gpus": given(0),
            "progress": given(False),
        },
    ),
    "PhotoIndex.search": Case(
        lambda w: w.index,
        lambda w: {"text": "a red ball"},
        {
            "count": given(2),
            "like": lambda w: w.photo,
            "unlike": lambda w: w.photo,
            "without": given("a ball"),
            "folder": lambda w: w.folder,
            "after": given("2020-01-01"),
            "before": given("2020-01-01"),
            "camera": given("canon"),
            "place": given("48.2,16.4"),
            "orientation": given("portrait"),
            "everything": given(True),
            "exact": given(True),
            "rerank": lambda w: w.matcher,
            "shortlist": given(3),
            "share": given(0.1),
        },
    ),
    "PhotoIndex.images": Case(lambda w: w.index, lambda w: {}, {}),
    "PhotoIndex.similar": Case(lambda w: w.index, lambda w: {"image": w.photo}, {"count": given(2)}),
    "PhotoIndex.asked": Case(
        lambda w: w.index,
        lambda w: {"text": "a red ball"},
        {"like": lambda w: w.photo, "unlike": lambda w: w.photo, "without": given("a blue ball")},
    ),
    "PhotoCaptioner.reads_index": Case(lambda w: w.captioner, lambda w: {"against": w.index.path}, {}),
    "PhotoIndex.query": Case(
        lambda w: w.index,
        lambda w: {"text": "a red ball"},
        {"like": lambda w: w.photo, "unlike": lambda w: w.photo, "without": given("a blue ball")},
    ),
}


def caption_settings() -> object:
    from tellapart.inference.caption_settings import CaptionSettings

    return CaptionSettings(beam=2)


def public_calls() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions of the package and the methods of its classes; errors have none of their own."""
    for name in ta.__all__:
        value = getattr(ta, name)
        if inspect.isfunction(value):
            yield name, value
        elif not issubclass(value, Exception):
            methods = ((method, held) for method, held in vars(value).items() if inspect.isfunction(held))
            yield from ((f"{name}.{method}", held) for method, held in methods if not method.startswith("_"))


CALLS = dict(public_calls())
EACH = [(name, option) for name, case in CASES.items() for option in (None, *case.options)]


@pytest.fixture(scope="module")
def world(photo_world: Path, tmp_path_factory: pytest.TempPathFactory) -> World:
    matcher, captioner = ta.load_matcher(photo_world / "find"), ta.load_captioner(photo_world / "aa")
    index = ta.open_index(tmp_path_factory.mktemp("silence") / "photos.index", matcher, captioner)
    index.update(photo_world / "photos")
    return World(photo_world, matcher, captioner, index)


@pytest.fixture(autouse=True)
def eager_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal, progress is a line per minute; here it is a line per item."""
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", -1)


def test_every_option_has_a_case() -> None:
    assert set(CASES) == set(CALLS)
    for name, call in CALLS.items():
        parameters = inspect.signature(call).parameters.values()
        optional = {one.name for one in parameters if one.default is not inspect.Parameter.empty}
        assert set(CASES[name].options) == optional - GIVEN_ALWAYS, f"{name}: add a value for each option to CASES"


@pytest.mark.parametrize(("name", "option"), EACH, ids=[f"{name}-{option or 'plain'}" for name, option in EACH])
def test_a_call_writes_nothing(name: str, option: str | None, world: World, capfd: pytest.CaptureFixture[str]) -> None:
    case = CASES[name]
    receiver, arguments = case.on(world), case.needed(world)
    if option is not None:
        arguments = {**arguments, option: case.options[option](world)}
    capfd.readouterr()
    result = getattr(receiver, name.split(".")[-1])(**arguments)
    if inspect.isgenerator(result) or isinstance(result, Iterator):
        list(result)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "progress" in case.options])
def test_progress_on_request(name: str, world: World, capfd: pytest.CaptureFixture[str]) -> None:
    """Progress is on stderr alone, and never by default."""
    assert inspect.signature(CALLS[name]).parameters["progress"].default is False
    case = CASES[name]
    getattr(case.on(world), name.split(".")[-1])(**case.needed(world), progress=True)
    out, err = capfd.readouterr()
    assert out == "" and err


def test_nothing_given_nothing_returned(world: World) -> None:
    assert world.captioner.caption([]) == []
    assert world.captioner.caption([], against=world.folder / "photos") == []
    assert world.matcher.encode_images([]).shape == (0, world.matcher.width)
    assert world.matcher.similarity([], "a ball").shape == (0, 1)
    assert np.asarray(world.matcher.encode_texts([])).shape == (0, world.matcher.width)
