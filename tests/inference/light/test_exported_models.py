"""The bundled models without torch: equal to torch in float32, close in int8."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import tellapart as ta
from tellapart.core.types import Images
from tellapart.inference import captioning, matching
from tellapart.inference.caption_generator import as_arrays
from tellapart.inference.light import matching as light_matching
from tellapart.inference.light.beam import beams, best_captions
from tellapart.inference.light.captioning import LightCaptioner
from tellapart.inference.light.exported_run import ExportedRun
from tellapart.inference.light.matching import LightMatcher
from tellapart.inference.light.neighbours import nearest_vectors
from tellapart.inference.neighbours import nearest
from tellapart.models.decoding import beams as torch_beams
from tellapart.runs.bundled import MODELS
from tellapart.text.word_constraints import Constraints, bad_endings

PHOTOS = 6


@pytest.fixture(scope="module")
def squares() -> list[np.ndarray]:
    """Shapes on coloured ground, at the size that the backbone reads."""
    random = np.random.default_rng(1)
    found = []
    for _ in range(PHOTOS):
        coarse = random.integers(0, 255, (7, 7, 3), np.uint8)
        found.append(np.asarray(Image.fromarray(coarse).resize((260, 260), Image.Resampling.BICUBIC)))
    return found


@pytest.fixture(scope="module")
def cells(by_torch: captioning.PhotoCaptioner, squares: list[np.ndarray]) -> Images:
    return next(iter(by_torch.extractor.extract(list(squares), PHOTOS))).images


def test_cells_are_those_of_torch(light: LightCaptioner, squares: list[np.ndarray], cells: Images) -> None:
    found = light.extractor.backbone(pixels=np.stack(squares))["cells"]
    np.testing.assert_allclose(found, cells.features.numpy(), atol=4e-3)  # those of torch were rounded to float16
    by_torch = captioning.load_captioner("bundled", "cpu", 1, "float32").extractor.backbone
    with torch.inference_mode():
        whole = by_torch.map(torch.from_numpy(np.stack(squares)).permute(0, 3, 1, 2)).flatten(2).transpose(1, 2)
    np.testing.assert_allclose(found, whole.numpy(), atol=1e-4)


def test_vectors_are_those_of_torch(cells: Images, squares: list[np.ndarray]) -> None:
    ours, theirs = (
        ta.load_matcher(device="cpu", precision="float32"),
        matching.load_matcher("bundled", "cpu", 1, "float32"),
    )
    assert isinstance(ours, LightMatcher) and ours.fingerprint == theirs.fingerprint
    assert ours.encode_images([]).shape == (0, ours.width)
    np.testing.assert_allclose(ours.encode_features(cells.features.numpy()), theirs.encode_features(cells), atol=1e-4)
    texts = ["a cat", "two dogs running on a sandy beach next to the unfathomable ocean", "Café!"]
    np.testing.assert_allclose(ours.encode_texts(texts), theirs.encode_texts(texts), atol=1e-4)
    np.testing.assert_allclose(ours.encode_images(squares), theirs.encode_images(squares), atol=2e-3)
    with pytest.raises(ta.Error, match="knows no word of ''"):
        ours.encode_texts("")


@pytest.mark.parametrize("guided", [False, True])
@pytest.mark.parametrize("width", [1, 3, 10])
def test_the_beam_is_that_of_torch(
    light: LightCaptioner, by_torch: captioning.PhotoCaptioner, cells: Images, width: int, guided: bool
) -> None:
    constraints = Constraints(no_repeat=2 if guided else 0, bad_endings=bad_endings(light.run.vocabulary))
    guide = None
    if guided:
        guide = np.random.default_rng(1).normal(size=(PHOTOS, len(light.run.vocabulary))).astype(np.float32)
    tensor = None if guide is None else torch.from_numpy(guide)
    expected = as_arrays(
        torch_beams(by_torch.generator.captioner, cells, width, max_words=12, constraints=constraints, guide=tensor)  # type: ignore[arg-type]
    )
    found = beams(light.captioner, light.captioner.start(cells.features.numpy()), width, 12, constraints, guide)
    assert found.tokens.tolist() == expected.tokens.tolist()
    np.testing.assert_allclose(found.log_probability, expected.log_probability, atol=1e-3)
    assert found.attention is not None and expected.attention is not None
    np.testing.assert_allclose(found.attention, expected.attention, atol=1e-4)


def test_the_best_caption_alone_is_the_first_of_the_beam(light: LightCaptioner, cells: Images) -> None:
    state = light.captioner.start(cells.features.numpy())
    all_of_them, best = beams(light.captioner, state, 3), best_captions(light.captioner, state, 3)
    decode = light.run.vocabulary.decode
    assert [decode(row) for row in best.tokens] == [decode(row) for row in all_of_them.tokens[::3]]
    np.testing.assert_allclose(best.log_probability, all_of_them.log_probability[::3], atol=1e-5)
    repeated = {name: np.repeat(value, 4, 0) for name, value in state.items()}
    before = {name: value.copy() for name, value in repeated.items()}
    kept = best_captions(light.captioner, repeated, 3)
    assert all(np.array_equal(value, before[name]) for name, value in repeated.items())
    changed = best_captions(light.captioner, repeated, 3, owned=True)  # images leave in another order
    assert [decode(row) for row in changed.tokens] == [decode(row) for row in kept.tokens]
    assert [decode(row) for row in kept.tokens[::4]] == [decode(row) for row in best.tokens]


def test_captions_and_captions_apart_are_those_of_torch(
    light: LightCaptioner, by_torch: captioning.PhotoCaptioner, squares: list[np.ndarray]
) -> None:
    for against in (None, squares):
        ours, theirs = (one.caption(list(squares), against=against) for one in (light, by_torch))
        for one, other in zip(ours, theirs, strict=True):
            assert (one.text, one.distinct, one.likeliest, one.sure) == (
                other.text, other.distinct, other.likeliest, other.sure,
            )  # fmt: skip
            assert one.confidence == pytest.approx(other.confidence, abs=2e-3)
            assert [d.word for d in one.differences] == [d.word for d in other.differences]


def test_the_plain_caption_is_the_same_with_and_without_others(
    light: LightCaptioner, by_torch: captioning.PhotoCaptioner, squares: list[np.ndarray]
) -> None:
    for captioner in (light, by_torch):
        plain, apart = captioner.caption(list(squares)), captioner.caption(list(squares), against=squares)
        assert [one.text for one in plain] == [one.likeliest for one in apart]


def test_int8_is_close(squares: list[np.ndarray]) -> None:
    exact = ta.load_matcher(device="cpu", precision="float32").encode_images(squares)
    rounded = ta.load_matcher(device="cpu", precision="int8").encode_images(squares)
    assert (exact * rounded).sum(1).min() > 0.97
    alone = ta.load_matcher(device="cpu", precision="int8").encode_images(squares[0])
    np.testing.assert_allclose(alone[0], rounded[0], atol=1e-5)  # does not depend on the other images


def test_captions_are_judged_in_int8_and_queries_encoded_in_float32() -> None:
    captions = [
        "a cat",
        "two dogs running on a sandy beach next to the ocean",
        "a man riding a wave on a surfboard",
        "?",
    ]
    exact, rounded = (ta.load_matcher(device="cpu", precision=precision) for precision in ("float32", "int8"))
    assert isinstance(exact, LightMatcher) and isinstance(rounded, LightMatcher)
    np.testing.assert_array_equal(rounded.encode_texts(captions[:3]), exact.encode_texts(captions[:3]))
    judged = rounded.caption_vectors(captions)
    alike = (judged * exact.caption_vectors(captions)).sum(1)
    assert alike.min() > 0.99 and alike.max() < 1 - 1e-5
    alone = LightMatcher(rounded.run, precision="int8").caption_vectors(captions[1:2])
    np.testing.assert_allclose(alone[0], judged[1], atol=1e-5)  # does not depend on the other captions


def test_a_matcher_without_an_int8_graph_judges_in_float32(tmp_path: Path) -> None:
    shutil.copytree(MODELS / "matcher", tmp_path / "matcher")
    (tmp_path / "matcher" / "text-int8.onnx").unlink()
    rounded = LightMatcher(ExportedRun(tmp_path / "matcher"), precision="int8")
    np.testing.assert_array_equal(rounded.caption_vectors(["a cat"]), rounded.encode_texts(["a cat"]))


def test_neighbours_are_those_of_torch() -> None:
    random = np.random.default_rng(0)
    own, among = random.normal(size=(3, 5)).astype(np.float32), random.normal(size=(9, 5)).astype(np.float32)
    among[4] = own[1] * 2  # a copy

    def images(rows: np.ndarray) -> Images:
        return Images(torch.from_numpy(rows).unsqueeze(1), torch.ones(len(rows), 1, dtype=torch.bool))

    expected = nearest(images(own), images(among), 8).tolist()
    assert nearest_vectors(own, among, 8).tolist() == expected and 4 not in expected[1]


def test_unreadable_files_are_named(tmp_path: Path, squares: list[np.ndarray]) -> None:
    (tmp_path / "broken.jpg").write_bytes(b"not a photo")
    Image.fromarray(squares[0]).save(tmp_path / "good.png")
    captioner = ta.load_captioner(device="cpu")
    broken, good = captioner.stream([tmp_path / "broken.jpg", tmp_path / "good.png"])
    assert isinstance(broken, ta.UnreadableImage) and "broken.jpg" in str(broken)
    assert isinstance(good, ta.Caption) and good.image == str(tmp_path / "good.png")
    with pytest.raises(ta.Error, match=r"broken\.jpg"):
        captioner.caption(tmp_path / "broken.jpg")


def test_nouns_are_lit_where_torch_lights_them(
    light: LightCaptioner, by_torch: captioning.PhotoCaptioner, squares: list[np.ndarray]
) -> None:
    """The page and `caption --attention` show the same attention without torch: over 18 x 18 cells."""
    for against in (None, squares):
        ours, theirs = (
            [caption.attention for caption in one.caption(squares[2:], against=against, attention=True)]
            for one in (light, by_torch)
        )
        assert any(True in one.nouns for one in ours if one)
        for one, other in zip(ours, theirs, strict=True):
            assert one is not None and other is not None and len(one.boxes) == 18 * 18
            assert one.words == other.words and one.nouns == other.nouns
            np.testing.assert_allclose(one.boxes, other.boxes, atol=1e-6)
            np.testing.assert_allclose(one.weights, other.weights, rtol=0.02, atol=1e-4)  # cells are kept as float16


def test_many_batches_in_threads_give_the_captions_of_one(light: LightCaptioner, squares: list[np.ndarray]) -> None:
    """Batches are captioned by several threads; order and captions stay those of a single batch."""
    whole = light.caption(squares, against=squares)
    parts = light.caption(squares, against=squares, batch_size=1)
    assert [(one.text, one.distinct) for one in parts] == [(one.text, one.distinct) for one in whole]


def test_vectors_of_captions_are_remembered(light: LightCaptioner, monkeypatch: pytest.MonkeyPatch) -> None:
    assert light.judge is not None
    matcher = LightMatcher(light.judge.run, precision="float32")
    monkeypatch.setattr(light_matching, "REMEMBERED", 3)
    read: list[int] = []
    encode = matcher.encoder.encode_captions

    def counted(texts: list[str]) -> np.ndarray:
        read.append(len(texts))
        return encode(texts)

    monkeypatch.setattr(matcher.encoder, "encode_captions", counted)
    first = matcher.caption_vectors(["a cat", "a dog", "a cat"])
    again = matcher.caption_vectors(["a dog", "a bird", "a cat"])
    matcher.caption_vectors(["a boat", "a cat"])  # too many: only the latest are kept
    assert read == [2, 1, 1] and matcher.caption_vectors([]).shape == (0, matcher.width)
    np.testing.assert_array_equal(again[[2, 0]], first[:2])
    np.testing.assert_allclose(again, encode(["a dog", "a bird", "a cat"]), atol=1e-5)
    matcher.caption_vectors(["a cat"])
    assert read[-1] == 1
