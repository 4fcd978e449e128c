"""The Python API, verb for verb what the command line has: each takes a frozen dataclass of options.

from tellapart.cli.api import PrepareOptions, prepare
pack = prepare(PrepareOptions(source="photos/", out=Path("pack")))
"""

from tellapart.cli.annotate import AnnotateOptions, annotate
from tellapart.cli.caption import CaptionOptions, Captions, caption
from tellapart.cli.evaluate import EvaluateOptions, evaluate
from tellapart.cli.extract import ExtractOptions, extract
from tellapart.cli.index import IndexOptions, SearchOptions, index, search
from tellapart.cli.join import JoinOptions, join
from tellapart.cli.prepare import PrepareOptions, prepare
from tellapart.cli.recipes import RecipesOptions, recipes
from tellapart.cli.report import ReportOptions, report
from tellapart.cli.reproduce import ReproduceOptions, reproduce
from tellapart.cli.score import ScoreOptions, score
from tellapart.cli.serve import ServeOptions, serve
from tellapart.cli.train import TrainOptions, train
from tellapart.training.train import TrainSettings

__all__ = [
    "AnnotateOptions",
    "CaptionOptions",
    "Captions",
    "EvaluateOptions",
    "ExtractOptions",
    "IndexOptions",
    "JoinOptions",
    "PrepareOptions",
    "RecipesOptions",
    "ReportOptions",
    "ReproduceOptions",
    "ScoreOptions",
    "SearchOptions",
    "ServeOptions",
    "TrainOptions",
    "TrainSettings",
    "annotate",
    "caption",
    "evaluate",
    "extract",
    "index",
    "join",
    "prepare",
    "recipes",
    "report",
    "reproduce",
    "score",
    "search",
    "serve",
    "train",
]
