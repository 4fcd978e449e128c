"""Retrieval of a split: chunks change nothing, rows and columns follow the pack, bad splits are rejected."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.data.pack import CAPTION_IDS
from tellapart.data.pack_types import Caption, PackImage
from tellapart.data.write_pack import write_pack
from tellapart.evaluation import EVALUATIONS
from tellapart.evaluation.retrieval import evaluate_retrieval, evaluate_with_cxc, evaluate_with_eccv, score_split
from tellapart.models.matchers.vse import VSE
from tiny_world import tiny_context


def test_chunks_and_order_change_nothing(tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    torch.manual_seed(0)
    model = VSE(embedding=8, word_width=6).build(context.inputs).eval()
    whole, small = (score_split(model, one, "train") for one in (context, replace(context, batch=3)))
    assert torch.allclose(whole.scores, small.scores, atol=1e-6)
    images = model.encode_image(context.batches.images(whole.image_rows))
    texts = model.encode_text(context.batches.texts(whole.captions))
    assert torch.allclose(model.score(images, texts), whole.scores, atol=1e-6)
    assert np.array_equal(whole.image_rows[whole.owner.numpy()], context.pack.owner[whole.captions])


def test_the_model_goes_back_to_training(tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    model = VSE(embedding=8, word_width=6, dropout=0.5).build(context.inputs).train()
    first, second = evaluate_retrieval(model, context, "test"), evaluate_retrieval(model, context, "test")
    assert model.training and first == second
    assert set(first) >= {"i2t_r1", "t2i_r10", "rsum", "i2t_median"}


@pytest.mark.parametrize("name", ["retrieval", "retrieval-full"])
def test_every_retrieval_evaluation_gives_numbers(tmp_path: Path, name: str) -> None:
    context = tiny_context(tmp_path)
    model = VSE(embedding=8, word_width=6).build(context.inputs)
    assert all(isinstance(value, float) for value in EVALUATIONS[name](model, context, "train").values())


def test_cxc_counts_what_its_files_rate(tmp_path: Path) -> None:
    """A CSV that rates every caption's best-ranked image 5 makes R@1 of text to image 100; one that rates them
    2 changes nothing; both may come in several files."""
    context = tiny_context(tmp_path)
    torch.manual_seed(0)
    model = VSE(embedding=8, word_width=6).build(context.inputs).eval()
    found = score_split(model, context, "train")
    ids = np.arange(len(context.pack.owner)) + 700
    context.pack.save_column(CAPTION_IDS, ids, "caption")
    best = found.image_rows[found.scores.argmax(0).numpy()]
    for name, score in (("good.csv", 5.0), ("bad.csv", 2.0)):
        rows = [
            f"COCO_val2014_{0:012d}.jpg:{ids[c]},COCO_val2014_{p:012d}.jpg,{score},s"
            for c, p in zip(found.captions, best)
        ]
        (tmp_path / name).write_text("\n".join(["caption,image,agg_score,sampling_method", *rows]))
    plain = EVALUATIONS["retrieval-full"](model, context, "train")
    bad = evaluate_with_cxc(model, context, "train", [tmp_path / "bad.csv"])
    both = evaluate_with_cxc(model, context, "train", [tmp_path / "bad.csv", tmp_path / "good.csv"])
    assert plain["t2i_r1"] < 100 and {name: bad[name] for name in plain} == plain
    assert {
        name.removeprefix("cxc_"): bad[name] for name in bad if name.startswith("cxc_") and name.endswith("_r1")
    } == {name: plain[name] for name in ("i2t_r1", "t2i_r1")}
    assert both["cxc_t2i_r1"] == 100 and both["t2i_r1"] == plain["t2i_r1"] and both["cxc_i2t_r1"] >= plain["i2t_r1"]


def test_cxc_of_other_data_is_rejected(tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    model = VSE(embedding=8, word_width=6).build(context.inputs).eval()
    (tmp_path / "sits.csv").write_text("caption,image,agg_score,sampling_method\nx.jpg:700,y_123456.jpg,4.0,s\n")
    with pytest.raises(InputError, match=r"does not have COCO's caption ids.*prepare it again"):
        evaluate_with_cxc(model, context, "test", [tmp_path / "sits.csv"])
    context.pack.save_column(CAPTION_IDS, np.arange(len(context.pack.owner)) + 700, "caption")
    with pytest.raises(InputError, match="None of the 1 CxC ratings is of an image and a caption of the split 'test'"):
        evaluate_with_cxc(model, context, "test", [tmp_path / "sits.csv"])


def test_a_split_without_captions_is_rejected(tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    pack = write_pack(
        tmp_path / "bare", "bare", "", [PackImage("0", "", "test")], [Caption(-1, "a", ("a",), "train")],
        context.inputs.vocabulary, {},
    )  # fmt: skip
    bare = type(context)(pack, context.inputs, context.batches, context.store, context.device)
    model = VSE(embedding=8, word_width=6).build(context.inputs)
    with pytest.raises(InputError, match="no captioned image"):
        evaluate_retrieval(model, bare, "test")


def test_what_is_no_matcher_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="matcher"):
        evaluate_retrieval(torch.nn.Linear(1, 1), tiny_context(tmp_path), "test")


def test_eccv_counts_its_own_queries(tmp_path: Path) -> None:
    """Positives that are every image's first two captions, and nothing else, make all its values perfect."""
    context = tiny_context(tmp_path)
    torch.manual_seed(0)
    model = VSE(embedding=8, word_width=6).build(context.inputs).eval()
    (tmp_path / "eccv_image_to_caption.json").write_text("{}")
    (tmp_path / "eccv_caption_to_image.json").write_text("{}")
    with pytest.raises(InputError, match=r"does not have COCO's caption ids.*ECCV Caption"):
        evaluate_with_eccv(model, context, "train", tmp_path)
    context.pack.save_column(CAPTION_IDS, np.arange(len(context.pack.owner)) + 700, "caption")
    with pytest.raises(InputError, match=r"None of ECCV Caption's pairs"):
        evaluate_with_eccv(model, context, "train", tmp_path)
    found = score_split(model, context, "train")
    names = [Path(context.pack.images[row].file or context.pack.images[row].id).stem for row in found.image_rows]
    ids = found.captions + 700
    numbers = [int(name.rsplit("_", 1)[-1]) for name in names]
    best = {number: ids[row.topk(2).indices.numpy()].tolist() for number, row in zip(numbers, found.scores)}
    (tmp_path / "eccv_image_to_caption.json").write_text(json.dumps(best))
    worst = {int(ids[0]): [numbers[int(found.scores[:, 0].argmin())]]}
    (tmp_path / "eccv_caption_to_image.json").write_text(json.dumps(worst))
    values = evaluate_with_eccv(model, context, "train", tmp_path)
    assert values["eccv_i2t_map_at_r"] == values["eccv_i2t_r_precision"] == 1 and values["eccv_i2t_r1"] == 100
    assert values["eccv_t2i_map_at_r"] == values["eccv_t2i_r1"] == 0 and "rsum" in values
