"""prepare from end to end on small sources: what is in the pack, and the errors for bad input."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from data.builders import coco, draw, entities, flickr, write
from tellapart.cli.prepare import PrepareOptions, prepare
from tellapart.core.errors import InputError
from tellapart.data.fewer_captions import keep_captions
from tellapart.data.pack import CAPTION_IDS, Pack
from tellapart.data.readers import recognise
from tellapart.text.vocabulary import UNK


def run(source: Path, out: Path, **options: object) -> tuple[Pack, dict]:
    pack = prepare(PrepareOptions(str(source), out, **{"min_count": 1, "split": "1", **options}))  # type: ignore[arg-type]
    return pack, json.loads((out / "report.json").read_text())


def skips(report: dict) -> dict[str, tuple[str, str]]:
    """{item: (kind, where)}"""
    return {row["item"]: (row["kind"], row["where"]) for row in report["skipped"]["items"]}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three images in a folder; each test writes its captions."""
    draw(tmp_path / "in", ["a.jpg", "b.png", "c.jpg"])
    return tmp_path / "in"


# What is in the pack


def test_flickr(tmp_path: Path) -> None:
    pack, report = run(flickr(tmp_path / "tiny"), tmp_path / "pack")
    assert [(p.id, p.file, p.split, p.width, p.height) for p in pack.images] == [
        ("11_a", "images/11_a.webp", "train", 40, 30),
        ("22_b", "images/22_b.webp", "val", 40, 30),
        ("33_c", "images/33_c.webp", "none", 40, 30),
    ]
    assert pack.image_path(0).is_file()
    assert pack.captions[0].text == "A grey dog runs ." and pack.captions[0].words == ("a", "grey", "dog", "runs")
    assert pack.owner.tolist() == [0, 0, 1, 1, 2, 2]
    assert skips(report) == {"44_d.jpg.1": ("missing image", "Tiny.token.txt, line 7")}
    assert report["captions_a_picture"] == {"least": 2, "mean": 2.0, "most": 2}
    assert pack.manifest["rules"]["min_count"] == 1


def test_vocabulary_is_trains_and_the_share_of_unk_is_reported(tmp_path: Path) -> None:
    """Train says: a grey dog runs / the dog is near by the sea. Of the others' 15 words, a x3 and the x1 are known."""
    pack, report = run(flickr(tmp_path / "tiny"), tmp_path / "pack")
    assert set(pack.vocabulary.words[4:]) == set(["a", "grey", "dog", "runs", "the", "is", "near", "by", "sea"])
    assert report["splits"]["val"]["unknown_share"] == pytest.approx(6 / 9, abs=1e-4)
    assert report["splits"]["none"]["unknown_share"] == pytest.approx(6 / 7, abs=1e-4)
    assert int((pack.tokens == UNK).sum()) == 12


def test_entities_join_across_order_and_spelling(tmp_path: Path) -> None:
    """'A gray dog' lies on 'a grey dog'; 'the sea' on its own words though 'nearby' became 'near by'."""
    source = flickr(tmp_path / "tiny")
    entities(source / "entities")
    pack, report = run(source, tmp_path / "pack")
    found = [(p.caption, pack.captions[p.caption].words[p.first : p.last], p.entity, p.kinds) for p in pack.phrases]
    assert found == [
        (0, ("a", "grey", "dog"), "1", ("animals",)),
        (1, ("the", "dog"), "1", ("animals",)),
        (1, ("the", "sea"), "2", ("scene",)),
    ]
    assert pack.phrases[0].boxes == ((0.0, 0.0, 0.5, 1.0),)  # (1, 1, 51, 102) - 1 over 100, kept inside
    assert pack.phrases[2].boxes == ()
    assert report["phrases"] == {"mentions": 3, "placed": 3, "with_boxes": 2, "captions": 2}
    assert skips(report)["22"][0] == "no entities"


def test_detections_join(tmp_path: Path) -> None:
    source = flickr(tmp_path / "tiny")
    row = {"image": "22_b.jpg", "width": 80, "height": 60, "boxes": [[0, 0, 40, 30], [8, 6, 100, 60]]}
    good = json.dumps(row | {"scores": [0.2, 0.9], "labels": ["cat", "mat"]})
    write(source / "detections.jsonl", good + "\n{broken\n" + good.replace("22_b", "99_z") + "\n")
    pack, report = run(source, tmp_path / "pack")
    assert pack.detections[1].boxes == ((0.1, 0.1, 1.0, 1.0), (0.0, 0.0, 0.5, 0.5))
    assert pack.detections[1].labels == ("mat", "cat") and pack.detections[1].scores == (0.9, 0.2)
    assert skips(report)["{broken"] == ("broken line", "detections.jsonl, line 2")
    assert skips(report)["99_z"] == ("unknown image", "detections.jsonl, line 3")


def test_coco_with_results_json(tmp_path: Path) -> None:
    draw(tmp_path / "in" / "images", ["000001.webp", "000002.webp"])
    coco(tmp_path / "in/annotations/captions_train2017.json", {1: "000001.jpg"}, [(5, 1, "A dog"), (6, 1, "A wet dog")])
    coco(tmp_path / "in/annotations/captions_val2017.json", {2: "000002.jpg"}, [(7, 2, "A cat")])
    results = [{"image_id": 2, "category_id": 17, "bbox": [20, 15, 40, 30], "score": 0.7}]
    path = write(tmp_path / "results.json", json.dumps(results))
    pack, _ = run(tmp_path / "in", tmp_path / "pack", detections=str(path))
    assert [(p.id, p.split) for p in pack.images] == [("1", "train"), ("2", "val")]
    # 80 x 60 is what the annotation file says the boxes are measured in; the file on disk is 40 x 30.
    assert pack.detections[1].boxes == ((0.25, 0.25, 0.75, 0.75),) and pack.detections[1].labels == ("cat",)
    ids = pack.column(CAPTION_IDS)
    assert ids.values.tolist() == [5, 6, 7] and (ids.per, ids.facts) == ("caption", {"of": "coco"})


def test_karpathy_restval(tmp_path: Path) -> None:
    draw(tmp_path / "in", ["val2014/x1.jpg", "train2014/x2.jpg"])
    images = [
        {
            "filepath": folder,
            "filename": name,
            "split": split,
            "cocoid": k,
            "sentences": [{"raw": "A dog.", "tokens": ["a", "dog"]}],
        }
        for k, (folder, name, split) in enumerate([("val2014", "x1.jpg", "restval"), ("train2014", "x2.jpg", "train")])
    ]
    write(tmp_path / "in/dataset_coco.json", json.dumps({"images": images, "dataset": "coco"}))
    pack, _ = run(tmp_path / "in", tmp_path / "one")
    assert [p.split for p in pack.images] == ["restval", "train"] and pack.manifest["name"] == "coco"
    pack, _ = run(tmp_path / "in", tmp_path / "two", join_restval=True)
    assert [p.split for p in pack.images] == ["train", "train"]
    assert not pack.has_column(CAPTION_IDS), "no sentence is numbered"


def test_caption_ids_are_kept_beside_the_pack(tmp_path: Path) -> None:
    """Karpathy numbers a sentence next to it or in the image's list. A sentence left out takes its number with it,
    one without a number gets -1, and the pack is the same pack with and without numbers."""
    draw(tmp_path / "in", ["a.jpg", "b.jpg"])
    sentences: list[list[dict[str, object]]] = [
        [{"raw": "A dog.", "sentid": 31}, {"raw": "...", "sentid": 32}, {"raw": "One dog.", "sentid": "33"}],
        [{"raw": "A cat."}, {"raw": "One cat."}, {"raw": "Cats."}],
    ]
    images = [
        {"filename": name, "split": "train", "sentences": said, "sentids": listed}
        for name, said, listed in zip(("a.jpg", "b.jpg"), sentences, ([], [41, "x"]))
    ]
    write(tmp_path / "in/dataset_coco.json", json.dumps({"images": images}))
    (tmp_path / "text.txt").write_text("A dog runs.\n")
    pack, _ = run(tmp_path / "in", tmp_path / "pack", corpus=tmp_path / "text.txt")
    assert [caption.text for caption in pack.captions] == [
        "A dog.",
        "One dog.",
        "A cat.",
        "One cat.",
        "Cats.",
        "A dog runs.",
    ]
    assert pack.column(CAPTION_IDS).values.tolist() == [31, 33, 41, -1, -1, -1]
    fewer = keep_captions(pack, tmp_path / "fewer", each=1)
    assert fewer.column(CAPTION_IDS).values.tolist() == [31, 41, -1]
    for image in images:
        del image["sentids"]
        image["sentences"] = [{"raw": sentence["raw"]} for sentence in image["sentences"]]  # type: ignore[union-attr, index]
    write(tmp_path / "in/dataset_coco.json", json.dumps({"images": images}))
    plain, _ = run(tmp_path / "in", tmp_path / "plain", corpus=tmp_path / "text.txt")
    assert plain.fingerprint == pack.fingerprint and not plain.has_column(CAPTION_IDS)


def test_posts_with_emojis(tmp_path: Path) -> None:
    draw(tmp_path / "in", ["images/u_@_1.jpg", "images/u_@_2.jpg"])
    write(tmp_path / "in/json/insta-caption-train.json", json.dumps({"u": {"1": {"caption": "Beach!! 🏖️🏖️"}}}))
    write(
        tmp_path / "in/json/insta-caption-test1.json",
        json.dumps({"u": {"2": {"caption": "Sun ☀️"}, "1": {"caption": "again"}}}),
    )
    pack, report = run(tmp_path / "in", tmp_path / "pack", rules="contrastive-captioning")
    assert [(c.words, c.split) for c in pack.captions] == [(("beach", "🏖️", "🏖️"), "train"), (("sun", "☀️"), "test")]
    assert report["skipped"]["counts"] == {"duplicate id": 1}


def test_corpus_alone_and_joined(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "talk.txt.gz"
    path.write_bytes(gzip.compress("\n".join(f"sentence number {k} is here" for k in range(300)).encode()))
    pack, report = run(path, tmp_path / "pack", split=None)
    assert len(pack.captions) == 300 and set(pack.owner.tolist()) == {-1} and not pack.images
    assert 290 <= report["splits"]["train"]["captions"] < 300
    pack, report = run(flickr(tmp_path / "tiny"), tmp_path / "both", corpus=path, rules="r2m", nouns=False)
    assert "corpus" not in report["splits"]
    assert skips(report)["300 sentences"][0] == "short sentence"  # all have 5 words, r2m asks for 8
    pack, report = run(tmp_path / "tiny", tmp_path / "mixed", corpus=path, vocabulary="corpus", nouns=False)
    assert report["splits"]["corpus"]["captions"] == 300 and "dog" not in pack.vocabulary.words
    assert pack.split("train").captions.tolist() == [0, 1]


def test_rules_can_be_overridden_one_by_one(tmp_path: Path) -> None:
    source = flickr(tmp_path / "tiny")
    pack, report = run(source, tmp_path / "pack", rules="neuraltalk", max_length=2, lower=False, vocabulary="all")
    assert pack.captions[0].words == ("A", "grey") and report["words"]["captions_cut"] == 6
    pack, report = run(source, tmp_path / "whole", rules="neuraltalk", max_length=0)
    assert report["words"]["captions_cut"] == 0 and report["words"]["longest"] == 7


def test_vocabulary_of_another_pack(tmp_path: Path) -> None:
    first, _ = run(flickr(tmp_path / "tiny"), tmp_path / "one", rules="vse")
    draw(tmp_path / "in", ["a.jpg"])
    write(tmp_path / "in/captions.csv", "image,caption\na.jpg,A grey zebra .\n")
    second = prepare(PrepareOptions(str(tmp_path / "in"), tmp_path / "two", vocabulary_from=tmp_path / "one"))
    assert second.vocabulary == first.vocabulary
    assert second.captions[0].words == ("a", "grey", "zebra", ".")  # the other pack's rules hold as well
    assert second.vocabulary.decode(second.tokens.tolist()) == "a grey ."


def test_vocabulary_of_a_run(tmp_path: Path) -> None:
    """A run keeps vocabulary.json, and the rules in data.json."""
    source = flickr(tmp_path / "tiny")
    first, _ = run(source, tmp_path / "one", rules="vse")
    first.vocabulary.save(tmp_path / "run" / "vocabulary.json")
    write(tmp_path / "run" / "data.json", json.dumps({"rules": first.manifest["rules"]}))
    second = prepare(PrepareOptions(str(source), tmp_path / "two", vocabulary_from=tmp_path / "run"))
    assert second.fingerprint == first.fingerprint and second.manifest["rules"] == first.manifest["rules"]


def test_splits_by_hash_stay_when_images_are_added(tmp_path: Path) -> None:
    names = [f"{k:03d}.png" for k in range(60)]
    draw(tmp_path / "in", names, (4, 4))
    lines = [f"{name},a thing" for name in names]
    write(tmp_path / "in/captions.csv", "image,caption\n" + "\n".join(lines[:30]) + "\n")
    few, _ = run(tmp_path / "in", tmp_path / "few", nouns=False, split="0.5/0.25/0.25")
    write(tmp_path / "in/captions.csv", "image,caption\n" + "\n".join(lines) + "\n")
    many, _ = run(tmp_path / "in", tmp_path / "many", nouns=False, split="0.5/0.25/0.25")
    assert [p.split for p in many.images][:30] == [p.split for p in few.images]
    assert {p.split for p in many.images} == {"train", "val", "test"}
    with pytest.raises(InputError, match="add up to 1"):
        run(tmp_path / "in", tmp_path / "other", split="0.9/0.9")


def test_nouns_are_marked_but_not_unk(tmp_path: Path) -> None:
    pack, _ = run(flickr(tmp_path / "tiny"), tmp_path / "pack")
    nouns = np.asarray(pack.column("nouns").values)
    assert nouns[:3].tolist() == [False, False, True]  # a grey dog
    assert not nouns[pack.tokens == UNK].any()


def test_report_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(flickr(tmp_path / "tiny"), tmp_path / "pack", json=True)
    assert json.loads(capsys.readouterr().out)["pictures"] == 3


def test_many_unknown_words_get_advice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(flickr(tmp_path / "flickr"), tmp_path / "known", vocabulary="all")
    assert "unknown (UNK)" not in capsys.readouterr().out
    run(flickr(tmp_path / "again"), tmp_path / "unknown", min_count=2)
    assert "of all words are unknown (UNK): models cannot learn" in " ".join(capsys.readouterr().out.split())


def test_terminal_shows_counts_and_reasons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(flickr(tmp_path / "tiny"), tmp_path / "pack")
    shown = capsys.readouterr().out
    assert "missing image: 1" in shown and "44_d.jpg.1 (Tiny.token.txt, line 7)" in shown


# Bad items are skipped and listed


def test_missing_truncated_and_false_images(table: Path, tmp_path: Path) -> None:
    (table / "b.png").write_bytes((table / "b.png").read_bytes()[:60])
    write(table / "c.jpg", "this is text")
    lines = ["image,caption", "a.jpg,a dog", "b.png,a cat", "c.jpg,a cow", "d.jpg,a hen"]
    write(table / "captions.csv", "\n".join(lines))
    pack, report = run(table, tmp_path / "pack")
    assert [p.id for p in pack.images] == ["a"]
    assert skips(report) == {
        "b.png": ("truncated image", "captions.csv, line 3"),
        "c.jpg": ("not an image", "captions.csv, line 4"),
        "d.jpg": ("missing image", "captions.csv, line 5"),
    }
    assert all(row["reason"] for row in report["skipped"]["items"])


def test_names_that_are_not_utf8(table: Path, tmp_path: Path) -> None:
    """With a table and without; nothing of a pack could hold them."""
    for name in (b"caf\xe9.jpg", b"caf\xe9.txt"):
        Path(os.fsdecode(os.fsencode(table) + b"/" + name)).write_bytes((table / "a.jpg").read_bytes())
    write(table / "a.txt", "a dog")
    for out, listed in (("beside", False), ("listed", True)):
        if listed:
            write(table / "captions.csv", "image,caption\na.jpg,a dog\n")
        pack, report = run(table, tmp_path / out)
        assert [p.id for p in pack.images] == ["a"]
        assert skips(report)[r"'caf\udce9.jpg'"] == ("bad file name", r"'caf\udce9.jpg'")


def test_caption_of_an_unknown_image(tmp_path: Path) -> None:
    draw(tmp_path / "in", ["1.jpg"])
    path = coco(tmp_path / "in/captions_train.json", {1: "1.jpg"}, [(5, 1, "A dog"), (6, 9, "A ghost")])
    _, report = run(path, tmp_path / "pack")
    assert skips(report) == {"9": ("unknown image", "captions_train.json, annotations[1]")}


def test_duplicate_ids(tmp_path: Path) -> None:
    draw(tmp_path / "in", ["1.jpg", "2.jpg"])
    coco(tmp_path / "in/captions_train.json", {1: "1.jpg"}, [(5, 1, "A dog"), (5, 1, "Again")])
    coco(tmp_path / "in/captions_val.json", {1: "1.jpg", 2: "2.jpg"}, [(5, 2, "A cat"), (8, 1, "A dog")])
    pack, report = run(tmp_path / "in", tmp_path / "pack")
    assert report["skipped"]["counts"] == {"duplicate id": 3}
    assert [(c.text, c.split) for c in pack.captions] == [("A dog", "train"), ("A cat", "val")]


def test_empty_captions(table: Path, tmp_path: Path) -> None:
    write(table / "captions.tsv", 'image\tcaption\na.jpg\t\nb.png\t...\nc.jpg\ta cow\nc.jpg\t""\n')
    pack, report = run(table, tmp_path / "pack")
    assert [c.text for c in pack.captions] == ["a cow"]
    counts = report["skipped"]["counts"]
    assert counts == {"image without caption": 2, "empty caption": 1}
    places = {row["where"] for row in report["skipped"]["items"]}
    assert places == {"captions.tsv, line 2", "captions.tsv, line 3", "captions.tsv, line 5"}


def test_broken_lines_of_csv_and_jsonl(table: Path, tmp_path: Path) -> None:
    write(table / "captions.csv", 'image,caption\na.jpg,a dog, wet\nb.png,"a cat, dry"\nc.jpg\n')
    _, report = run(table, tmp_path / "one")
    assert skips(report)["a.jpg,a dog,wet"] == ("broken line", "captions.csv, line 2")
    assert ("broken line", "captions.csv, line 4") in [
        (row["kind"], row["where"]) for row in report["skipped"]["items"]
    ]
    (table / "captions.csv").unlink()
    write(
        table / "captions.jsonl",
        '{"image": "a.jpg", "caption": ["a dog", "one dog"]}\n{"image": \n[1]\n{"image": "b.png"}\n',
    )
    pack, report = run(table, tmp_path / "two")
    assert len(pack.captions) == 2
    broken = [row["where"] for row in report["skipped"]["items"] if row["kind"] == "broken line"]
    assert broken == [f"captions.jsonl, line {line}" for line in (2, 3, 4)]


def test_broken_entries_of_coco_and_its_results(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    draw(folder, ["a.jpg", "b.jpg"])
    images = [{"id": 1, "file_name": "a.jpg", "width": "wide"}, {"id": 2, "file_name": None}, 3]
    annotations = [{"image_id": 1, "caption": "a dog"}, {"image_id": 1, "caption": None}, {"image_id": 1}, "a cat"]
    write(folder / "captions_train.json", json.dumps({"images": images, "annotations": annotations}))
    box = {"image_id": 1, "category_id": 18, "bbox": [0, 0, 20, 15], "score": 0.5}
    results = [box, {**box, "bbox": None}, {**box, "bbox": [0, 0, "x", 1]}, {**box, "score": "high"}, 7]
    write(folder / "detections.json", json.dumps(results))
    pack, report = run(folder, tmp_path / "pack")
    assert [caption.text for caption in pack.captions] == ["a dog"]
    assert pack.detections[0].labels == ("dog",)
    places = [item["where"] for item in report["skipped"]["items"] if item["kind"] == "broken entry"]
    assert len(places) == 2 + 3 + 4
    assert "captions_train.json, annotations[1]" in places
    assert "detections.json, [3]" in places


def test_broken_entries_of_karpathy(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    draw(folder, ["a.jpg", "b.jpg"])
    good = {"filename": "a.jpg", "split": "train", "sentences": [{"raw": "a dog"}, {"tokens": ["a", "cat"]}, {}, 5]}
    write(folder / "dataset_x.json", json.dumps({"images": [good, {**good, "filename": "b.jpg", "split": None}, 4]}))
    pack, report = run(folder, tmp_path / "pack")
    assert [caption.text for caption in pack.captions] == ["a dog", "a cat"]
    assert sum(item["kind"] == "broken entry" for item in report["skipped"]["items"]) == 4


def test_broken_entities_of_one_image(tmp_path: Path) -> None:
    source = flickr(tmp_path / "tiny")
    write(entities(source / "entities") / "Annotations" / "11.xml", "<annotation><size>")
    pack, report = run(source, tmp_path / "pack")
    assert not pack.phrases and skips(report)["11"] == ("no entities", "Annotations/11.xml")


# Bad files stop the run, and nothing is left behind


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "captions.csv",
            "image,caption\na.jpg,a café\n".encode("latin-1"),
            r"captions.csv, line 2: this is not utf-8 text",
        ),
        ("captions.csv", b'image,caption\na.jpg,"a dog\nb.png,a cat\n', r"captions.csv, line 3: broken CSV"),
        ("captions.csv", b"", "captions.csv is empty"),
        ("captions.csv", b"foo,caption\n1,a\n", "no column of image names among foo, caption; name it with"),
        ("captions.csv", b"image,bar\na.jpg,a\n", "no column of captions among image, bar"),
        ("captions.jsonl", b"a.jpg a dog\nb.png a cat\n", "none of its 2 lines is a JSON object"),
        (
            "captions_train.json",
            b'{"images": [\n{"id": 1,}\n]}',
            r"captions_train.json, line 2, column \d+: broken JSON",
        ),
        ("captions_train.json", b'{"info": 1, "images": []}', "has no 'annotations'"),
        ("captions_train.json", b'{"images": 3, "annotations": []}', "'images' is not a list"),
        ("captions_train.json", b'{"images": [{"id": 1}], "annotations": []}', "none of its 1 'images' entries"),
        ("x.token.txt", b"a.jpg a dog\n", "no line of the form"),
    ],
)
def test_bad_files(table: Path, tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (table / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        run(table, tmp_path / "pack")
    assert sorted(os.listdir(tmp_path)) == ["in"]


def test_encoding_can_be_named(table: Path, tmp_path: Path) -> None:
    write(table / "captions.csv", "image,caption\na.jpg,a café\n", encoding="latin-1")
    pack, _ = run(table, tmp_path / "pack", encoding="latin-1")
    assert pack.captions[0].words == ("a", "café")


def test_nothing_there(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="is an empty folder"):
        run(tmp_path / "empty", tmp_path / "pack")
    with pytest.raises(InputError, match="does not exist"):
        run(tmp_path / "nowhere", tmp_path / "pack")
    write(tmp_path / "odd/readme.md", "hello")
    with pytest.raises(InputError, match="in no known format"):
        run(tmp_path / "odd", tmp_path / "pack")
    write(tmp_path / "text/captions.csv", "image,caption\na.jpg,a dog\n")
    with pytest.raises(InputError, match="holds no images; give their folder"):
        run(tmp_path / "text", tmp_path / "pack")


def test_everything_bad_is_an_error(table: Path, tmp_path: Path) -> None:
    write(table / "captions.csv", "image,caption\nx.jpg,a dog\n")
    with pytest.raises(InputError, match="items were skipped"):
        run(table, tmp_path / "pack")


def test_an_older_pack_and_other_folders_are_safe(tmp_path: Path) -> None:
    source = flickr(tmp_path / "tiny")
    run(source, tmp_path / "pack")
    with pytest.raises(InputError, match="is a pack already"):
        run(source, tmp_path / "pack")
    run(source, tmp_path / "pack", overwrite=True)
    write(tmp_path / "home" / "letter.txt", "dear")
    with pytest.raises(InputError, match="exists and is not a pack"):
        run(source, tmp_path / "home", overwrite=True)


def test_a_failure_while_writing_leaves_nothing_or_the_older_pack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = flickr(tmp_path / "tiny")
    older, _ = run(source, tmp_path / "older")

    def fail(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("tellapart.data.write_pack.save_array", fail)
    for out in (tmp_path / "new", tmp_path / "older"):
        with pytest.raises(OSError, match="disk is full"):
            run(source, out, overwrite=True)
    assert sorted(os.listdir(tmp_path)) == ["older", "tiny"]
    assert Pack(tmp_path / "older").fingerprint == older.fingerprint


def test_recognition(tmp_path: Path, table: Path) -> None:
    write(table / "a.txt", "a dog")
    assert recognise(table) == "folder"
    assert recognise(flickr(tmp_path / "tiny")) == "flickr"
    assert recognise(coco(tmp_path / "x.json", {1: "a"}, [])) == "coco"
    assert recognise(write(tmp_path / "talk.txt", "a dog")) == "corpus"
    assert recognise(write(tmp_path / "posts.jsonl", "{}")) == "posts"
    assert recognise(write(tmp_path / "k.json", '{"images": [{"sentences": []}]}')) == "karpathy"


# Values that cannot be stored


def test_a_pack_without_words_is_rejected(table: Path, tmp_path: Path) -> None:
    write(table / "captions.csv", "image,caption\na.jpg,a dog\nb.png,a cat\n")
    with pytest.raises(InputError, match=r"No word occurs 1000 times.*smaller `min_count`"):
        run(table, tmp_path / "pack", min_count=1000)
    assert not (tmp_path / "pack").exists()


def test_ids_over_64_bits_are_no_numbers(tmp_path: Path) -> None:
    draw(tmp_path / "in", ["a.jpg", "b.jpg"])
    path = coco(
        tmp_path / "in" / "captions_train.json",
        {1: "a.jpg", 2**70: "b.jpg"},
        [(2**64, 1, "a dog"), (5, 2**70, "a cat")],
    )
    pack, _ = run(path, tmp_path / "pack", images=tmp_path / "in")
    assert [image.id for image in pack.images] == ["1", str(2**70)]
    assert pack.column(CAPTION_IDS).values.tolist() == [-1, 5]


@pytest.mark.parametrize("value", ['"\\ud800"', "9" * 5001])
def test_json_that_cannot_be_stored_is_named(tmp_path: Path, value: str) -> None:
    draw(tmp_path / "in", ["a.jpg"])
    text = '{"images": [{"id": 1, "file_name": "a.jpg"}],\n"annotations": [{"id": 1, "image_id": 1, "caption": %s}]}'
    with pytest.raises(InputError, match=r"captions_train\.json, line 2.*broken JSON"):
        run(write(tmp_path / "in" / "captions_train.json", text % value), tmp_path / "pack")
