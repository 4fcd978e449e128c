"""Every package at run time is pinned, has a licence that was read, and is listed in the wheel."""

import json
import subprocess
from email.message import Message
from importlib.metadata import Distribution
from pathlib import Path
from types import SimpleNamespace

import pytest

from supply_chain import __main__ as command
from supply_chain import licences, pins, sbom
from supply_chain.closure import ROOT, closure, normalised, requirements


def package(licence: str) -> Distribution:
    found = Message()
    found["Name"], found["License"] = "x", licence
    return SimpleNamespace(metadata=found, version="1")  # type: ignore[return-value]


def test_what_is_installed_here_is_in_order() -> None:
    packages = closure()
    assert {"torch", "numpy", "pillow"} <= set(packages) and len(packages) > 30
    assert licences.faults(packages) == []
    assert pins.faults(packages) == []
    assert sbom.faults(packages) == []


def test_every_direct_dependency_is_pinned() -> None:
    assert {normalised(one.name) for one in requirements()} <= set(pins.pinned())


@pytest.mark.parametrize(
    ("licence", "fine"),
    [
        ("MIT", True),
        ("Apache-2.0 AND BSD-3-Clause", True),
        ("LGPL-3.0-or-later", True),
        ("GPL-3.0-only", False),
        ("GNU Affero General Public License v3", False),
        ("AGPL-3.0", False),
        ("", False),
        ("Proprietary", False),
    ],
)
def test_licences(licence: str, fine: bool) -> None:
    assert (licences.faults({"x": package(licence)}) == []) is fine


def test_the_list_of_packages_is_in_the_wheel_and_well_formed() -> None:
    import tellapart

    stored = json.loads((Path(tellapart.__file__).parent / "sbom.cdx.json").read_text())
    assert (stored["bomFormat"], stored["specVersion"]) == ("CycloneDX", "1.6")
    names = [one["name"] for one in stored["components"]]
    assert names == sorted(set(names)) and "torch" in names
    assert all(one["purl"] == f"pkg:pypi/{one['name']}@{one['version']}" for one in stored["components"])


@pytest.mark.parametrize(
    ("given", "error", "is_bad", "said"),
    [
        ([{"name": "x", "version": "1", "vulns": []}], "", False, "0 in 1 of 1 pinned packages; all were checked."),
        ([{"name": "x", "version": "1", "vulns": [{"id": "CVE-1"}]}], "", True, "x 1: CVE-1"),
        (
            [{"name": "x", "skip_reason": "not found"}],
            "",
            False,
            "0 in 0 of 1 pinned packages; the index knows nothing",
        ),
        (None, "requests.exceptions.ConnectionError: x", False, "their data base cannot be reached"),
        (None, "usage: pip-audit", True, "usage: pip-audit"),
    ],
)
def test_vulnerabilities_count_and_a_missing_network_does_not(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    given: list[dict[str, object]] | None,
    error: str,
    is_bad: bool,
    said: str,
) -> None:
    monkeypatch.setattr(command.importlib.util, "find_spec", lambda name: object())
    text = "" if given is None else json.dumps({"dependencies": given})
    done = subprocess.CompletedProcess([], int(is_bad), text, error)
    monkeypatch.setattr(command.subprocess, "run", lambda *call, **how: done)
    assert command.audit() is is_bad and said in capsys.readouterr().out


def test_lint_checks_packages_and_the_wheel_has_the_list() -> None:
    """`make lint` runs the checks, and the pattern of package data that pyproject.toml gives covers the list."""
    import fnmatch
    import tomllib

    recipe = (ROOT / "Makefile").read_text().partition("\nlint:")[2].partition("\n\n")[0]
    assert "-m supply_chain" in recipe and "pip-audit" in recipe
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["tellapart"]
    assert any(fnmatch.fnmatch("./sbom.cdx.json", pattern) for pattern in data)
