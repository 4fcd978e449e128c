"""The command line: help for newcomers, and messages for mistakes."""

import ast
import inspect
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tellapart.cli.main import VERBS, load, main


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([verb, "--help"])
    assert stopped.value.code == 0
    assert "usage: tellapart " + verb in capsys.readouterr().out


@pytest.mark.parametrize(
    ("verb", "form"),
    [
        ("prepare", "SOURCE"),
        ("annotate", "PACK"),
        ("join", "IMAGES CORPUS"),
        ("extract", "PACK"),
        ("train", "RECIPE"),
        ("evaluate", "RUN"),
        ("report", "RUN …"),
    ],
)
def test_what_a_verb_works_on_comes_first_and_needs_no_dashes(
    verb: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([verb, "--help"])
    assert f" {form}" in capsys.readouterr().out.split("\n\n")[0]


def test_every_option_says_what_it_is() -> None:
    """A field's docstring is its help."""
    for verb in VERBS:
        body = ast.parse(inspect.getsource(load(verb)[0])).body[0].body  # type: ignore[attr-defined]
        for field, after in itertools.pairwise([*body, None]):
            if isinstance(field, ast.AnnAssign) and ast.unparse(field.target) != "settings":
                assert isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant), ast.unparse(field)


def test_a_reader_of_our_lines_may_leave() -> None:
    """`tellapart recipes | head -1`: no traceback, and no complaint when Python closes."""
    command = [sys.executable, "-m", "tellapart", "recipes"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


def test_a_terminal_that_cannot_show_a_letter_does_not_stop_us() -> None:
    program = "from tellapart.cli import main as cli; cli.main = lambda: print('caf\\u00e9'); cli.run()"
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii:strict"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=ascii_only)
    assert (done.stdout, done.stderr) == (b"caf\\xe9\n", b"")


def test_usage_and_unknown_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2 and main(["--help"]) == 0
    said = capsys.readouterr().out
    assert all(verb in said for verb in VERBS)
    assert main(["trian"]) == 2
    error = capsys.readouterr().err
    assert error == "tellapart: unknown verb 'trian'. Did you mean 'train'?\n"
    assert main(["zzz"]) == 2
    assert (said := capsys.readouterr().err) and all(verb in said for verb in VERBS)


def test_from_training_to_figures(tiny_pack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Train by command line, evaluate the run, and get the same figures as JSON and on disk."""
    run = str(tmp_path / "run")
    changes = ["base.model.embedding=16", "base.model.word_width=8", "base.epochs=3"]
    assert main(["train", "vse++", "--data", str(tiny_pack), "--out", run, "--quiet", "--set", *changes]) == 0
    assert main(["evaluate", run, "--data", str(tiny_pack), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures == json.loads((tmp_path / "run" / "evaluation-test.json").read_text())
    assert 0 <= figures["i2t_r1"] <= 100


def test_a_rejected_run_leaves_nothing_in_the_way(tiny_pack: Path, tmp_path: Path) -> None:
    call = ["train", "vse++", "--data", str(tiny_pack), "--out", str(tmp_path / "run"), "--quiet", "--set"]
    small = ["base.model.embedding=16", "base.model.word_width=8", "base.epochs=1"]
    assert main([*call, *small, "base.frozen=nothing-of-this-name"]) == 1
    assert not (tmp_path / "run").exists()
    assert main([*call, *small]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["train", "vse--", "--data", "{pack}", "--out", "x"],
            "Unknown recipe 'vse--'. Did you mean 'vse' or 'vse++'? Run `tellapart recipes`.",
        ),
        (["train", "zzz", "--data", "{pack}", "--out", "x"], "Unknown recipe 'zzz'. Run `tellapart recipes`."),
        (["train", "vse++", "--data", "nowhere", "--out", "x"], "is not a pack"),
        (["train", "vse++", "--data", "{pack}", "--out", "{out}", "--features", "lost"], "no finished features 'lost'"),
        (["evaluate", "nowhere", "--data", "{pack}"], "is not a run folder"),
    ],
)
def test_mistakes_get_a_clear_error(
    arguments: list[str], said: str, tiny_pack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled = [argument.format(pack=tiny_pack, out=tmp_path / "run") for argument in arguments]
    assert main(filled) == 1
    assert said in capsys.readouterr().err


def test_a_place_that_cannot_be_written_gets_a_clear_error(
    tiny_pack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("no folder")
    assert main(["train", "vse++", "--data", str(tiny_pack), "--out", str(tmp_path / "file" / "run"), "--quiet"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("tellapart train: ") and "cannot be read or written (Not a directory)" in said


def test_a_pack_with_other_words_or_widths_is_rejected(
    tiny_pack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tiny_pack import make_tiny_pack

    run = str(tmp_path / "run")
    assert main(["train", "vse++", "--data", str(tiny_pack), "--out", run, "--quiet", "--set", "base.epochs=1"]) == 0
    wide = make_tiny_pack(tmp_path / "wide", width=24)
    assert main(["evaluate", run, "--data", str(wide.folder)]) == 1
    assert "of width 24" in capsys.readouterr().err
    (wide.folder / "vocabulary.json").write_text(json.dumps([*wide.vocabulary.words, "zebra"]))
    assert main(["evaluate", run, "--data", str(wide.folder)]) == 1
    assert "another vocabulary" in capsys.readouterr().err
