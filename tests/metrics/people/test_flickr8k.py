"""Agreement with the Flickr8k judgements: the published figures."""

from pathlib import Path

import numpy as np
import pytest

from tellapart.core.errors import InputError
from tellapart.metrics.captions.registry import USUAL
from tellapart.metrics.people.agreement import agreement
from tellapart.metrics.people.flickr8k import read_judgements

PUBLISHED = {
    "expert": {"BLEU-1": 32.3, "BLEU-4": 30.8, "ROUGE-L": 32.3, "METEOR": 41.8, "CIDEr": 43.9},
    "crowdflower": {"BLEU-1": 15.7, "BLEU-4": 14.6, "ROUGE-L": 17.2, "METEOR": 19.6, "CIDEr": 22.1},
}


@pytest.mark.slow
def test_published_figures(shared_data: Path) -> None:
    pytest.importorskip("pycocoevalcap", reason="pycocoevalcap, whose METEOR tables are needed, is not installed")
    found = agreement(shared_data / "flickr8k", USUAL, "python")
    assert {kind: result["pairs"] for kind, result in found.items()} == {"expert": 5664, "crowdflower": 47109}
    for kind, figures in PUBLISHED.items():
        assert {name: round(found[kind]["tau"][name], 1) for name in figures} == figures


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [f"{name}.jpg#{index}\tA {name} number {index} ." for name in ("cat", "dog") for index in range(5)]
    (tmp_path / "Flickr8k.token.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "ExpertAnnotations.txt").write_text("cat.jpg\tdog.jpg#1\t1\t2\t1\ncat.jpg\tcat.jpg#2\t4\t4\t4\n")
    (tmp_path / "CrowdFlowerAnnotations.txt").write_text("dog.jpg\tcat.jpg#0\t0.25\t1\t3\n")
    return tmp_path


def test_own_captions_are_left_out_and_every_expert_is_a_row(folder: Path) -> None:
    expert = read_judgements(folder, "expert")
    assert expert.candidates == ["a dog number 1"] and expert.references[0][4] == "a cat number 4"
    assert expert.ratings.tolist() == [[1, 2, 1]]
    assert read_judgements(folder, "crowdflower").ratings.tolist() == [[0.25]]
    assert np.isnan(expert.agreement(np.array([0.5])))


def test_bad_files_are_a_sentence(folder: Path) -> None:
    (folder / "ExpertAnnotations.txt").write_text("cat.jpg\tdog.jpg#1\t1\n")
    with pytest.raises(InputError, match="line 1: expected 5 columns"):
        read_judgements(folder, "expert")
    (folder / "CrowdFlowerAnnotations.txt").write_text("cow.jpg\tdog.jpg#1\t1\t1\t0\n")
    with pytest.raises(InputError, match=r"not in Flickr8k\.token\.txt"):
        read_judgements(folder, "crowdflower")
    with pytest.raises(InputError, match="cannot be read"):
        read_judgements(folder / "nowhere", "expert")
