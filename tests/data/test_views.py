"""Images mirrored and cut: the same for the same seed, whoever asks; and a backbone that learns from pixels."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import tellapart as ta
from tellapart.core.errors import InputError
from tellapart.core.files import read_json, write_json
from tellapart.data.batches import Batches
from tellapart.data.feature_choice import choose_features
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.data.pack_types import Caption
from tellapart.data.sampling import Sampling, draw_epoch, share_of_rank
from tellapart.data.views import View, Views, sample_views
from tellapart.data.write_pack import write_pack
from tellapart.losses import Contrast
from tellapart.models.matchers.ltd_baseline import LTDBaseline
from tellapart.objectives.ranking import Ranking
from tellapart.papers.recipes import find_recipe
from tellapart.runs.context import context_for
from tellapart.runs.recipe import Optimiser, Recipe, Stage
from tellapart.runs.registry import recipe_from_plain, to_plain
from tellapart.text.vocabulary import Vocabulary
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe
from tiny_pack import make_tiny_pack


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    """A tiny pack with images, red on the left and blue on the right, and mirror images of `vector` and `grid`."""
    pack = make_tiny_pack(tmp_path / "pack")
    halves = np.zeros((64, 64, 3), np.uint8)
    halves[:, :32, 0] = halves[:, 32:, 2] = 255
    for row in range(len(pack.images)):
        Image.fromarray(halves).save(pack.image_path(row))
    for name in ("vector", "grid"):
        source, mirror = pack.feature_folder(name), pack.feature_folder(f"{name}-flip")
        mirror.mkdir()
        (-np.fromfile(source / "values.f16", np.float16)).tofile(mirror / "values.f16")
        for side in ("offsets.npy", "boxes.npy"):
            if (source / side).is_file():
                (mirror / side).write_bytes((source / side).read_bytes())
        write_json(mirror / "features.json", {**read_json(source / "features.json"), "flipped": True})
    return pack


def test_views_are_the_seeds_and_the_images_own() -> None:
    views, rows = Views(pixels=8, cut=0.3, flip=True), np.arange(200)
    seen = sample_views(views, rows, (0, 1, 2, 3))
    assert seen[50:60] == sample_views(views, rows[50:60], (0, 1, 2, 3))
    assert seen != sample_views(views, rows, (0, 1, 2, 4))
    assert 60 < sum(view.mirrored for view in seen) < 140
    for view in seen:
        assert view.part is not None
        left, top, right, bottom = view.part
        assert 0 <= left < right <= 1 + 1e-9 and 0 <= top < bottom <= 1 + 1e-9
        assert (right - left) * (bottom - top) > 0.3 * 0.74
    assert sample_views(views, rows[:2], None) == [View(), View()]


def test_pixels_as_they_are_and_mirrored(pack: Pack) -> None:
    batches = Batches(pack, None, views=Views(pixels=16, flip=True))
    rows = np.arange(12)
    plain = batches.images(rows).pixels
    assert plain is not None and plain.dtype == torch.uint8 and plain.shape == (12, 3, 16, 16)
    assert (plain[:, 0, :, 0] == 255).all() and (plain[:, 2, :, -1] == 255).all()
    seed = (5, 0, 0, 0)
    seen = batches.images(rows, seed).pixels
    assert seen is not None
    mirrored = [view.mirrored for view in sample_views(batches.views, rows, seed)]
    assert any(mirrored) and not all(mirrored)
    for row, is_mirrored in enumerate(mirrored):
        assert torch.equal(seen[row], plain[row].flip(2) if is_mirrored else plain[row])


@pytest.mark.parametrize("resident", [False, True])
def test_features_of_mirror_images_are_drawn(pack: Pack, resident: bool) -> None:
    store = FeatureStore(pack.feature_folder("grid"))
    batches = Batches(pack, store, views=Views(flip=True), resident=resident)
    rows, seed = np.arange(12), (1, 2)
    plain, seen = batches.images(rows), batches.images(rows, seed)
    signs = torch.tensor([-1.0 if g.mirrored else 1.0 for g in sample_views(batches.views, rows, seed)])
    assert torch.equal(seen.features, plain.features * signs.view(-1, 1, 1)) and (signs < 0).any()


def test_mirror_images_are_never_chosen_alone_and_must_be_there(pack: Pack) -> None:
    store = choose_features(pack, "grid", None)
    assert store is not None and store.name == "grid"
    with pytest.raises(InputError, match="with `flip=True`"):
        Batches(pack, FeatureStore(pack.feature_folder("regions")), views=Views(flip=True))


def test_an_epochs_seeds_are_its_own_and_ranks_share_them(pack: Pack) -> None:
    sampling = Sampling(batch=10, flip=True)
    draws = draw_epoch(pack, sampling, (0, 0, 3))
    assert [draw.seed for draw in draws] == [(0, 0, 3, index) for index in range(len(draws))]
    assert all(draw.seed is None for draw in draw_epoch(pack, Sampling(batch=10, pixels=8), (0, 0, 3)))
    assert share_of_rank(draws[1], pack.owner, 1, 2).seed == draws[1].seed


def test_recipes_from_before_views_mean_the_same() -> None:
    recipe = find_recipe("vse++")
    assert "pixels" not in to_plain(recipe)["stages"][0]["sampling"]
    sampling = Sampling(pixels=32, flip=True)
    assert to_plain(sampling)["pixels"] == 32
    assert recipe_from_plain(to_plain(recipe)) == recipe


def backbone_recipe() -> Recipe:
    stage = Stage(
        name="base",
        model=LTDBaseline(embedding=8, word_width=8, backbone="efficientnet-lite0"),
        objective=Ranking(Contrast("info-nce", temperature=0.05)),
        sampling=Sampling(batch=4, steps=2, pixels=32, cut=0.5, flip=True),
        optimiser=Optimiser(lr=1e-3),
        epochs=1,
        evaluation="retrieval",
        monitor="rsum",
    )
    return Recipe("pixels", "", "", (stage,), features="none")


def test_a_backbone_learns_from_pixels(pack: Pack, tmp_path: Path) -> None:
    recipe = backbone_recipe()
    runs = [train_recipe(recipe, TrainSettings(data=pack.folder, out=tmp_path / name)) for name in ("a", "b")]
    before = recipe.stages[0].model
    from tellapart.features.backbones import load_backbone

    name, stem = next(iter(load_backbone(before.backbone, trainable=True).network.named_parameters()))
    learned = [dict(run.model.named_parameters())[f"backbone.network.network.{name}"] for run in runs]
    assert not torch.equal(learned[0], stem) and torch.equal(learned[0], learned[1])


def test_squashed_images_are_mirrored_with_the_sides_in_their_captions(pack: Pack, tmp_path: Path) -> None:
    words = Vocabulary.from_words(["left", "red", "right"])
    captions = [Caption(row, "red left", ("red", "left"), "train") for row in range(12)]
    sided = write_pack(tmp_path / "sided", "sided", "", pack.images[:12], captions, words, {})
    for row in range(12):
        (sided.folder / sided.images[row].file).write_bytes(pack.image_path(row).read_bytes())
    batches = Batches(sided, None, views=Views(pixels=16, flip=True, squash=True, swap=True))
    plain, seen = batches.batch(np.arange(12)), batches.batch(np.arange(12), (5, 0, 0, 0))
    assert plain.images.pixels is not None and seen.images.pixels is not None
    mirrored = [int(tokens[2]) == words.ids["right"] for tokens in seen.texts.tokens]
    assert any(mirrored) and not all(mirrored)
    assert (plain.texts.tokens[:, 2] == words.ids["left"]).all()
    for row, is_mirrored in enumerate(mirrored):
        expected = plain.images.pixels[row].float()
        found = seen.images.pixels[row].float()
        torch.testing.assert_close(found, expected.flip(2) if is_mirrored else expected, atol=1.0, rtol=0)
    again = batches.images_and_captions(np.asarray([7, 3]), np.asarray([3, 7]), (5, 0, 0, 0))
    assert torch.equal(again.texts.tokens, seen.texts.tokens[[3, 7]])


def test_a_run_with_its_own_backbone_can_be_indexed(pack: Pack, tmp_path: Path) -> None:
    """Such runs were rejected as trained without images, though they see nothing but pixels."""
    run = train_recipe(backbone_recipe(), TrainSettings(data=pack.folder, out=tmp_path / "run"))
    matcher = ta.load_matcher(run.folder)
    vectors = matcher.encode_images([pack.image_path(row) for row in range(4)])
    context = context_for(run, pack)
    with torch.no_grad():
        expected = run.model.encode_image(context.batches.images(np.arange(4))).vectors  # type: ignore[operator]
    np.testing.assert_allclose(vectors, expected.numpy(), atol=5e-3)
    index = ta.open_index(tmp_path / "index", matcher=run.folder)
    index.update(pack.folder)
    assert len(index) == len(pack.images) and index.search("a red dog", count=1)
