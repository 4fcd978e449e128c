"""The demo: draw scenes, extract, train a matcher and a captioner, evaluate both, and write a page to look at."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from tellapart.data.scenes import make_scenes
from tellapart.errors import InputError
from tellapart.evaluate import EvaluateOptions, evaluate
from tellapart.extract import ExtractOptions, extract
from tellapart.recipes import find_recipe
from tellapart.report.runs import ReportOptions, report
from tellapart.training.train import TrainSettings, train_recipe

MATCHER = (
    "base.model.embedding=256",
    "base.model.word_width=64",
    "base.epochs=14",
    "base.schedule.every=10",
    "base.optimiser.rate=1e-3",
    "base.sampling.batch=64",
    # Look-alike scenes are all hard: the hardest negative alone makes a young model give up.
    "base.objective.contrast.loss=info-nce",
    "base.objective.contrast.temperature=0.05",
    "base.objective.contrast.reduction=mean",
)
CAPTIONER = ("aa.model.hidden=256", "aa.epochs=8", "aa.optimiser.rate=1e-3", "aa.patience=0")


def demo(out: Path, count: int = 600) -> Path:
    """Everything from nothing to a report; returns the page. An earlier demo in `out` is replaced."""
    shutil.rmtree(out, ignore_errors=True)
    pack = make_scenes(out / "pack", count=count).folder
    print(f"Drew {count} scenes with five captions each into {pack}")
    extract(ExtractOptions(pack=pack, kind="vector,grid"))
    matcher, captioner = out / "matcher", out / "captioner"
    print("\nA matcher (VSE with InfoNCE): find pictures by words")
    train_recipe(find_recipe("vse++"), TrainSettings(data=pack, out=matcher, set=MATCHER))
    print("\nA captioner (AdaptiveAttention): tell what is in a picture, and show where each word looks")
    train_recipe(find_recipe("adaptive-attention"), TrainSettings(data=pack, out=captioner, set=CAPTIONER))
    for run in (matcher, captioner):
        evaluate(EvaluateOptions(run=run, data=pack))
    page = report(ReportOptions(runs=(matcher, captioner), data=pack, out=out / "report.html"))
    print("Scenes are drawn by the package: they show that everything runs, not how good it is on photos.")
    return page


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo-out"), help="folder for everything the demo makes")
    parser.add_argument("--count", type=int, default=600, help="scenes to draw")
    options = parser.parse_args()
    try:
        demo(options.out, options.count)
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
