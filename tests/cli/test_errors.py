"""Errors name arguments; the command line turns them into flags and commands."""

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import tyro

from tellapart.cli.errors import exit_code, for_command_line, option_names
from tellapart.cli.main import main
from tellapart.core.errors import Error, InputError, Step


@dataclass
class Inner:
    batch_size: int = 1


@dataclass
class Options:
    photos: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="PHOTO…")]
    index: Annotated[str, tyro.conf.Positional]
    settings: Annotated[Inner, tyro.conf.arg(name="")]
    show_attention: Path | None = None


NAMES = {
    "photos": "PHOTO…",
    "index": "INDEX",
    "batch_size": "--batch-size",
    "show_attention": "--show-attention",
}


def test_option_names_of_positionals_and_nested_settings() -> None:
    assert option_names(Options) == NAMES


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("`batch_size` must be at least 1, not 0.", "--batch-size must be at least 1, not 0."),
        ("Use `show_attention='my folder'`.", "Use --show-attention 'my folder'."),
        ("Use `show_attention=FOLDER`.", "Use --show-attention FOLDER."),
        ("`photos` is empty.", "PHOTO… is empty."),
        ("`unknown` and `pip install x` stay.", "`unknown` and `pip install x` stay."),
    ],
)
def test_arguments_become_flags(message: str, expected: str) -> None:
    assert for_command_line(InputError(message), NAMES) == expected


def test_a_step_becomes_a_command() -> None:
    step = Step("prepare", "FILE", format="corpus", keep_uncaptioned=True, flip=False, kind=("grid", "vector"))
    assert for_command_line(InputError("No text.", step), {}) == (
        "No text. Run `tellapart prepare FILE --format corpus --keep-uncaptioned --no-flip --kind grid vector`."
    )


def test_an_error_survives_the_way_between_processes() -> None:
    again = pickle.loads(pickle.dumps(InputError("No features.", Step("extract", "pack"))))
    assert isinstance(again, Error) and isinstance(again, ValueError)
    assert (str(again), again.step.verb) == ("No features.", "extract")


def test_a_small_program_prints_its_error(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise InputError("Nothing to do.")

    assert exit_code(fail) == 1 and capsys.readouterr().err == "Nothing to do.\n"
    assert exit_code(lambda: None) == 0


def test_main_prints_flags(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["caption", "x.jpg", "--batch", "0"]) == 1
    assert capsys.readouterr().err == "tellapart caption: --batch must be at least 1, not 0.\n"
