"""Grounding of models whose attention is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from grounded_world import grounded_context
from tellapart.core.errors import InputError
from tellapart.core.types import Encoded, Forced, Images, State, Step, Texts
from tellapart.data.annotate_objects import ObjectSettings, annotate_objects
from tellapart.data.batches import Batches
from tellapart.evaluation import EVALUATIONS
from tellapart.evaluation.grounding import (
    class_table,
    evaluate_grounding,
    evaluate_grounding_fully,
    ground,
    ground_with_classes,
)
from tellapart.models.captioners.up_down import UpDown
from tellapart.models.matchers.scan import SCAN
from tellapart.models.matchers.vse import VSE
from tellapart.objectives.context import Context


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Context]:
    yield grounded_context(tmp_path_factory.mktemp("grounded") / "pack")


class Parrot(nn.Module):
    """Says one sentence about every image and attends to a given region for each word it is about to say."""

    def __init__(self, context: Context, sentence: str, looks: dict[str, int]) -> None:
        super().__init__()
        vocabulary = context.pack.vocabulary
        self.sentence = torch.tensor([*vocabulary.encode(sentence.split()), 2])
        self.region = torch.full((len(vocabulary),), 3)
        for word, region in looks.items():
            self.region[vocabulary.ids[word]] = region

    def start(self, images: Images) -> State:
        return {"time": torch.zeros(len(images), dtype=torch.long)}

    def step(self, word: Tensor, state: State) -> Step:
        said = self.sentence[state["time"].clamp(max=len(self.sentence) - 1)]
        logits = nn.functional.one_hot(said, len(self.region)).float() * 50
        return Step(logits, {"time": state["time"] + 1}, self._attention(said))

    def forward(self, images: Images, tokens: Tensor) -> Forced:
        said = tokens[:, 1:]
        return Forced(nn.functional.one_hot(said, len(self.region)).float() * 50, self._attention(said))

    def _attention(self, said: Tensor) -> Tensor:
        return nn.functional.one_hot(self.region[said], 4).float()


class Pointer(nn.Module):
    """A matcher whose words all attend to one region; START, END and every first word are passed over."""

    def __init__(self, region: int) -> None:
        super().__init__()
        self.region = region

    def encode_image(self, images: Images) -> Encoded:
        return Encoded(images.features, images.mask)

    def encode_text(self, texts: Texts) -> Encoded:
        return Encoded(texts.tokens.unsqueeze(-1).float(), texts.mask)

    def attend(self, images: Encoded, texts: Encoded) -> Tensor:
        weights = torch.zeros(*texts.vectors.shape[:2], images.vectors.shape[1])
        weights[:, 2:-1, self.region] = 1
        return weights


def test_a_perfect_attention(context: Context) -> None:
    """Captions "a dog watches two men" and "men see a dog …": every object word, said with the right attention."""
    found = evaluate_grounding(Parrot(context, "a dog watches two men", {"dog": 0, "men": 1}), context, "val")
    assert found["attention_accuracy"] == found["attention_accuracy_words"] == 100
    assert found["f1_all"] == found["f1_loc"] == 100
    assert found["chair_words"] == found["chair_captions"] == 0
    assert found["loss"] < 1e-6
    assert found["cider"] == 0  # all images have the same captions, so no word tells them apart


def test_half_the_attention(context: Context) -> None:
    """The dog is found, the men are looked for in the corner: 50% over classes; precision and recall 1/2 each."""
    found = evaluate_grounding(Parrot(context, "a dog watches two men", {"dog": 0}), context, "val")
    assert found["attention_accuracy"] == found["f1_all"] == found["f1_loc"] == 50


def test_half_a_sentence(context: Context) -> None:
    """Only the dog is said, rightly located: dog 1, man 0 in precision and recall: 50 for all, and for loc too, where a
    class never said still counts."""
    found = evaluate_grounding(Parrot(context, "a dog", {"dog": 0}), context, "val")
    assert found["f1_all"] == found["f1_loc"] == 50


def test_a_caption_with_no_visual_word(context: Context) -> None:
    found = evaluate_grounding(Parrot(context, "they run fast", {"dog": 0}), context, "val")
    assert found["f1_all"] == found["f1_loc"] == found["chair_words"] == 0


def test_a_reference_without_phrases_still_mentions(tmp_path: Path) -> None:
    """With "fast" for a class, "they run fast" is the only caption that mentions it, and has no phrase: it cannot be
    judged by, but "fast" is not made up."""
    context = grounded_context(tmp_path / "pack")
    (tmp_path / "classes.txt").write_text("dog\nfast\n", encoding="utf-8")
    annotate_objects(context.pack, ObjectSettings(class_file=tmp_path / "classes.txt"))
    found = evaluate_grounding(Parrot(context, "a dog run fast", {"dog": 0}), context, "val")
    assert found["chair_words"] == found["chair_captions"] == 0


@pytest.mark.parametrize("padded_to", [1, 8])
def test_words_that_were_cut_off_are_not_judged(context: Context, padded_to: int) -> None:
    """Cut to four words, "a dog watches two | men" and "men see a dog | …" keep two dogs and one man per image. Where
    "men" stood there is END, which attends to the corner: were it judged as the man, his class would be right half the
    time. Padded to a multiple of eight tokens, padding stands further on.
    """
    batches = Batches(context.pack, context.store, ("nouns",), longest=4, width_multiple=padded_to)
    cut = replace(context, batches=batches)
    assert evaluate_grounding(Parrot(context, "a dog", {"dog": 0, "men": 1}), cut, "val")["attention_accuracy"] == 100


def test_a_matcher_is_judged_by_its_words(context: Context) -> None:
    """All words look left: dogs right, men wrong. "men" as the first word is passed over, so it is wrong."""
    found = evaluate_grounding(Pointer(0), context, "val")
    assert found == {"attention_accuracy": 50.0, "attention_accuracy_words": 50.0}
    # All look right: of the men, one caption of two begins with the word.
    assert evaluate_grounding(Pointer(1), context, "val")["attention_accuracy"] == 25


def test_real_models_run_through(context: Context) -> None:
    torch.manual_seed(0)
    captioner = UpDown(hidden=16, attention=8).build(context.inputs)
    figures = evaluate_grounding_fully(captioner, context, "val")
    assert ground_with_classes(captioner, context, "val")[0] == figures
    for name in ("attention_accuracy", "f1_all", "f1_loc"):
        assert figures[f"{name}_low"] <= figures[name] + 1e-3 and figures[name] <= figures[f"{name}_high"] + 1e-3
    for nouns in (False, True):
        matcher = SCAN(16, 8, nouns=nouns).build(context.inputs)
        assert 0 <= EVALUATIONS["grounding-full"](matcher, context, "val")["attention_accuracy"] <= 100


def test_one_row_per_class(context: Context) -> None:
    """Two images with two annotated captions each: dogs are said twice and judged against four. Recall of the men is
    0, whether or not unsaid ones count, since they are said and looked for in the wrong place."""
    rows = class_table(ground(Parrot(context, "a dog watches two men", {"dog": 0}), context, "val"), context)
    assert [row["class"] for row in rows] == ["dog", "man"]
    assert rows[0] == {
        "class": "dog",
        "words": 4,
        "said": 2,
        "attention_accuracy": 100.0,
        "precision_all": 100.0,
        "recall_all": 100.0,
        "precision_loc": 100.0,
        "recall_loc": 100.0,
    }
    assert rows[1]["precision_all"] == rows[1]["recall_loc"] == 0


def test_a_class_that_some_captions_lack(context: Context) -> None:
    """Only the dog is said: the men count as missed in recall_all (0 of 4), and nothing is left of them for loc."""
    rows = class_table(ground(Parrot(context, "a dog", {"dog": 0}), context, "val"), context)
    assert [(row["class"], row["said"], row["recall_all"], row["recall_loc"]) for row in rows] == [
        ("dog", 2, 100.0, 100.0),
        ("man", 0, 0.0, 0.0),
    ]
    assert set(class_table(ground(Pointer(0), context, "val"), context)[0]) == {"class", "words", "attention_accuracy"}


def test_what_cannot_be_judged_is_rejected(context: Context, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no attention per word"):
        evaluate_grounding(VSE(embedding=8).build(context.inputs), context, "val")
    with pytest.raises(InputError, match="nothing in the split"):
        evaluate_grounding(Pointer(0), context, "nowhere")
