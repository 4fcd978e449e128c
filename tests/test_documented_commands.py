"""Every command in README and docs is accepted by the command line, and tests/test_documented_runs.py runs them."""

import pytest
import tyro

from documented_commands import TEXTS, Command, commands_of
from tellapart.cli.main import main
from tellapart.papers.recipes import RECIPES, find_recipe
from tellapart.papers.tables import find_tables
from tellapart.runs.overrides import override

FOUND = [command for page in TEXTS for command in commands_of(page)]
COMMANDS = [command for command in FOUND if command.whole]
FRAGMENTS = [command for command in FOUND if not command.whole]
EXAMPLES = {"soft-hinge", "mean-reciprocal-rank"}
"""Names that CONTRIBUTING adds; tests/test_contributing.py runs them."""


class Parsed(Exception):
    """The command line accepted the words."""


@pytest.fixture
def parse_only(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """`main` stops once it has parsed its options; the list holds them."""
    parsed: list[object] = []
    original = tyro.cli

    def stop(*arguments: object, **keywords: object) -> None:
        parsed.append(original(*arguments, **keywords))  # type: ignore[call-overload]
        raise Parsed

    monkeypatch.setattr(tyro, "cli", stop)
    return parsed


def test_there_are_commands() -> None:
    assert len(COMMANDS) > 60


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_a_command_is_accepted(command: Command, parse_only: list[object]) -> None:
    with pytest.raises(Parsed):
        main(list(command.words))
    verb, *rest = command.words
    if verb == "train" and rest[0] in RECIPES:
        settings = [word for word in rest if "=" in word and word.split("=")[1] not in EXAMPLES]
        override(find_recipe(rest[0]), settings)
    if verb == "reproduce" and rest and "/" in rest[0]:
        find_tables([rest[0]])


@pytest.mark.parametrize("command", FRAGMENTS, ids=str)
def test_a_fragment_names_real_options(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([command.words[0], "--help"])
    assert stopped.value.code == 0
    described = capsys.readouterr().out
    missing = [word for word in command.words if word.startswith("--") and word not in described]
    assert not missing, f"{command.place} names {missing}"
