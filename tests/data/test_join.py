"""Joining images and sentences that have nothing to do with each other."""

import json
import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tellapart.cli.join import JoinOptions, join
from tellapart.core.errors import InputError
from tellapart.data import join as join_module
from tellapart.data.batches import Batches
from tellapart.data.concepts_column import IMAGE_CONCEPTS, IMAGE_SCORES, SENTENCE_CONCEPTS, stored_dictionary
from tellapart.data.feature_store import FeatureStore
from tellapart.data.join import CorpusFilter, filter_corpus, join_unpaired
from tellapart.data.pack import Pack
from tellapart.data.sampling import Sampling, draw_epoch
from tellapart.data.write_pack import write_pack
from tellapart.text.concepts import ConceptDictionary
from tellapart.text.vocabulary import Vocabulary
from unpaired_packs import SENTENCES, corpus_pack, image_pack

KEEP_ALL = CorpusFilter(least_count=1, held_out=0.34)


@pytest.fixture
def joined(tmp_path: Path) -> Pack:
    return join_unpaired(image_pack(tmp_path / "a"), corpus_pack(tmp_path / "b"), tmp_path / "c", filters=KEEP_ALL).pack


def test_no_caption_of_a_image_can_be_learned_from(joined: Pack) -> None:
    """By construction: all of train and val is unpaired, and words of withheld captions are not even in the
    vocabulary."""
    for split in ("train", "val"):
        rows = joined.split(split).captions
        assert len(rows) and (joined.owner[rows] == -1).all()
        assert {joined.captions[row].text for row in rows} <= set(SENTENCES)
    text = "".join(path.read_text() for path in joined.folder.glob("*.json*"))
    assert not any(f"ecret{row}" in text for row in range(6))
    assert not any(word.startswith("secret") for word in joined.vocabulary.words)
    scored = joined.split("test")
    assert joined.owner[scored.captions].tolist() == [6, 7]
    drawn = draw_epoch(joined, Sampling(batch=2, what="texts", split="train+val"), (0, 0, 0))
    assert {int(row) for draw in drawn for row in draw.captions} <= set(np.flatnonzero(joined.owner < 0).tolist())


def test_pairs_to_learn_from_do_not_exist(joined: Pack) -> None:
    with pytest.raises(InputError):
        draw_epoch(joined, Sampling(what="pairs"), (0, 0, 0))


def test_concepts_stand_in_the_columns_and_batches(joined: Pack) -> None:
    ids, words = joined.vocabulary.ids, joined.vocabulary.words
    concepts_per_image = joined.column(IMAGE_CONCEPTS).values
    assert concepts_per_image.shape == (8, 5) and concepts_per_image.dtype == np.int32
    assert concepts_per_image[0].tolist() == [ids["person"], ids["horse"], 0, 0, 0]  # the surest last
    assert joined.column(IMAGE_SCORES).values[0].tolist()[:2] == pytest.approx([0.8, 0.9])
    assert not concepts_per_image[5].any()
    captions = joined.column(SENTENCE_CONCEPTS).values
    row = [caption.text for caption in joined.captions].index(SENTENCES[1])
    assert [words[index] for index in captions[row] if index] == ["dog", "frisbee"]
    store = FeatureStore(joined.feature_folder("vectors"))
    batches = Batches(joined, store, (IMAGE_CONCEPTS, SENTENCE_CONCEPTS))
    texts = batches.batch(np.asarray([row]))
    assert texts.owner.tolist() == [-1] and texts.texts.columns[SENTENCE_CONCEPTS].shape == (1, 5)
    images = batches.images(np.asarray([0, 5]))
    assert images.columns[IMAGE_CONCEPTS].tolist() == concepts_per_image[[0, 5]].tolist() and images.features.shape == (
        2,
        1,
        6,
    )
    assert stored_dictionary(joined).concepts == ConceptDictionary.coco().concepts


def test_unknown_labels_are_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        result = join_unpaired(
            image_pack(tmp_path / "a"), corpus_pack(tmp_path / "b"), tmp_path / "c", filters=KEEP_ALL
        )
    assert result.report.unknown == {"wug": 1} and "wug (1 images)" in caplog.text
    assert any("2 of 8 images have no concept" in line for line in result.report.sentences())
    assert json.loads((tmp_path / "c/columns/concepts.json").read_text())["unknown"] == {"wug": 1}


def test_filters_count_what_they_leave_out(tmp_path: Path) -> None:
    """Seven words; 2 of 8 unknown (25% > 15%); 1 of 8 unknown (12.5%); no concept."""
    corpus = corpus_pack(
        tmp_path / "b",
        (
            "a dog runs on the green grass",
            "a dog zig zag on the green grass",
            "a dog runs zig on the green grass",
            "the wind blows over the very green grass",
        ),
    )
    vocabulary = Vocabulary.from_words(
        ["a", "dog", "runs", "on", "the", "green", "grass", "wind", "blows", "over", "very"]
    )
    kept, counts = filter_corpus(corpus, vocabulary, ConceptDictionary.coco(), CorpusFilter())
    assert kept.tolist() == [False, False, True, False]
    assert counts == {"sentences": 4, "too short": 1, "too many unknown words": 1, "no concept": 1, "kept": 1}


def test_rare_words_leave_the_vocabulary_and_concepts_enter_it(tmp_path: Path) -> None:
    filters = CorpusFilter(least_count=2, most_unknown=1.0)
    result = join_unpaired(image_pack(tmp_path / "a"), corpus_pack(tmp_path / "b"), tmp_path / "c", filters=filters)
    words = result.pack.vocabulary.words
    assert words[4] == "a" and "kicks" not in words and "hair drier" in words and not result.report.not_in_vocabulary


def test_a_corpus_keeps_its_own_val(tmp_path: Path) -> None:
    concepts_per_image, corpus = image_pack(tmp_path / "a"), corpus_pack(tmp_path / "b")
    lines = (corpus.folder / "captions.jsonl").read_text().splitlines()
    lines[2] = lines[2].replace('"train"', '"val"')
    (corpus.folder / "captions.jsonl").write_text("\n".join(lines) + "\n")
    pack = join_unpaired(concepts_per_image, Pack(tmp_path / "b"), tmp_path / "c", filters=KEEP_ALL).pack
    assert [pack.captions[row].text for row in pack.split("val").captions] == [SENTENCES[2]]


def test_the_verb_says_what_it_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image_pack(tmp_path / "a")
    corpus_pack(tmp_path / "b")
    options = JoinOptions(tmp_path / "a", tmp_path / "b", tmp_path / "c", filters=KEEP_ALL)
    join(options)
    said = capsys.readouterr().out
    assert "6 kept" in said and "wug" in said
    with pytest.raises(InputError, match="`overwrite=True`"):
        join(options)


def test_other_folders_are_never_replaced(tmp_path: Path) -> None:
    image_pack(tmp_path / "a")
    corpus_pack(tmp_path / "b")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "dear.txt").write_text("keep me")
    with pytest.raises(InputError, match="not a pack"):
        join(JoinOptions(tmp_path / "a", tmp_path / "b", tmp_path / "photos", filters=KEEP_ALL, overwrite=True))
    assert (tmp_path / "photos" / "dear.txt").read_text() == "keep me"


def test_what_has_no_concepts_is_rejected_before_a_pack_is_written(tmp_path: Path) -> None:
    concepts_per_image, corpus = image_pack(tmp_path / "a"), corpus_pack(tmp_path / "b")
    with pytest.raises(InputError, match="at least 1 concept"):
        join_unpaired(concepts_per_image, corpus, tmp_path / "c", filters=KEEP_ALL, most=0)
    (concepts_per_image.folder / "detections.jsonl").unlink()
    with pytest.raises(InputError, match=r"a has no detections .* extract regions with a detector"):
        join_unpaired(Pack(concepts_per_image.folder), corpus, tmp_path / "c", filters=KEEP_ALL)
    assert not (tmp_path / "c").exists()


def test_a_join_that_is_cut_short_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    concepts_per_image, corpus, folder = image_pack(tmp_path / "a"), corpus_pack(tmp_path / "b"), tmp_path / "c"
    for older in (False, True):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(join_module, "annotate_concepts", cut_short)
            join_unpaired(concepts_per_image, corpus, folder, filters=KEEP_ALL, overwrite=True)
        assert folder.exists() == older and not list(tmp_path.glob(".*"))
        whole = join_unpaired(concepts_per_image, corpus, folder, filters=KEEP_ALL, overwrite=True).pack
        assert whole.has_column(IMAGE_CONCEPTS) and whole.feature_names() == ["vectors"]


def cut_short(*given: object) -> None:
    raise KeyboardInterrupt


def test_wrong_packs_are_rejected(tmp_path: Path) -> None:
    concepts_per_image, corpus = image_pack(tmp_path / "a"), corpus_pack(tmp_path / "b")
    for first, second, target, message in (
        (corpus, corpus, tmp_path / "c", "no images"),
        (concepts_per_image, concepts_per_image, tmp_path / "c", "captions of images"),
        (concepts_per_image, corpus, tmp_path / "b", "is one of the packs to join"),
        (concepts_per_image, corpus_pack(tmp_path / "d", ("hello",)), tmp_path / "c", "passes the filters"),
    ):
        with pytest.raises(InputError, match=message):
            join_unpaired(first, second, target)


def test_words_are_counted_as_the_corpus_was_prepared(tmp_path: Path) -> None:
    """`prepare --rules r2m` keeps words seen 15 times; `join` must not let in those seen 5 times again."""
    often = ("a small dog runs over the wide green field",) * 15
    rarely = ("a small dog chases the quick brown fox today",) * 6
    corpus = corpus_pack(tmp_path / "corpus", often + rarely)
    prepared = write_pack(
        tmp_path / "prepared", "corpus", "", [], list(corpus.captions), corpus.vocabulary, {"min_count": 15}
    )
    filters = CorpusFilter(most_unknown=1.0)
    words = join_unpaired(image_pack(tmp_path / "a"), prepared, tmp_path / "c", filters=filters).pack.vocabulary.ids
    assert "dog" in words and "field" in words and "quick" not in words
    joined = join_unpaired(
        image_pack(tmp_path / "d"), prepared, tmp_path / "e", filters=replace(filters, least_count=5)
    ).pack
    assert "quick" in joined.vocabulary.ids
    assert joined.manifest["rules"]["unpaired"]["filters"]["least_count"] == 5
