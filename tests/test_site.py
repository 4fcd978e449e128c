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


@pytest.fixture
def mkdocs() -> list[str]:
    """The command of `make docs`; skips where the extra is missing. `.ci/run` installs it before it runs the tests.

    Never with --quiet: that drops warnings before --strict counts them.
    """
    pytest.importorskip("mkdocs", reason="the extra `docs` is not installed; `make docs` installs it")
    for plugin in ("material", "mkdocstrings", "mkdocs_jupyter"):
        pytest.importorskip(plugin)
    return [sys.executable, "-m", "mkdocs", "build", "--strict"]


def test_the_site_builds_strictly(tmp_path: Path, mkdocs: list[str]) -> None:
    done = subprocess.run([*mkdocs, "--site-dir", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "load_captioner" in (tmp_path / "api.html").read_text(encoding="utf-8")
    assert "Keep a Changelog" in (tmp_path / "changelog.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("broken", ["[x](nowhere.md)", "[x](#nowhere)", "[x](/nowhere.md)", '--8<-- "nowhere.md"'])
def test_a_broken_reference_is_an_error(broken: str, tmp_path: Path, mkdocs: list[str]) -> None:
    """With the settings of the site, but for the slow plugins."""
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    plugins = re.search(r"^plugins:\n(?: .*\n)+", settings, re.MULTILINE)
    nav = re.search(r"^nav:\n(?: .*\n)+", settings, re.MULTILINE)
    assert plugins is not None and nav is not None
    settings = settings.replace(plugins[0], "").replace(nav[0], "").replace("extra_css: [site.css]", "")
    (tmp_path / "mkdocs.yml").write_text(settings, encoding="utf-8")
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "index.md"
    for text, code in (("# Title\n", 0), (f"# Title\n\n{broken}\n", 1)):
        page.write_text(text, encoding="utf-8")
        done = subprocess.run(mkdocs, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr


def test_continuous_integration_builds_the_site_strictly() -> None:
    assert "make lint types docs test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (build,) = re.findall(r"mkdocs build.*", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert "--strict" in build and "--quiet" not in build


@pytest.mark.parametrize("page", ["contributing", "changelog", "model-card"])
def test_an_included_page_links_to_its_file(page: str) -> None:
    """A code host does not include files: there, the page has at least a link."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    included, linked = re.search(r'^--8<-- "(.+)"$', text, re.MULTILINE), re.search(r'<a href="(.+?)">', text)
    assert included is not None and linked is not None
    assert (ROOT / "docs" / linked[1]).resolve() == ROOT / included[1]
    assert (ROOT / included[1]).is_file()
