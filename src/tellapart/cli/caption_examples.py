"""`python -m tellapart.cli.caption_examples`: captions of the same images by several rows of a table, as Markdown.

    python -m tellapart.cli.caption_examples contrastive-captioning/table1 --rows AA "AA + CL" --data PACK \
        --cache measured --out docs/contrastive-captioning-figure2.md

It reads captions that `reproduce` stored, so that no model is needed. Images are drawn at random, not chosen.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tellapart.cli.errors import exit_code
from tellapart.core.files import write_text
from tellapart.data.pack import Pack
from tellapart.papers.tables import find_tables
from tellapart.reproduce.cache import Cache
from tellapart.reproduce.caption_examples import caption_examples, examples_as_markdown


def main(arguments: list[str] | None = None) -> int:
    """Write the page; returns 1 if it cannot be made."""
    chosen = _parser().parse_args(arguments)

    def write() -> None:
        (table,) = find_tables([chosen.table])
        pack = Pack(chosen.data)
        found = caption_examples(
            table,
            chosen.rows,
            Cache(chosen.cache),
            pack,
            count=chosen.count,
            seed=chosen.seed,
            references=chosen.references,
        )
        title = chosen.title or f"{table.name} on {pack.manifest['name']}, seed {chosen.seed}"
        write_text(chosen.out, examples_as_markdown(found, title))
        print(chosen.out)

    return exit_code(write)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tellapart.cli.caption_examples",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("table", help="name of a table")
    parser.add_argument(
        "--rows", nargs="+", required=True, metavar="ROW", help="rows to compare, the first with the last"
    )
    parser.add_argument("--data", type=Path, required=True, help="the pack that the runs were tested on")
    parser.add_argument("--cache", type=Path, required=True, help="folder of results")
    parser.add_argument("--out", type=Path, required=True, help="the page to write")
    parser.add_argument("--count", type=int, default=8, help="examples per section")
    parser.add_argument("--seed", type=int, default=0, help="seed of the runs")
    parser.add_argument("--references", action="store_true", help="show a caption of the data set, too")
    parser.add_argument("--title", default="", help="heading of the page")
    return parser


if __name__ == "__main__":
    sys.exit(main())
