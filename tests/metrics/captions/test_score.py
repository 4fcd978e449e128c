"""`score`: one call for lists, mappings and files; no torch."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tellapart.core.errors import InputError
from tellapart.metrics.captions.evaluate import evaluate
from tellapart.metrics.captions.score import score

REFERENCES = [["A dog is running.", "The dog runs"], ["Cats sleep on the mat."]]
CANDIDATES = ["A dog runs.", "Two cats sleep on a mat."]
QUICK = ("BLEU-1", "BLEU-4", "ROUGE-L", "CIDEr")


def test_lists_mappings_and_files_agree(tmp_path: Path) -> None:
    expected = {name: found.corpus for name, found in evaluate(CANDIDATES, REFERENCES, QUICK).items()}
    assert score(REFERENCES, CANDIDATES, QUICK) == expected
    by_id = {"x": REFERENCES[0], "y": REFERENCES[1]}
    assert score(by_id, {"y": CANDIDATES[1], "x": CANDIDATES[0]}, QUICK) == expected
    references, candidates = tmp_path / "references.json", tmp_path / "candidates.json"
    references.write_text(json.dumps(by_id))
    candidates.write_text(json.dumps(dict(zip("xy", CANDIDATES))))
    assert score(references, candidates, QUICK) == expected
    assert score(str(references), str(candidates), QUICK) == expected
    assert score([references], dict(zip("xy", CANDIDATES)), QUICK) == expected


def test_one_reference_per_image() -> None:
    assert score(["a dog", "a cat"], ["a dog", "a cat"], ("ROUGE-L",)) == {"ROUGE-L": pytest.approx(1)}


def test_captions_without_words() -> None:
    with pytest.raises(InputError, match="candidates: 1 captions have no words"):
        score(["a dog"], ["..."], ("ROUGE-L",))
    assert score(["a dog"], ["..."], ("ROUGE-L",), allow_empty=True) == {"ROUGE-L": 0}


def test_default_metrics_are_those_that_can_be_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    from tellapart.metrics.captions.meteor import tables

    monkeypatch.setattr(tables.importlib.util, "find_spec", lambda name: None)
    assert set(score(REFERENCES, CANDIDATES)) == {"BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "CIDEr"}


def test_it_imports_no_torch() -> None:
    code = "import sys; from tellapart.metrics.captions.score import score; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
