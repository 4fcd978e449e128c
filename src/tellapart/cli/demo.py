"""The demo: draw scenes, extract features, train and evaluate a matcher and a captioner, and write a report.

Then the bundled models caption and index real photos, and the demo prints the address of the search page.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from tellapart.cli.errors import exit_code
from tellapart.cli.evaluate import EvaluateOptions, evaluate
from tellapart.cli.extract import ExtractOptions, extract
from tellapart.cli.index import IndexOptions, index
from tellapart.cli.report import ReportOptions, report
from tellapart.cli.samples import EVERYDAY, sample_captions, sample_photos
from tellapart.cli.serve import ServeOptions
from tellapart.core.progress import Progress
from tellapart.data.scenes import make_scenes
from tellapart.papers.recipes import find_recipe
from tellapart.runs.bundled import NAMES, is_bundled
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe

MATCHER = (
    "base.model.embedding=256",
    "base.model.word_width=64",
    "base.epochs=14",
    "base.schedule.every=10",
    "base.optimiser.lr=1e-3",
    "base.sampling.batch=64",
    # Similar scenes are all hard negatives: training on the hardest one alone does not converge.
    "base.objective.contrast.loss=info-nce",
    "base.objective.contrast.temperature=0.05",
    "base.objective.contrast.reduction=mean",
)
CAPTIONER = ("aa.model.hidden=256", "aa.epochs=8", "aa.optimiser.lr=1e-3", "aa.patience=0")


def demo(out: Path, count: int = 600) -> Path:
    """Draw, train, evaluate and report; returns the page. An earlier demo in `out` is replaced."""
    shutil.rmtree(out, ignore_errors=True)
    pack = make_scenes(out / "pack", count=count).folder
    print(f"Drew {count} scenes with five captions each into {pack}")
    extract(ExtractOptions(pack=pack, kind="vector,grid"))
    matcher, captioner = out / "matcher", out / "captioner"
    print("\nA matcher (VSE with InfoNCE): find images by text")
    train_recipe(find_recipe("vse++"), TrainSettings(data=pack, out=matcher, set=MATCHER), Progress())
    print("\nA captioner (AdaptiveAttention): caption images, and show the attention of each word")
    train_recipe(find_recipe("adaptive-attention"), TrainSettings(data=pack, out=captioner, set=CAPTIONER), Progress())
    for run in (matcher, captioner):
        evaluate(EvaluateOptions(run=run, data=pack))
    page = report(ReportOptions(runs=(matcher, captioner), data=pack, out=out / "report.html"))
    print("The scenes are drawn: they show that everything runs, not how good it is on photos.")
    return page


def photos_demo(out: Path) -> str | None:
    """Caption and index the sample photos of scikit-image with the bundled models.

    Returns the address of the page that `serve` shows; None if this installation has no bundled models.
    """
    absent = [name for name in NAMES[:2] if not is_bundled(name)]
    if absent:
        print(f"No photos are captioned: this installation has no bundled {' or '.join(absent)}.")
        return None
    folder, index_ = out / "photos", out / "photos.index"
    folder.mkdir(parents=True)
    photos = [Path(shutil.copy(photo, folder)) for photo in sample_photos(list(EVERYDAY))]
    print("\nReal photos, captioned by the bundled captioner:")
    for photo, caption in zip(photos, sample_captions(photos)):
        print(f"  {photo.name.partition('.')[0]:16} {caption}" + (" (not sure)" if caption.sure is False else ""))
    index(IndexOptions((str(folder),), str(index_), progress=False))
    page = ServeOptions(str(index_))
    address = f"http://{page.host}:{page.port}/"
    print(f"\nTo search them in the browser: `{_command()} serve {index_}`, then open {address}")
    return address


def _command() -> str:
    """The command line to type here, whether or not its environment is active."""
    beside = Path(sys.executable).with_name("tellapart")
    if not beside.is_file():
        return "python -m tellapart"
    return os.path.relpath(beside) if beside.is_relative_to(Path.cwd()) else str(beside)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo-out"), help="folder for all results")
    parser.add_argument("--count", type=int, default=600, help="scenes to draw")
    options = parser.parse_args()
    return exit_code(lambda: (demo(options.out, options.count), photos_demo(options.out)))


if __name__ == "__main__":
    sys.exit(main())
