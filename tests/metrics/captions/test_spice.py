"""SPICE is only ever the jar's: what is missing is said, and what the jar writes is read."""

import importlib.machinery
import os
from pathlib import Path

import pytest

from tellapart.core.errors import InputError
from tellapart.metrics.captions import spice as module
from tellapart.metrics.captions.spice import CORENLP, spice


@pytest.fixture
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for pycocoevalcap and for Java, which writes 0.5 for every caption."""
    (tmp_path / "spice" / "lib").mkdir(parents=True)
    (tmp_path / "spice" / "spice-1.0.jar").touch()
    found = importlib.machinery.ModuleSpec("pycocoevalcap", None, is_package=True)
    found.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: found)
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(
        "#!/usr/bin/env python3\nimport json, sys\nrows = json.load(open(sys.argv[5]))\n"
        "made = [{'image_id': r['image_id'], 'scores': {'All': {'f': 0.25 * (1 + r['image_id'])}}} for r in rows]\n"
        "json.dump(made[::-1], open(sys.argv[sys.argv.index('-out') + 1], 'w'))\n"
    )
    java.chmod(0o755)
    monkeypatch.setenv("PATH", f"{java.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("TELLAPART_CORENLP", raising=False)
    return tmp_path


def test_missing_models_say_where_they_were_looked_for(jars: Path) -> None:
    with pytest.raises(InputError, match=r"models\.jar, which are not in .*lib\. Download http"):
        spice(["a"], [["a"]])


def test_values_of_the_jar_in_the_order_of_the_captions(jars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = jars / "models"
    models.mkdir()
    for name in CORENLP:
        (models / name).touch()
    monkeypatch.setenv("TELLAPART_CORENLP", str(models))
    score = spice(["a dog", "a cat"], [["a dog"], ["cats", "a cat"]])
    assert score.each.tolist() == [0.25, 0.5] and score.corpus == 0.375


def test_no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match="no `java` was found"):
        spice(["a"], [["a"]])


def test_a_jar_that_fails_is_a_sentence(jars: Path) -> None:
    for name in CORENLP:
        (jars / "spice" / "lib" / name).touch()
    (jars / "bin" / "java").write_text("#!/bin/sh\necho out of memory >&2\nexit 3\n")
    with pytest.raises(InputError, match="ended with code 3: out of memory"):
        spice(["a"], [["a"]])
