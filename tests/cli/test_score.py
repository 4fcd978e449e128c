"""`tellapart score`: tables, JSON, comparisons, errors."""

import json
from pathlib import Path

import pytest

from tellapart.cli.main import main
from tellapart.cli.score import ScoreOptions, score
from tellapart.core.errors import InputError

QUICK = ("BLEU-1", "ROUGE-L", "CIDEr")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rows = [(1, "A dog runs."), (1, "The dog is running"), (2, "Two cats sleep."), (2, "Cats on a mat")]
    annotations = {"annotations": [{"image_id": key, "caption": caption} for key, caption in rows]}
    (tmp_path / "references.json").write_text(json.dumps(annotations))
    results = {"one": ["A dog runs", "a cat"], "two": ["The dog is running fast", "two cats sleep on a mat"]}
    for name, captions in results.items():
        entries = [{"image_id": key, "caption": caption} for key, caption in zip((1, 2), captions)]
        (tmp_path / f"{name}.json").write_text(json.dumps(entries))
    return tmp_path


def options(files: Path, *names: str, **changes: object) -> ScoreOptions:
    given = {"metrics": QUICK, "samples": 50} | changes
    return ScoreOptions((files / "references.json",), tuple(files / name for name in names), **given)  # type: ignore[arg-type]


def test_one_file(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = score(options(files, "one.json", out=files / "out.json"))
    entry = result["candidates"][str(files / "one.json")]
    assert entry["corpus"]["BLEU-1"] == pytest.approx(0.6550, abs=1e-4)  # 4/5 of the words, times exp(1 - 6/5)
    assert entry["captions"][0]["image_id"] == 1 and entry["captions"][0]["ROUGE-L"] == pytest.approx(1)
    assert json.loads((files / "out.json").read_text()) == result
    printed = capsys.readouterr().out
    assert "65.50" in printed and "metrics in percent" in " ".join(printed.split()) and "vocabulary (words)" in printed
    assert "distinct-1 (%)" in printed


def test_json_is_a_flag(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--references", str(files / "references.json"), "--candidates", str(files / "one.json")]
    assert main(["score", *given, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    entry = printed["candidates"][str(files / "one.json")]
    assert entry["corpus"]["BLEU-1"] == pytest.approx(0.6550, abs=1e-4) and printed["unit"] == "fraction"
    assert set(printed["diversity_units"]) == set(entry["diversity"])
    assert printed["diversity_units"]["vocabulary"] == "words" and printed["diversity_units"]["distinct"] == "percent"


def test_several_files_side_by_side(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = score(options(files, "one.json", "two.json", training=files / "one.json"))
    first, second = result["candidates"].values()
    assert "difference" not in first and set(second["difference"]) == set(QUICK)
    difference = second["difference"]["CIDEr"]
    assert difference["value"] == pytest.approx(second["corpus"]["CIDEr"] - first["corpus"]["CIDEr"])
    assert difference["low"] <= difference["value"] <= difference["high"]
    assert first["diversity"]["novel"] == 0 and second["diversity"]["novel"] == 100
    assert "95% bootstrap" in capsys.readouterr().out.replace("\n", " ")


def test_references_without_words_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "references.json").write_text('{"1": ["a dog", "the dog"], "2": ["a cat", "..."]}')
    (tmp_path / "said.json").write_text('{"1": "a dog", "2": "a cat"}')
    with pytest.raises(InputError, match=r"references.json: 1 captions have no words, .* image '2'"):
        score(options(tmp_path, "said.json"))
    assert score(options(tmp_path, "said.json", allow_empty=True))["candidates"]


def test_ids_as_strings(files: Path) -> None:
    """COCO's ids are numbers, the keys of a JSON object are not: they are the same images."""
    (files / "map.json").write_text('{"2": "a cat", "1": "A dog runs"}')
    given, same = (score(options(files, name))["candidates"][str(files / name)] for name in ("one.json", "map.json"))
    assert same == given
    (files / "short.json").write_text('{"2": "a cat"}')
    with pytest.raises(InputError, match=r"1 of the 2 images .* the first of them 1\."):
        score(options(files, "short.json"))


def test_plain_text(tmp_path: Path) -> None:
    (tmp_path / "references.txt").write_text("a dog runs\tthe dog\na cat\n")
    (tmp_path / "said.txt").write_text("a dog runs\na cat\n")
    result = score(ScoreOptions((tmp_path / "references.txt",), (tmp_path / "said.txt",), metrics=("ROUGE-L",)))
    assert next(iter(result["candidates"].values()))["corpus"]["ROUGE-L"] == 1


def test_errors(files: Path) -> None:
    with pytest.raises(InputError, match="Nothing to score"):
        score(ScoreOptions())
    with pytest.raises(InputError, match="brings its own captions"):
        score(options(files, "one.json", human=files))
    with pytest.raises(InputError, match="named twice"):
        score(options(files, "one.json", "one.json"))
    (files / "short.json").write_text('[{"image_id": 1, "caption": "a dog"}]')
    with pytest.raises(InputError, match=r"short.json: 1 of the 2 images .* no caption, the first of them 2"):
        score(options(files, "short.json"))
    (files / "odd.json").write_text('[{"image_id": 1, "caption": "a dog"}, {"image_id": 2, "caption": "..."}]')
    with pytest.raises(InputError, match="have no words, only punctuation"):
        score(options(files, "odd.json"))
    assert score(options(files, "odd.json", allow_empty=True))["candidates"]
    with pytest.raises(InputError, match="at least 1, not 0"):
        score(options(files, "one.json", "two.json", samples=0))
    with pytest.raises(InputError, match="cannot be written"):
        score(options(files, "one.json", out=files / "nowhere" / "out.json"))


def test_metrics_that_cannot_be_computed_are_skipped(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tellapart.metrics.captions.meteor import tables as meteor_tables

    monkeypatch.setattr(meteor_tables.importlib.util, "find_spec", lambda name: None)
    result = score(options(files, "one.json", metrics=()))
    assert "METEOR" not in next(iter(result["candidates"].values()))["corpus"]
    assert "METEOR is skipped." in capsys.readouterr().out


def test_agreement_with_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"{name}.jpg#{index}\tA {name} number {index} ." for name in ("cat", "dog") for index in range(5)]
    (tmp_path / "Flickr8k.token.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "ExpertAnnotations.txt").write_text("cat.jpg\tdog.jpg#1\t1\t2\t1\ndog.jpg\tcat.jpg#2\t3\t3\t4\n")
    (tmp_path / "CrowdFlowerAnnotations.txt").write_text("dog.jpg\tcat.jpg#0\t0.3\t1\t2\ncat.jpg\tdog.jpg#0\t0\t0\t3\n")
    result = score(ScoreOptions(human=tmp_path, metrics=QUICK))
    assert result["expert"]["pairs"] == 2 and "tau-c" in capsys.readouterr().out


def test_similar_images_and_untrue_objects(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Image 2's caption "a cat" fits image 1 less than "a dog" would; neither names an untrue object."""
    (files / "similar.json").write_text(json.dumps({"1": [2], "2": [1]}))
    metrics = ("CIDErBtw", "CHAIR-i", "CHAIR-s")
    found = score(options(files, "one.json", metrics=metrics, neighbours=files / "similar.json"))
    corpus = found["candidates"][str(files / "one.json")]["corpus"]
    assert corpus["CHAIR-i"] == corpus["CHAIR-s"] == 0 and corpus["CIDErBtw"] >= 0
    assert "CIDErBtw" in capsys.readouterr().out
    by_default = score(options(files, "one.json", metrics=(), neighbours=files / "similar.json"))
    assert "CIDErBtw" in by_default["candidates"][str(files / "one.json")]["corpus"]
    with pytest.raises(InputError, match="`neighbours`"):
        score(options(files, "one.json", metrics=metrics))
