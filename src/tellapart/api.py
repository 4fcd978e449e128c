"""The Python API, verb for verb what the command line has: each takes a frozen dataclass of options.

from tellapart.api import PrepareOptions, prepare
pack = prepare(PrepareOptions(source="photos/", out=Path("pack")))
"""

from tellapart.caption import CaptionOptions, Captions, caption
from tellapart.data.annotate import AnnotateOptions, annotate
from tellapart.data.join import JoinOptions, join
from tellapart.data.prepare import PrepareOptions, prepare
from tellapart.evaluate import EvaluateOptions, evaluate
from tellapart.extract import ExtractOptions, extract
from tellapart.list_recipes import RecipesOptions, recipes
from tellapart.report.runs import ReportOptions, report
from tellapart.reproduce.command import ReproduceOptions, reproduce
from tellapart.score import ScoreOptions, score
from tellapart.search.commands import IndexOptions, SearchOptions, index, search
from tellapart.serve.options import ServeOptions, serve
from tellapart.train import TrainOptions, train
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
