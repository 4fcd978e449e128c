"""The documentation site: every public name is on the API page, lines are wrapped, and the site builds strictly."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tellapart
from documented_commands import ROOT, TEXTS

WIDTH = 100
GENERATED = {"results.md", "recipes.md", "sample-captions.md"}
"""Pages written by commands (`make pages`)."""


def test_the_api_page_has_every_public_name() -> None:
    named = re.findall(r"^::: tellapart\.(\w+)$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(tellapart.__all__)


def _too_long(text: str) -> list[str]:
    """Lines of prose over the width; code, tables, headings and images may be longer."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL).splitlines()
    return [line for line in prose if len(line) > WIDTH and not line.startswith(("|", "#", "!", "    ", "  {"))]


@pytest.mark.parametrize("page", [page for page in TEXTS if page.name not in GENERATED], ids=lambda page: page.stem)
def test_lines_are_wrapped(page: Path) -> None:
    long = _too_long(page.read_text(encoding="utf-8"))
    assert not long, "\n" + "\n".join(long)


def test_the_site_builds_strictly(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the extra `docs` is not installed; `make docs` installs it")
    for plugin in ("material", "mkdocstrings", "mkdocs_jupyter"):
        pytest.importorskip(plugin)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "load_captioner" in (tmp_path / "api.html").read_text(encoding="utf-8")
