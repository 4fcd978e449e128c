"""Batches: padding, ownership, columns, order, and a background thread that passes errors on."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.data.batches import Batches, background_results
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.data.sampling import Sampling, draw_epoch, share_of_rank, steps_per_epoch
from tellapart.text.vocabulary import END, PAD, START
from tellapart.training.replay import tensors_of
from tiny_pack import make_tiny_pack


@pytest.fixture(scope="module")
def batches(tiny_pack: Path) -> Batches:
    pack = Pack(tiny_pack)
    return Batches(pack, FeatureStore(pack.feature_folder("grid")), columns=("nouns",))


def test_a_batch_holds_each_image_once_and_points_to_it(batches: Batches) -> None:
    batch = batches.batch(np.asarray([7, 0, 5, 1]))  # images 1, 0, 1, 0
    assert batch.image_rows.tolist() == [1, 0]
    assert batch.owner.tolist() == [0, 1, 0, 1]
    assert batch.images.features.shape == (2, 4, 16)
    for row, caption in enumerate((7, 0, 5, 1)):
        words = batches.pack.captions[caption].words
        ids = batch.texts.tokens[row].tolist()
        assert ids[: len(words) + 2] == [START, *batches.pack.vocabulary.encode(words), END]
        assert set(ids[len(words) + 2 :]) <= {PAD}
        nouns = batch.texts.columns["nouns"][row].tolist()
        assert next(word for word, noun in zip(words, nouns[1:]) if noun) in ("dog", "image", "today")
    assert (batch.texts.mask.sum(1) == batch.texts.lengths).all()


def test_resident_features_are_the_same(batches: Batches) -> None:
    resident = Batches(batches.pack, batches.store, resident=True)
    rows = np.asarray([3, 1, 2])
    assert (resident.images(rows).features == batches.images(rows).features).all()


@pytest.mark.parametrize("longest", [None, 2])
@pytest.mark.parametrize("features", ["grid", "regions", None])
def test_batches_on_the_device_are_those_of_the_host(tmp_path: Path, features: str | None, longest: int | None) -> None:
    """Features of unequal numbers of rows, cut captions, columns per word and per caption, images that repeat."""
    pack = make_tiny_pack(tmp_path / "pack")
    offsets = np.arange(len(pack.images) + 1) * 4
    offsets[2:-1] -= 1  # image 1 has three rows, the last one five
    np.save(pack.feature_folder("regions") / "offsets.npy", offsets)
    pack.save_column("length", np.arange(len(pack.captions), dtype=np.float32), "caption")
    pack.save_column("number", np.arange(len(pack.images)), "image")
    store = FeatureStore(pack.feature_folder(features)) if features else None
    host, device = (
        Batches(pack, store, ("nouns", "length", "number"), longest=longest, width_multiple=4, resident=resident)
        for resident in (False, True)
    )
    for captions in ([7, 0, 5, 1], [2], [9, 3, 8, 4, 6]):
        rows = np.asarray(captions)
        for expected, found in zip(tensors_of(host.batch(rows)), tensors_of(device.batch(rows)), strict=True):
            assert expected.dtype == found.dtype and torch.equal(expected, found)


def test_features_on_the_device_are_copied_once(batches: Batches) -> None:
    """Every stage and every run of a process makes its own batches; gigabytes must not be copied for each."""
    first, second = (Batches(batches.pack, batches.store, resident=True) for _ in range(2))
    assert first.table is not None and first.table is second.table


def test_sentences_can_be_cut(tiny_pack: Path) -> None:
    texts = Batches(Pack(tiny_pack), None, longest=2).texts(np.asarray([2]))
    assert texts.tokens.shape == (1, 4) and texts.tokens[0, -1] == END


def test_features_of_another_pack_are_rejected(tiny_pack: Path, tmp_path: Path) -> None:
    other = make_tiny_pack(tmp_path / "other")
    np.save(other.feature_folder("grid") / "offsets.npy", np.arange(3))
    with pytest.raises(InputError, match="are for 2 images"):
        Batches(Pack(tiny_pack), FeatureStore(other.feature_folder("grid")))


@pytest.mark.parametrize(
    "sampling", [Sampling(batch=7, drop_last=False), Sampling(batch=3, captions_each=5, drop_last=False)]
)
def test_an_epoch_uses_every_caption_once(tiny_pack: Path, sampling: Sampling) -> None:
    pack = Pack(tiny_pack)
    drawn = np.concatenate([draw.captions for draw in draw_epoch(pack, sampling, (0, 0, 0))])
    assert sorted(drawn.tolist()) == pack.split("train").captions.tolist()
    again = np.concatenate([draw.captions for draw in draw_epoch(pack, sampling, (0, 0, 0))])
    other = np.concatenate([draw.captions for draw in draw_epoch(pack, sampling, (0, 0, 1))])
    assert drawn.tolist() == again.tolist() != other.tolist()


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(batch=7),
        Sampling(batch=7, drop_last=False),
        Sampling(batch=3, captions_each=5),
        Sampling(batch=5, what="images"),
        Sampling(batch=500),
        Sampling(batch=7, steps=3),
        Sampling(batch=7, steps=40),
    ],
)
def test_steps_are_counted_without_drawing_them(tiny_pack: Path, sampling: Sampling) -> None:
    assert steps_per_epoch(Pack(tiny_pack), sampling) == len(draw_epoch(Pack(tiny_pack), sampling, (0, 0, 0)))


@pytest.mark.parametrize("sampling", [Sampling(batch=16), Sampling(batch=6, captions_each=2)])
def test_ranks_share_a_batch_by_image(tiny_pack: Path, sampling: Sampling) -> None:
    pack = Pack(tiny_pack)
    whole = draw_epoch(pack, sampling, (0, 0, 0))[0]
    parts = [share_of_rank(whole, pack.owner, rank, 2) for rank in range(2)]
    assert sorted(np.concatenate([part.captions for part in parts])) == sorted(whole.captions)
    owners = [set(pack.owner[part.captions].tolist()) for part in parts]
    assert not owners[0] & owners[1]


def test_a_fixed_number_of_steps(tiny_pack: Path) -> None:
    assert len(draw_epoch(Pack(tiny_pack), Sampling(batch=64, steps=5), (0, 0, 0))) == 5


def test_errors_in_the_background_surface() -> None:
    def fail() -> int:
        raise InputError("no such image")

    made = background_results([lambda: 1, fail, lambda: 3])
    assert next(made) == 1
    with pytest.raises(InputError, match="no such image"):
        next(made)


def test_a_missing_split_says_what_there_is(tiny_pack: Path) -> None:
    with pytest.raises(InputError, match="it has test, train, val"):
        Pack(tiny_pack).split("training")


def test_sentences_can_be_padded_to_few_widths(batches: Batches) -> None:
    rows = np.asarray([7, 0, 5])
    plain = batches.texts(rows)
    wide = Batches(batches.pack, None, columns=("nouns",), width_multiple=8).texts(rows)
    width = plain.tokens.shape[1]
    assert wide.tokens.shape[1] % 8 == 0 and wide.tokens.shape[1] >= width
    assert (wide.tokens[:, :width] == plain.tokens).all() and (wide.tokens[:, width:] == PAD).all()
    assert (wide.lengths == plain.lengths).all()
    assert not wide.columns["nouns"][:, width:].any()
