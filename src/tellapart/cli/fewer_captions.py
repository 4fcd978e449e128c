"""`python -m tellapart.cli.fewer_captions PACK OUT --each 1`: a copy of a pack with fewer captions to learn from."""

from __future__ import annotations

import argparse
from pathlib import Path

from tellapart.data import fewer_captions
from tellapart.data.pack import Pack


def main(arguments: list[str] | None = None) -> None:
    """Write the smaller pack and print how many captions it has."""
    parser = argparse.ArgumentParser(prog="python -m tellapart.cli.fewer_captions", description=fewer_captions.__doc__)
    parser.add_argument("pack", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--each", type=int, default=1, help="captions to keep per training image")
    given = parser.parse_args(arguments)
    pack = fewer_captions.keep_captions(Pack(given.pack), given.out, given.each)
    print(f"{pack.folder}: {pack.manifest['counts']['captions']} captions")


if __name__ == "__main__":
    main()
