"""CLIPScore by any matcher, against a plain loop over the paper's definition."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import tellapart as ta
from tellapart.cli.score import ScoreOptions, score
from tellapart.inference.clip_scores import clip_scores
from tellapart.metrics.captions.clip_score import PROMPT, clip_score, ref_clip_score
from tellapart.metrics.captions.image_files import image_files

Hub = Callable[[str], Path]


def test_a_matcher_scores_captions_by_the_papers_definition(hub: Hub, photos: list[Path]) -> None:
    matcher = ta.load_matcher(f"hf:{hub('clip')}", device="cpu")
    captions = ["a red ball", "a dog", "the cat", "a blue ball on the left"]
    references = [["a ball", "red"], ["the dog"], ["a cat", "cat", "white"], ["blue"]]
    found = clip_scores(matcher, photos, captions, references)
    pixels = matcher.encode_images(photos)
    for row, (caption, group) in enumerate(zip(captions, references)):
        (text,) = matcher.encode_texts(PROMPT + caption)
        own = 2.5 * max(float(pixels[row] @ text), 0.0)
        best = max(max(float(text @ one), 0.0) for one in matcher.encode_texts([PROMPT + r for r in group]))
        assert found["clip_score"].each[row] == pytest.approx(own, abs=1e-5)
        expected = 2 * own * best / (own + best) if own + best else 0.0
        assert found["ref_clip_score"].each[row] == pytest.approx(expected, abs=1e-5)
    assert found["clip_score"].corpus == pytest.approx(found["clip_score"].each.mean())


def test_opposite_vectors_score_zero_and_divide_nothing() -> None:
    image, caption = np.array([[1.0, 0.0]]), np.array([[-1.0, 0.0]])
    assert clip_score(image, caption).corpus == 0
    assert ref_clip_score(image, caption, [np.array([[1.0, 0.0]])]).corpus == 0


def test_counts_must_fit(hub: Hub, photos: list[Path]) -> None:
    matcher = ta.load_matcher(f"hf:{hub('clip')}", device="cpu")
    with pytest.raises(ta.InputError, match="one caption per image"):
        clip_scores(matcher, photos, ["a ball"])
    with pytest.raises(ta.InputError, match="at least one reference"):
        clip_scores(matcher, photos[:1], ["a ball"], [[]])


@pytest.fixture
def scored(photos: list[Path], tmp_path: Path) -> Path:
    """References as COCO annotations that name the files, and candidates."""
    rows = [{"image_id": 10 + row, "caption": text} for row in range(4) for text in (f"a ball {row}", "the dog")]
    named = [{"id": 10 + row, "file_name": path.name} for row, path in enumerate(photos)]
    (tmp_path / "r.json").write_text(json.dumps({"annotations": rows, "images": named}))
    written = [
        {"image_id": 10 + row, "caption": f"a {word} ball"} for row, word in enumerate(["red", "blue", "a", "b"])
    ]
    (tmp_path / "a.json").write_text(json.dumps(written))
    return tmp_path


def test_the_command_line_scores_files(hub: Hub, photos: list[Path], scored: Path) -> None:
    """CLIPScore could only be had by a Python function."""
    named = f"hf:{hub('siglip')}"
    files = {"references": (scored / "r.json",), "candidates": (scored / "a.json",), "metrics": ("BLEU-1",)}
    found = score(ScoreOptions(**files, clip_score=named, images=photos[0].parent, device="cpu", json=True))  # type: ignore[arg-type]
    (entry,) = found["candidates"].values()
    matcher = ta.load_matcher(named, device="cpu")
    captions = ["a red ball", "a blue ball", "a a ball", "a b ball"]
    references = [[f"a ball {row}", "the dog"] for row in range(4)]
    own = clip_scores(matcher, photos, captions, references)
    assert entry["corpus"]["CLIPScore"] == pytest.approx(own["clip_score"].corpus)
    assert [row["RefCLIPScore"] for row in entry["captions"]] == pytest.approx(own["ref_clip_score"].each.tolist())
    listed = scored / "paths.txt"
    listed.write_text("\n".join(map(str, photos)))
    again = score(ScoreOptions(**files, clip_score=named, images=listed, clip_prompt="", device="cpu", json=True))  # type: ignore[arg-type]
    (bare,) = again["candidates"].values()
    expected = clip_scores(matcher, photos, captions, references, prompt="")
    assert bare["corpus"]["CLIPScore"] == pytest.approx(expected["clip_score"].corpus)
    with pytest.raises(ta.InputError, match="give --clip-score and --images"):
        score(ScoreOptions(**files, clip_score=named))  # type: ignore[arg-type]


def test_the_matcher_is_opened_as_asked(
    hub: Hub, photos: list[Path], scored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Precision, compilation and batch size of CLIPScore could not be chosen."""
    compiled: list[str] = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self, *_, **__: compiled.append(type(self).__name__))
    files = {"references": (scored / "r.json",), "candidates": (scored / "a.json",), "metrics": ("BLEU-1",)}
    asked = {**files, "clip_score": f"hf:{hub('clip')}", "images": photos[0].parent, "device": "cpu", "json": True}
    (whole,) = score(ScoreOptions(**asked))["candidates"].values()  # type: ignore[arg-type]
    assert whole["corpus"]["CLIPScore"] > 0 and not compiled
    for batch in (1, 3):
        (few,) = score(ScoreOptions(**asked, batch=batch))["candidates"].values()  # type: ignore[arg-type]
        assert [row["CLIPScore"] for row in few["captions"]] == pytest.approx(
            [row["CLIPScore"] for row in whole["captions"]], abs=1e-5
        )
    with pytest.raises(ta.InputError, match="`batch_size` must be at least 1, not 0"):
        score(ScoreOptions(**asked, batch=0))  # type: ignore[arg-type]
    (half,) = score(ScoreOptions(**asked, precision="bfloat16", compile=True))["candidates"].values()  # type: ignore[arg-type]
    assert len(compiled) == 2, "two towers"
    assert half["corpus"]["CLIPScore"] != whole["corpus"]["CLIPScore"]
    assert half["corpus"]["CLIPScore"] == pytest.approx(whole["corpus"]["CLIPScore"], abs=0.02)


def test_files_are_found_by_name_number_or_list(photos: list[Path], tmp_path: Path) -> None:
    for name in ("COCO_val2014_000000000042.jpg", "dog.jpg", "cats/dog.png", "cats/one.jpg"):
        path = tmp_path / "images" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(photos[0].read_bytes())
    folder = tmp_path / "images"
    found = image_files(folder, [42, "dog.jpg", "one", "cats/dog.png"])
    names = ["COCO_val2014_000000000042.jpg", "dog.jpg", "cats/one.jpg", "cats/dog.png"]
    assert found == [folder / name for name in names]
    with pytest.raises(ta.InputError, match=r"has 2 images .* for the captions of 'dog'"):
        image_files(folder, ["dog"])
    with pytest.raises(ta.InputError, match="has no image for the captions of 7; name files by the ids"):
        image_files(folder, [7])
    with pytest.raises(ta.InputError, match="does not exist; give a folder of images"):
        image_files(tmp_path / "none", [7])
    (tmp_path / "list.txt").write_text("images/dog.jpg\nimages/none.jpg\n")
    with pytest.raises(ta.InputError, match="lists 1 files that do not exist"):
        image_files(tmp_path / "list.txt", [0, 1])
    with pytest.raises(ta.InputError, match="lists 2 images, but there are captions of 3"):
        image_files(tmp_path / "list.txt", [0, 1, 2])
