"""A judge that knows the answer, and one that is wrong; chunks, look-alikes and local vectors."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from evaluation.test_captions import tiny_context
from tellapart.core.types import Encoded, Images, Texts
from tellapart.data.pack import Pack
from tellapart.evaluation.distinctive import distinctive_metrics, look_alikes
from tellapart.evaluation.judged import joint_picks, judge_scores, picked_first
from tellapart.inference.judge import scale_of
from tellapart.inference.pack_matcher import open_pack_matcher


class Dot:
    """A matcher whose captions are vectors: token 4 + n is the n-th axis."""

    def __init__(self, local: bool = False) -> None:
        self.local = local

    def encode_image(self, images: Images) -> Encoded:
        return Encoded(images.features, images.mask) if self.local else Encoded(images.pooled())

    def encode_text(self, texts: Texts) -> Encoded:
        return Encoded(torch.nn.functional.one_hot(texts.tokens[:, 0], 12).float())

    def score(self, images: Encoded, texts: Encoded) -> Tensor:
        vectors = images.vectors.sum(1) if self.local else images.vectors
        return vectors @ texts.vectors.t()


def images_of(rows: np.ndarray) -> Images:
    """Image n points along axis n; those with an even number have two rows, the others one."""
    most = 2 if (rows % 2 == 0).any() else 1
    features = torch.nn.functional.one_hot(torch.from_numpy(rows), 12).float().unsqueeze(1).repeat(1, most, 1)
    mask = torch.ones(len(rows), most, dtype=torch.bool)
    mask[torch.from_numpy(rows % 2 == 1), 1:] = False
    return Images(features * mask.unsqueeze(-1), mask)


def texts_of(captions: Sequence[str]) -> Texts:
    tokens = torch.tensor([[int(caption)] for caption in captions])
    return Texts(tokens, torch.ones(len(tokens), dtype=torch.long))


@pytest.mark.parametrize("local", [False, True])
def test_a_caption_must_fit_its_own_image_best(local: bool) -> None:
    """Caption n names image n, but captions 3 and 7 name others: 3's is a look-alike and wins, 7's is none and ties."""
    similar = np.array([[(image + 1) % 12, (image + 5) % 12] for image in range(12)])
    captions = [str(image) for image in range(12)]
    captions[3], captions[7] = "4", "2"
    scores = judge_scores(Dot(local), images_of, texts_of, captions, similar, batch=3)
    assert picked_first(scores).tolist() == [image not in (3, 7) for image in range(12)]


def test_judges_together_by_hand() -> None:
    """Mean ln p of two judges: image 0 wins if the product of its chances is the largest, here 0.5 * 0.3 > 0.4 * 0.35
    and 0.1 * 0.35 of the others; with the chances 0.6 and 0.1 it loses to 0.3 * 0.8."""
    one = torch.tensor([[0.5, 0.4, 0.1], [0.6, 0.3, 0.1]]).log()
    other = torch.tensor([[0.3, 0.35, 0.35], [0.1, 0.8, 0.1]]).log()
    assert joint_picks([one, other]).tolist() == [True, False]
    assert joint_picks([one]).tolist() == [True, True] and joint_picks([other]).tolist() == [False, False]


def test_shares_of_an_image_and_its_look_alikes_sum_to_one(photo_world: Path) -> None:
    """ln p by the matcher's own temperature: its picks are those of the scores, its shares sum to one."""
    pack = Pack(photo_world / "pack")
    judge = open_pack_matcher(photo_world / "find", pack)
    rows, similar = np.arange(12), np.array([[(row + 1) % 12, (row + 5) % 12] for row in range(12)])
    captions = [pack.captions[pack.captions_of[row][0]].text for row in range(12)]
    shares = judge.log_shares(rows, captions, similar)
    assert shares.shape == (12, 3) and torch.allclose(shares.exp().sum(1), torch.ones(12, dtype=torch.double))
    images, texts = judge.matcher.encode_image(judge.batches.images(rows)), judge._texts(captions)
    scores = judge.matcher.score(images, judge.matcher.encode_text(texts)).double() * scale_of(judge.matcher)
    for row in range(12):
        among = [row, *similar[row].tolist()]
        assert torch.allclose(shares[row], scores[among, row].log_softmax(0), atol=1e-4)
    assert judge.picks(rows, captions, similar).tolist() == (shares.argmax(1) == 0).tolist()


def test_look_alikes_of_a_pack_and_the_metrics(tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    images = context.pack.split("train").images
    similar = look_alikes(context, images)
    assert similar is not None and similar.shape == (8, 7)
    vectors = context.batches.images(images).pooled().numpy()
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = vectors @ vectors.T
    for image, rows in enumerate(similar):
        assert image not in rows
        others = sorted((other for other in range(8) if other != image), key=lambda other: -cosine[image, other])
        assert rows.tolist() == others
    assert look_alikes(context, images[:1]) is None
    own = [[context.pack.captions[row].text for row in context.pack.captions_of[int(image)]] for image in images]
    found = distinctive_metrics([group[0] for group in own], own, similar)
    assert found["chair_i"] == found["chair_s"] == 0 and found["distinct_words_400"] == len(
        {word for group in own for word in group[0].split()}
    )
    swapped = distinctive_metrics([own[rows[0]][0] for rows in similar], own, similar)
    assert swapped["cider_between"] > found["cider_between"] and swapped["chair_s"] > 0
    assert "cider_between" not in distinctive_metrics(["a"], [["a"]], None)
