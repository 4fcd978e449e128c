"""Captioning tables on tiny packs: every row is trained for a step or two, captions are kept, judged later, and claims
come out."""

import dataclasses
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tellapart.data.fewer_captions import keep_captions
from tellapart.data.pack import Pack
from tellapart.data.unpaired import CorpusFilter, join_unpaired
from tellapart.errors import InputError
from tellapart.reproduce import caption_measures, later
from tellapart.reproduce.cache import Cache
from tellapart.reproduce.caption_measures import text_metrics
from tellapart.reproduce.collect import Data, Filled, fill
from tellapart.reproduce.jobs import row_recipe
from tellapart.reproduce.later import measure_later
from tellapart.reproduce.runner import run_rows
from tellapart.reproduce.statistics import bootstrap_draws
from tellapart.reproduce.table import Row, Table
from tellapart.reproduce.tables import TABLES, contrastive_captioning, r2m, tell
from unpaired_packs import corpus_pack, picture_pack

SMALL = {"hidden": 8, "attention": 8, "width": 8, "key_width": 4, "value_width": 4}
SHARE = 0.001
WITHOUT_METEOR = frozenset({"bleu4", "cider"})


def small_row(row: Row) -> Row:
    """The row with every width cut down, and the evaluator of the GAN with it."""
    changes = []
    for stage in row_recipe(row, 0, 1.0, None).stages:
        for part, value in (("model", stage.model), ("objective", stage.objective)):
            names = [field.name for field in dataclasses.fields(value)] if value is not None else []
            changes += [f"{stage.name}.{part}.{name}={SMALL[name]}" for name in names if name in SMALL]
        changes.append(f"{stage.name}.sampling.batch=4")
    return replace(row, overrides=(*row.overrides, *changes))


def small_table(table: Table) -> Table:
    return replace(table, rows=tuple(small_row(row) for row in table.rows))


def filled_table(table: Table, pack: Path, cache: Path, kind: str, name: str) -> Filled:
    outcome = run_rows([table], pack, cache=cache, seeds=1, share=SHARE, tell=lambda text: None)
    assert not outcome.failed and not outcome.left
    opened = Pack(pack)
    measure_later([table], Cache(cache), opened, lambda text: None)
    return fill(table, Cache(cache), Data("tiny", opened.fingerprint, {kind: name}, SHARE))


@pytest.fixture(autouse=True)
def no_meteor(monkeypatch: pytest.MonkeyPatch) -> None:
    """METEOR's tables may be missing, and reading them takes long; its cells stay empty here."""

    def refuse(said: list[str], references: list[list[str]]) -> None:
        raise InputError("no tables")

    monkeypatch.setattr(caption_measures, "meteor", refuse)


@pytest.fixture(scope="module")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all tables, so that rows they share are trained once."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("table", [*contrastive_captioning.TABLES, *tell.TABLES], ids=lambda table: table.name)
def test_a_captioning_table_is_made(table: Table, tiny_pack: Path, shared_cache: Path) -> None:
    filled = filled_table(small_table(table), tiny_pack, shared_cache, "grid", "grid")
    assert not filled.missing and len(filled.claims) == len(table.claims)
    for row in table.rows:
        for column in ("B-1", "ROUGE-L", "CIDEr", "top-1"):
            cell = filled.cells[row.name, column]
            assert np.isfinite(cell.estimate().value) and cell.draws is not None
        assert (row.name, "METEOR") not in filled.cells


@pytest.mark.parametrize("table", r2m.TABLES, ids=lambda table: table.name)
def test_a_table_without_pairs_is_made(table: Table, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("unpaired")
    filters = CorpusFilter(least_count=1, held_out=0.34)
    pack = join_unpaired(picture_pack(folder / "a"), corpus_pack(folder / "b"), folder / "c", filters=filters).pack
    filled = filled_table(small_table(table), pack.folder, folder / "cache", "vector", "vectors")
    assert not filled.missing and len(filled.claims) == len(table.claims)
    assert {row for row, column in filled.cells if column == "B-1"} == {row.name for row in table.rows}
    trained = {row.name for row in table.rows if row_recipe(row, 0, 1.0, None).stages}
    assert {row for row, column in filled.cells if column == "seconds"} == trained


def test_figures_are_those_of_the_kept_captions(tiny_pack: Path) -> None:
    """Saying the first reference of every test picture gives BLEU-1 = 100, and a stranger's words give 0."""
    pack = Pack(tiny_pack)
    rows = pack.split("test").pictures
    said = [pack.captions[pack.captions_of[row][0]].text for row in rows]
    found = text_metrics({"said": np.asarray(said), "rows": rows}, pack, WITHOUT_METEOR)
    assert found.figures["bleu1"] == pytest.approx(100) and found.figures["rouge_l"] == pytest.approx(100)
    assert found.figures["cider"] > 100 and "meteor" not in found.figures
    strange = text_metrics({"said": np.asarray(["xyzzy"] * len(rows)), "rows": rows}, pack, WITHOUT_METEOR)
    assert strange.figures["bleu1"] == pytest.approx(0, abs=1e-3) and strange.figures["cider"] == 0


def test_bootstrapped_figures_lie_round_the_corpus_figure(tiny_pack: Path) -> None:
    """BLEU is no mean over captions: its draws are recomputed from counts, and their middle is the corpus figure."""
    pack = Pack(tiny_pack)
    rows = pack.split("test").pictures
    said = ["a red dog here", "the blue cat", "a ball in the picture", "one tree"]
    found = text_metrics({"said": np.asarray(said), "rows": rows}, pack, WITHOUT_METEOR)
    for name in ("bleu1", "bleu2", "rouge_l", "cider"):
        draws = bootstrap_draws(name, found.items)
        assert draws is not None and draws.shape == (2000,)
        assert draws.min() <= found.figures[name] <= draws.max()
    assert np.median(bootstrap_draws("bleu1", found.items)) == pytest.approx(found.figures["bleu1"], abs=5)


def test_a_pack_with_one_caption_keeps_pictures_words_and_test_captions(tiny_pack: Path, tmp_path: Path) -> None:
    pack = Pack(tiny_pack)
    fewer = keep_captions(pack, tmp_path / "one", each=1)
    assert len(fewer.split("train").captions) == len(fewer.split("train").pictures) == 16
    assert len(fewer.split("test").captions) == len(pack.split("test").captions)
    assert fewer.vocabulary.words == pack.vocabulary.words and fewer.feature_names() == pack.feature_names()
    assert fewer.fingerprint != pack.fingerprint
    with pytest.raises(InputError, match="already there"):
        keep_captions(pack, tmp_path / "one")


BLOCKED = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"tyro", "rich", "PIL", "matplotlib", "transformers", "scipy", "pycocoevalcap"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocker())
from tellapart.reproduce.batch import main
raise SystemExit(main(sys.argv[1:]))
"""


def test_a_batch_needs_torch_numpy_and_safetensors_only(
    tiny_pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = ["--tables", "contrastive-captioning/table1", "--rows", "NT", "--data", str(tiny_pack), "--seeds", "1"]
    wanted += ["--cache", str(tmp_path / "cache"), "--share", str(SHARE)]
    done = subprocess.run([sys.executable, "-c", BLOCKED, *wanted], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (result,) = Cache(tmp_path / "cache").all_results
    assert set(result.figures) == {"captions", "self-retrieval"}
    # The other process knows nothing of the shrunk recipes of these tests.
    monkeypatch.setattr(later, "row_hash", lambda row: result.recipe_hash)
    table = TABLES["contrastive-captioning/table1"].only(("NT",))
    assert measure_later([table], Cache(tmp_path / "cache"), Pack(tiny_pack), lambda text: None) == 1
    assert measure_later([table], Cache(tmp_path / "cache"), Pack(tiny_pack), lambda text: None) == 0
