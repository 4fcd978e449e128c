"""The command line: a dict of verbs. Each verb is a frozen dataclass of options and a function that takes it."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from typing import Any

from tellapart.core.errors import Error

Verb = tuple[type, Callable[[Any], Any]]


def _prepare() -> Verb:
    from tellapart.cli.prepare import PrepareOptions, prepare

    return PrepareOptions, prepare


def _annotate() -> Verb:
    from tellapart.cli.annotate import AnnotateOptions, annotate

    return AnnotateOptions, annotate


def _join() -> Verb:
    from tellapart.cli.join import JoinOptions, join

    return JoinOptions, join


def _extract() -> Verb:
    from tellapart.cli.extract import ExtractOptions, extract

    return ExtractOptions, extract


def _train() -> Verb:
    from tellapart.cli.train import TrainOptions, train

    return TrainOptions, train


def _evaluate() -> Verb:
    from tellapart.cli.evaluate import EvaluateOptions, evaluate

    return EvaluateOptions, evaluate


def _caption() -> Verb:
    from tellapart.cli.caption import CaptionOptions, caption

    return CaptionOptions, caption


def _reproduce() -> Verb:
    from tellapart.cli.reproduce import ReproduceOptions, reproduce

    return ReproduceOptions, reproduce


def _recipes() -> Verb:
    from tellapart.cli.recipes import RecipesOptions, recipes

    return RecipesOptions, recipes


def _score() -> Verb:
    from tellapart.cli.score import ScoreOptions, score

    return ScoreOptions, score


def _report() -> Verb:
    from tellapart.cli.report import ReportOptions, report

    return ReportOptions, report


def _index() -> Verb:
    from tellapart.cli.index import IndexOptions, index

    return IndexOptions, index


def _search() -> Verb:
    from tellapart.cli.index import SearchOptions, search

    return SearchOptions, search


def _serve() -> Verb:
    from tellapart.cli.serve import ServeOptions, serve

    return ServeOptions, serve


VERBS: dict[str, tuple[Callable[[], Verb], str]] = {
    "prepare": (_prepare, "images and captions into a pack"),
    "annotate": (_annotate, "nouns, object words, concepts and sentence targets into a pack"),
    "join": (_join, "images and sentences that do not belong together into one pack"),
    "extract": (_extract, "a pack's images into features"),
    "train": (_train, "a recipe on a pack, into a run folder"),
    "evaluate": (_evaluate, "a run on a split of a pack"),
    "caption": (_caption, "photos into sentences, each telling its photo apart from others if asked to"),
    "index": (_index, "folders of photos into an index to search"),
    "search": (_search, "an index by words, by images, or by both"),
    "serve": (_serve, "search an index in the browser, describe photos, edit captions"),
    "recipes": (_recipes, "list the recipes with paper, command and expected figures"),
    "report": (_report, "an HTML page of figures, curves and examples of runs"),
    "reproduce": (_reproduce, "a paper's table on your data, beside its published figures"),
    "score": (_score, "captions against references, or metrics against people"),
}


def usage() -> str:
    width = max(len(verb) for verb in VERBS)
    lines = [f"  {verb.ljust(width)}  {line}" for verb, (_, line) in VERBS.items()]
    return "\n".join(
        [
            "usage: tellapart VERB [options]",
            "",
            "Learns from captioned images to find, tell and show.",
            "",
            *lines,
            "",
            "`tellapart VERB --help` says what a verb takes.",
        ]
    )


def main(arguments: list[str] | None = None) -> int:
    """Run one verb. Returns 0, 1 for input that cannot be used, 2 for a wrong call."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if arguments else 2
    if arguments[0] == "--version":
        from importlib.metadata import version

        print(version("tellapart"))
        return 0
    if arguments[0] not in VERBS:
        print(f"tellapart: there is no verb '{arguments[0]}'.\n\n{usage()}", file=sys.stderr)
        return 2
    import tyro

    load, _ = VERBS[arguments[0]]
    options, function = load()
    try:
        function(tyro.cli(options, prog=f"tellapart {arguments[0]}", args=arguments[1:]))
    except Error as error:
        from tellapart.cli.errors import for_command_line, option_names

        print(f"tellapart {arguments[0]}: {for_command_line(error, option_names(options))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"tellapart {arguments[0]}: interrupted; what was finished is kept.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Whoever read our lines has had enough (`tellapart … | head`): what is left to say goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        if error.errno is None or isinstance(error, ConnectionError | TimeoutError):  # nothing that a file could do
            raise
        what = f"{error.filename} cannot be read or written" if error.filename else "A file cannot be read or written"
        print(f"tellapart {arguments[0]}: {what} ({error.strerror}); mend that or name another place.", file=sys.stderr)
        return 1
    return 0


def run() -> None:
    """What the installed `tellapart` command calls."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a name that the terminal cannot show is no reason to stop
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(main())


if __name__ == "__main__":
    run()
