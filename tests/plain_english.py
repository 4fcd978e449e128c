"""The words that the project does not use, and a search for them: `python tests/plain_english.py PATHS`.

The glossary is one word for one thing. Each pattern carries the word to write instead. An underscore ends a word, so
that identifiers are searched like prose.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SUFFIXES = {".py", ".md", ".html", ".js", ".css", ".ipynb"}
SKIPPED = {
    "results.md",
    "sample-captions.md",
    "look-alikes-by-eye.md",
    "old_names.py",
    "plain_english.py",
    "test_plain_english.py",
}
"""Pages that quote stored results and generated captions, the table of former names, and this list."""

_COUNTED = r"image|photo|epoch|row|line|word|caption|sentence|step|token|class|split|run|cell|region|batch|stage"
_NOT_A_NOUN = r"(?!of|for|in|with|to|from|as|is|on|by|at|and|or|than|per|about|over|before|after|has|where|when|if)"

WORDS: dict[str, str] = {
    r"mend(s|ed|ing)?": "edit, fix",
    r"reckon(s|ed|ing)?": "compute, estimate",
    r"(how|than) the house|house style": "architecture, overview",
    r"(every|each|this|that|its|own) rooms?|rooms? (on|of the|may|knows?|below|above)": "package",
    r"leads? nowhere": "invalid path, broken link",
    r"match(es|ed)? nothing": "unknown name",
    r"there is no such": "unknown, invalid, not found",
    r"gaz(e|es|ed|ing)": "attention",
    r"glanc(e|es|ed|ing)": "attention",
    r"(go|goes|gone|going|went) on (with|from|where|learning|training|as)|goes on|gone on": "resume, continue",
    r"told(?! apart)": "describe, report, show",
    r"anew|its kin|their kin": "again, similar ones",
    r"refus(e|es|ed|al|als|ing)": "reject, raise",
    r"(if|when|where) left out|left out:": "default",
    r"words said": "generated words",
    r"speaks? of|spoken": "mention, name, caption",
    r"looks? at|looked at|looking at": "attend to, read, encode, check",
    r"pictures?": "image",
    r"of its own": "separate, own",
    r"what people see": "image, view",
    r"beside it": "next to it",
    r"with a sentence(?! \w+coder)|gets? a sentence": "an error that says what to do",
    r"desk|looker|teller": "the name in DESIGN.md",
    rf"(one|two|three|five|a|\d[\d,.]*)( {_NOT_A_NOUN}[a-z]+)? (?<!such )an? ({_COUNTED})": "per",
}
"""Pattern, and what to write instead."""

ALLOWED = (
    r"https?://\S+",
    r"[\"'`]?pictures?\.(jsonl|lance)[\"'`]?",  # names of files and tables on disk
    r"[\"'`]pictures?(_\w+)?[\"'`]",  # keys of stored JSON, former names of fields
    r"captions_a_picture|1 a picture",  # names in stored reports and packs
    r"pictures-rebuilt|→ pictures|\| pictures(?= \|)",  # stages of R2M, whose names are part of stored hashes
    r"loss_pictures|pictures\.(evaluation|monitor)",  # settings and values of these stages
    r"what=pictures|\"a picture\"",  # a former value that is still read, and a baseline's caption
    r"such an? \w+",
)
"""Stripped from a line before the search."""

_ALLOWED = re.compile("|".join(ALLOWED), re.IGNORECASE)
_PATTERNS = [
    (re.compile(rf"(?<![A-Za-z]){pattern}(?![A-Za-z])".replace(" ", "[ _]"), re.IGNORECASE), instead)
    for pattern, instead in ((f"(?:{pattern})", instead) for pattern, instead in WORDS.items())
]


class Hit(NamedTuple):
    """One banned word: where it is, and what to write."""

    path: Path
    line: int
    found: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.found!r} (write: {self.instead})"


def hits_in_text(text: str, path: Path) -> Iterator[Hit]:
    """The banned words of a text, line by line."""
    for number, line in enumerate(text.splitlines(), start=1):
        searched = _ALLOWED.sub("", line)
        for pattern, instead in _PATTERNS:
            for match in pattern.finditer(searched):
                yield Hit(path, number, match.group(), instead)


def files_below(paths: list[Path]) -> Iterator[Path]:
    """The files to search: those named, and those below the folders named."""
    for path in paths:
        below = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (file for file in below if file.suffix in SUFFIXES and file.name not in SKIPPED)


def hits(paths: list[Path]) -> list[Hit]:
    """The banned words of files and folders."""
    return [hit for file in files_below(paths) for hit in hits_in_text(file.read_text(encoding="utf-8"), file)]


if __name__ == "__main__":
    found = hits([Path(name) for name in sys.argv[1:]] or [Path("src"), Path("docs"), Path("README.md")])
    print("\n".join(map(str, found)))
    sys.exit(bool(found))
