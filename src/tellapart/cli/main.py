"""The command line. The verb `score`, for example, is `cli/score.py`: its ScoreOptions and its function `score`."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Callable
from typing import Any

from tellapart.cli.errors import for_command_line, option_names
from tellapart.core.errors import Error
from tellapart.core.suggestions import did_you_mean

TRAINING = ("torch", "matplotlib")
"""Packages that only the extra `train` installs."""
VERBS: dict[str, str] = {
    "prepare": "read images and captions into a pack",
    "annotate": "add nouns, object words, concepts or sentence targets to a pack",
    "join": "join images and unrelated sentences into one pack",
    "extract": "extract features of the images of a pack",
    "train": "train a recipe on a pack, into a run folder",
    "evaluate": "evaluate a run on a split of a pack",
    "caption": "generate captions for photos, distinct from other photos if asked",
    "alt-text": "propose alternative texts for the images of HTML and Markdown files",
    "index": "index folders of photos for search",
    "search": "search an index by text, by images, or by both",
    "serve": "search an index in the browser, describe photos, edit captions",
    "write-captions": "write the captions of an index into photos or sidecars",
    "export-edits": "write the captions that people wrote into a file",
    "import-edits": "read captions that people wrote into an index",
    "backup": "write an index into one file",
    "restore": "read an index from a backup",
    "recipes": "list the recipes with paper, command and expected metrics",
    "check": "check that packs, features, runs and indexes are as they were saved",
    "export": "write a run's model in the hub's format, or as ONNX graphs",
    "report": "write an HTML page of metrics, curves and examples of runs",
    "reproduce": "reproduce a table of a paper on your data",
    "score": "score captions against references, or metrics against people",
}


def load(verb: str) -> tuple[type, Callable[[Any], Any]]:
    """The options of a verb and the function that takes them; only the module of this verb is imported."""
    name = verb.replace("-", "_")
    module = importlib.import_module(f"tellapart.cli.{name}")
    return getattr(module, f"{name.title().replace('_', '')}Options"), getattr(module, name)


def usage() -> str:
    """The list of verbs."""
    width = max(map(len, VERBS))
    return "\n".join(
        [
            "usage: tellapart VERB [options]",
            "",
            "Learns from captioned images to find, tell and show.",
            "",
            *(f"  {verb.ljust(width)}  {text}" for verb, text in VERBS.items()),
            "",
            "`tellapart VERB --help` explains a verb.",
        ]
    )


def main(arguments: list[str] | None = None) -> int:
    """Run one verb. Returns 0, 1 for unusable input, 2 for a wrong call."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if arguments else 2
    if arguments[0] == "--version":
        from tellapart import __version__

        print(__version__)
        return 0
    if arguments[0] not in VERBS:
        hint = did_you_mean(arguments[0], VERBS) or f"\n\n{usage()}"
        print(f"tellapart: unknown verb '{arguments[0]}'.{hint}", file=sys.stderr)
        return 2
    return _run(arguments[0], arguments[1:])


def _run(verb: str, arguments: list[str]) -> int:
    import tyro

    try:
        options, function = load(verb)
    except ModuleNotFoundError as error:
        return _missing(verb, error)
    try:
        function(tyro.cli(options, prog=f"tellapart {verb}", args=arguments))
    except Error as error:
        print(f"tellapart {verb}: {for_command_line(error, option_names(options))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"tellapart {verb}: interrupted; finished parts are kept.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our lines has closed the pipe (`tellapart … | head`): discard the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except ModuleNotFoundError as error:
        return _missing(verb, error)
    except OSError as error:
        if error.errno is None or isinstance(error, ConnectionError | TimeoutError):  # not about a file
            raise
        what = f"{error.filename} cannot be read or written" if error.filename else "A file cannot be read or written"
        print(f"tellapart {verb}: {what} ({error.strerror}); fix that or choose another path.", file=sys.stderr)
        return 1
    return 0


def _missing(verb: str, error: ModuleNotFoundError) -> int:
    """Say which extra a verb needs; another missing module is a fault of ours."""
    if error.name not in TRAINING:
        raise error
    print(f"tellapart {verb}: this needs {error.name}; run `pip install 'tellapart[train]'`.", file=sys.stderr)
    return 1


def run() -> None:
    """Entry point of the installed `tellapart` command."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # print names that the terminal cannot show with escapes
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(main())


if __name__ == "__main__":
    run()
