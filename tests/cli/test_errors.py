"""Errors name arguments; the command line turns them into flags and commands."""

import ast
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import tyro

import tellapart
from tellapart.cli.errors import ARGUMENT, OPTIONS, exit_code, for_command_line, option_names
from tellapart.cli.main import VERBS, load, main
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


ONLY_IN_PYTHON = {
    "bits": "slim_run has no verb",
    "counted": "a mistake in a program: frames of a batch",
    "each": "decoding has no verb; fewer_captions is a program with separate options",
    "groups": "diverse beam search has no verb",
    "least": "the bias of words is set in Python",
    "max_unknown": "text rules are chosen by preset",
    "owner": "self_retrieval has no verb",
    "similarity": "names a method",
    "step": "names a method",
    "strength": "the bias of words is set in Python",
    "temperature": "sampling has no verb",
    "text": "a field of a model; --set names it",
    "texts": "encode_texts has no verb",
    "top_k": "sampling has no verb",
    "top_p": "sampling has no verb",
    "weights": "a field of a model; --set names it",
    "width": "beam search as a function; --beam is checked before",
}
"""Arguments in errors that no verb passes on, and why."""
NOT_ARGUMENTS = {"annotations", "caption", "captions", "ids", "image_id", "image_ids", "java", "scenes"}
"""Words in backticks that are fields of files or programs."""
FILLED_IN = {
    "serve/server.py": {"upload_megabytes", "upload_megapixels", "upload_seconds"},
    "search/filters.py": {"after", "before"},
    "inference/caption_settings.py": {"batch_size", "neighbours", "beam"},
    "data/readers/folder.py": {"image_column", "caption_column"},
    "data/extra_sources.py": {"entities", "detections"},
    "runs/bundled/__init__.py": {"captioner", "matcher"},
    "features/importers/hdf5.py": {"features"},
}
"""Arguments whose names an error fills in."""
SOURCE = Path(tellapart.__file__).parent


def error_texts(path: Path) -> str:
    """The texts of the errors that a file raises, one per line; `{}` for what they fill in."""
    calls = (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))
    raised = (call for call in calls if ast.unparse(call.func).endswith(("Error", "UnreadableImage")) and call.args)
    return "\n".join(text_of(call.args[0]) for call in raised)


def text_of(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr | ast.BinOp | ast.IfExp):
        return "".join(text_of(part) for part in ast.iter_child_nodes(node))
    return "{}"


def test_every_argument_in_an_error_is_an_option_of_a_verb() -> None:
    """Or has an entry in OPTIONS, or no verb at all: an error on the command line names no argument that it lacks."""
    options = {name for verb in VERBS for name in option_names(load(verb)[0])}
    assert set(OPTIONS.values()) <= options
    known = options | set(OPTIONS) | set(ONLY_IN_PYTHON) | NOT_ARGUMENTS
    found: set[str] = set()
    for path in sorted(SOURCE.rglob("*.py")):
        place, texts = str(path.relative_to(SOURCE)), error_texts(path)
        named = {match[1] for match in ARGUMENT.finditer(texts)} | FILLED_IN.get(place, set())
        assert named <= known, f"{place}: {named - known} is no option; add it to OPTIONS of cli/errors.py"
        if not place.startswith("cli/"):
            assert ("`{}" in texts) == (place in FILLED_IN), place
        found |= named
    assert set(ONLY_IN_PYTHON) <= found - options and found >= NOT_ARGUMENTS


@pytest.mark.parametrize(
    ("verb", "message", "expected"),
    [
        ("caption", "`batch_size` must be at least 1, not 0.", "--batch must be at least 1, not 0."),
        ("extract", "`batch_size` must be at least 1, not 0.", "--batch must be at least 1, not 0."),
        ("annotate", "`boxes` must be union or each.", "--object-boxes must be union or each."),
        ("search", "`batch_size` must be at least 1.", "`batch_size` must be at least 1."),
    ],
)
def test_an_option_of_another_name(verb: str, message: str, expected: str) -> None:
    assert for_command_line(InputError(message), option_names(load(verb)[0])) == expected


def test_main_prints_flags(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["caption", "x.jpg", "--batch", "0"]) == 1
    assert capsys.readouterr().err == "tellapart caption: --batch must be at least 1, not 0.\n"
