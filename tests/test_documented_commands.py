"""Every command in README and docs is accepted by the command line; the steps of README run on drawn images."""

import csv
import json
from pathlib import Path

import pytest
import tyro

from documented_commands import ROOT, TEXTS, Command, block_after, commands_of
from tellapart.cli.main import main
from tellapart.papers.recipes import RECIPES, find_recipe
from tellapart.papers.tables import find_tables
from tellapart.runs.overrides import override

FOUND = [command for page in TEXTS for command in commands_of(page)]
COMMANDS = [command for command in FOUND if command.whole]
FRAGMENTS = [command for command in FOUND if not command.whole]
EXAMPLES = {"soft-hinge", "mean-reciprocal-rank"}
"""Names that CONTRIBUTING adds; tests/test_contributing.py runs them."""
FEW_STEPS = {"vse++": ("--set", "base.epochs=1"), "neuraltalk2": ("--set", "nt.epochs=1")}


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


def draw_photos(folder: Path) -> None:
    """A folder of drawn images with captions.csv, as the reader of README would have."""
    from tellapart.data.pack import Pack

    assert main(["prepare", "scenes", "--out", "drawn", "--scene-count", "24", "--scene-size", "64"]) == 0
    pack = Pack(Path("drawn"))
    folder.mkdir()
    with (folder / "captions.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["image", "caption", "split"])
        for number, image in enumerate(pack.images):
            path = pack.image_path(number)
            (folder / path.name).write_bytes(path.read_bytes())
            rows.writerows(
                [path.name, caption.text, image.split] for caption in pack.captions if caption.image == number
            )


def test_the_commands_of_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Train, evaluate, report, index, search, caption and score, as README has them, with one epoch each."""
    monkeypatch.chdir(tmp_path)
    draw_photos(Path("photos"))
    steps = block_after(ROOT / "README.md", "## Train on your own data")
    assert [words[1] for words in steps] == ["prepare", "extract", "train", "train", "evaluate", "report", "index"]
    for words in steps:
        assert main([*words[1:], *FEW_STEPS.get(words[2], ())]) == 0, " ".join(words)
    assert Path("report.html").is_file()
    assert main(["search", "photos.index", "two dogs on a beach"]) == 0
    assert main(["caption", "photos/", "--captioner", "runs/tell"]) == 0
    Path("refs.json").write_text(json.dumps({"1": ["a red ball"], "2": ["a boat"]}))
    Path("ours.json").write_text(json.dumps({"1": "a red ball", "2": "a blue boat"}))
    assert main(list(block_after(ROOT / "README.md", "## What is inside")[0][1:])) == 0
