"""Device, precision, batch size and compilation: every verb that runs a model over images has them, by one name."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tellapart.cli.alt_text import AltTextOptions, alt_text
from tellapart.cli.errors import option_names
from tellapart.cli.extract import ExtractOptions
from tellapart.cli.main import load, main
from tellapart.cli.score import ScoreOptions
from tellapart.core.errors import InputError
from tellapart.core.precisions import Precision

VERBS = ("index", "caption", "serve", "alt-text", "evaluate", "extract", "score")
NAMES = ("device", "precision", "batch", "compile")


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_that_runs_models_has_all_four(verb: str) -> None:
    options, _ = load(verb)
    names, fields = option_names(options), {field.name: field for field in dataclasses.fields(options)}
    assert [names[name] for name in NAMES] == [f"--{name}" for name in NAMES]
    assert fields["precision"].type == "Precision" or fields["precision"].type is Precision
    assert fields["precision"].default == "auto" and fields["compile"].default is False


def test_the_others_say_less() -> None:
    """A search encodes one text: a batch has no size, and compiling would take longer. The recipe of `train` has the
    precision and the batch of each stage."""
    assert not {"batch", "compile"} & set(option_names(load("search")[0]))
    assert {"device", "compile"} <= set(option_names(load("train")[0]))


def test_an_impossible_batch_stops_at_once(tmp_path: Path) -> None:
    """Not page by page."""
    (tmp_path / "page.html").write_text('<img src="a.jpg">')
    with pytest.raises(InputError, match=r"^`batch` must be at least 1, not 0\.$"):
        alt_text(AltTextOptions((tmp_path,), batch=0, quiet=True))


@pytest.mark.parametrize("options", [ExtractOptions, ScoreOptions])
def test_an_unknown_precision_lists_the_known_ones(options: type, capsys: pytest.CaptureFixture[str]) -> None:
    verb = options.__name__.removesuffix("Options").lower()
    with pytest.raises(SystemExit):
        main([verb, "pack", "--precision", "half"] if verb == "extract" else [verb, "--precision", "half"])
    assert "float32" in capsys.readouterr().err
