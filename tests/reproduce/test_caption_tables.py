"""Captions of a table's rows are kept and judged later, where the text metrics' tables are."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.data.fewer_captions import keep_captions
from tellapart.data.pack import Pack
from tellapart.papers.tables import TABLES
from tellapart.reproduce import caption_measures
from tellapart.reproduce.cache import Cache
from tellapart.reproduce.caption_measures import text_metrics
from tellapart.reproduce.draws import bootstrap_draws
from tellapart.reproduce.measure_derived import measure_derived

SHARE = 0.001
WITHOUT_METEOR = frozenset({"bleu4", "cider"})


@pytest.fixture(autouse=True)
def no_meteor(monkeypatch: pytest.MonkeyPatch) -> None:
    """METEOR's tables may be missing, and reading them takes long; its cells stay empty here."""

    def reject(said: list[str], references: list[list[str]]) -> None:
        raise InputError("no tables")

    monkeypatch.setattr(caption_measures, "meteor", reject)


def test_figures_are_those_of_the_kept_captions(tiny_pack: Path) -> None:
    """Saying the first reference of every test image gives BLEU-1 = 100, and a stranger's words give 0."""
    pack = Pack(tiny_pack)
    rows = pack.split("test").images
    said = [pack.captions[pack.captions_of[row][0]].text for row in rows]
    found = text_metrics({"said": np.asarray(said), "rows": rows}, pack, None, WITHOUT_METEOR)
    assert found.values["bleu1"] == pytest.approx(100) and found.values["rouge_l"] == pytest.approx(100)
    assert found.values["cider"] > 100 and "meteor" not in found.values
    strange = text_metrics({"said": np.asarray(["xyzzy"] * len(rows)), "rows": rows}, pack, None, WITHOUT_METEOR)
    assert strange.values["bleu1"] == pytest.approx(0, abs=1e-3) and strange.values["cider"] == 0


def test_bootstrapped_figures_lie_round_the_corpus_figure(tiny_pack: Path) -> None:
    """BLEU is no mean over captions: its draws are recomputed from counts, and their middle is the corpus figure."""
    pack = Pack(tiny_pack)
    rows = pack.split("test").images
    said = ["a red dog here", "the blue cat", "a ball in the image", "one tree"]
    found = text_metrics({"said": np.asarray(said), "rows": rows}, pack, None, WITHOUT_METEOR)
    for name in ("bleu1", "bleu2", "rouge_l", "cider"):
        draws = bootstrap_draws(name, found.items)
        assert draws is not None and draws.shape == (2000,)
        assert draws.min() <= found.values[name] <= draws.max()
    assert np.median(bootstrap_draws("bleu1", found.items)) == pytest.approx(found.values["bleu1"], abs=5)


def test_a_pack_with_one_caption_keeps_images_words_and_test_captions(tiny_pack: Path, tmp_path: Path) -> None:
    pack = Pack(tiny_pack)
    fewer = keep_captions(pack, tmp_path / "one", each=1)
    assert len(fewer.split("train").captions) == len(fewer.split("train").images) == 16
    assert len(fewer.split("test").captions) == len(pack.split("test").captions)
    assert fewer.vocabulary.words == pack.vocabulary.words and fewer.feature_names() == pack.feature_names()
    assert fewer.fingerprint != pack.fingerprint
    with pytest.raises(InputError, match="already exists"):
        keep_captions(pack, tmp_path / "one")


@pytest.mark.parametrize("broken", ["all", "own"])
def test_a_captioner_that_scores_nan_finds_no_image(
    broken: str, tiny_pack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NaN is neither less nor more than anything, so counting what is `>=` would put every own image first."""
    pack = Pack(tiny_pack)
    images = len(pack.split("test").images)
    scores = torch.full((images, images), torch.nan) if broken == "all" else torch.rand(images, images)
    scores.fill_diagonal_(torch.nan)
    monkeypatch.setattr(caption_measures, "context_for", lambda *args, **named: None)
    monkeypatch.setattr(caption_measures, "as_captioner", lambda model: model)
    monkeypatch.setattr(caption_measures, "decode", lambda *args: SimpleNamespace(tokens=torch.zeros(images, 1)))
    monkeypatch.setattr(caption_measures, "score_captions", lambda *args: scores)
    run = SimpleNamespace(model=torch.nn.Identity())
    found = caption_measures.measure_self_retrieval(run, pack, "test", "cpu")  # type: ignore[arg-type]
    assert found.values == {"top1": 0.0} and not found.items["top1"].any()


def test_of_many_captions_evenly_spaced_ones_look_among_all_images(
    tiny_pack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack, asked = Pack(tiny_pack), 2
    rows = pack.split("test").images
    tokens = torch.arange(len(rows)).unsqueeze(1)
    monkeypatch.setattr(caption_measures, "ASKED", asked)
    monkeypatch.setattr(caption_measures, "context_for", lambda *args, **named: None)
    monkeypatch.setattr(caption_measures, "as_captioner", lambda model: model)
    monkeypatch.setattr(caption_measures, "decode", lambda *args: SimpleNamespace(tokens=tokens))

    def scores(model: object, context: object, images: np.ndarray, given: torch.Tensor) -> torch.Tensor:
        assert np.array_equal(images, rows)
        return (given == torch.arange(len(rows))).float()  # caption i fits image i alone

    monkeypatch.setattr(caption_measures, "score_captions", scores)
    run = SimpleNamespace(model=torch.nn.Identity())
    found = caption_measures.measure_self_retrieval(run, pack, "test", "cpu")  # type: ignore[arg-type]
    assert found.values["top1"] == 100.0
    assert 1 < len(found.items["top1"]) <= asked < len(rows)


BLOCKED = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"tyro", "rich", "matplotlib", "transformers", "scipy", "pycocoevalcap"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocker())
from tellapart.cli.reproduce_batch import main
raise SystemExit(main(sys.argv[1:]))
"""


def test_a_batch_needs_torch_numpy_pillow_and_safetensors_only(
    tiny_pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = ["--tables", "contrastive-captioning/table1", "--rows", "NT", "--data", str(tiny_pack), "--seeds", "1"]
    wanted += ["--cache", str(tmp_path / "cache"), "--share", str(SHARE)]
    done = subprocess.run([sys.executable, "-c", BLOCKED, *wanted], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (result,) = Cache(tmp_path / "cache").all_results
    assert set(result.values) == {"captions", "self-retrieval"}
    table = TABLES["contrastive-captioning/table1"].only(("NT",))
    assert measure_derived([table], Cache(tmp_path / "cache"), Pack(tiny_pack)) == 1
    assert measure_derived([table], Cache(tmp_path / "cache"), Pack(tiny_pack)) == 0
