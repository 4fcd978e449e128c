"""Penn Treebank tokens as the COCO caption script makes them (lower case, without punctuation), without Java.

The tokens of most words do not depend on their neighbours and are cached. Words with digits, brackets, abbreviations
and the like go through the rules of `rules.py`, with the text that follows them.
"""

import re
from collections.abc import Iterable, Sequence

from tellapart.metrics.captions.ptb.abbreviations import INNER_ABBREVIATIONS, SENTENCE_FINAL_ABBREVIATIONS
from tellapart.metrics.captions.ptb.rules import Rule, rules
from tellapart.metrics.captions.ptb.scanner import token

PUNCTUATION = frozenset(
    ["''", "'", "``", "`", "-LRB-", "-RRB-", "-LCB-", "-RCB-", ".", "?", "!", ",", ":", "-", "--", "...", ";"]
)
# The reference ends a line at each of these, which would shift all later captions; here they are spaces.
LINE_BREAKS = re.compile("[\n\r\u2028\u2029\x0b\x0c]")
PLAIN = re.compile(r"([A-Za-z]{2,})[.,;:!?]?")
SPECIAL = frozenset(
    (
        "cannot gonna gotta lemme gimme wanna ca fig figs prop no nos art bldg pp op "
        "pte pty ppte ppty ptes ptys pptes pptys "
        f"{SENTENCE_FINAL_ABBREVIATIONS} {INNER_ABBREVIATIONS}"
    )
    .lower()
    .split()
)
DEPENDS_ON_NEXT = None


class Chunks(dict[str, str | None]):
    """Tokens of each run of non-space characters as one string; None if they depend on what follows the run."""

    def __missing__(self, chunk: str) -> str | None:
        self[chunk] = found = self.tokens(chunk)
        return found

    def tokens(self, chunk: str) -> str | None:
        """The tokens of a run, computed."""
        plain = PLAIN.fullmatch(chunk)
        if plain and (word := plain.group(1).lower()) not in SPECIAL:
            return word + " "
        if re.search(r"[0-9<&(]", chunk) or chunk.endswith((".", ":", ";", "=", "'", "\\")) or chunk == "":
            return DEPENDS_ON_NEXT
        return lex(chunk + "  ", 0, len(chunk), rules(ascii_only=True))[0]


CHUNKS = Chunks({".": ""})


def lex(text: str, start: int, stop: int, lists: dict[str, list[Rule]]) -> tuple[str, int]:
    """The tokens that begin between start and stop, each followed by a space, and the end of the last one."""
    found: list[str] = []
    while start < stop:
        printed, start = token(text, start, lists)
        printed = printed.lower()
        if printed and printed not in PUNCTUATION:
            found.append(printed + " ")
    return "".join(found), start


def _with_context(caption: str, following: str) -> str:
    """The tokens of a caption with a run whose tokens depend on the text after it."""
    text = caption + following
    lists = rules(ascii_only=text.isascii())
    if not caption.isascii():
        return lex(text, 0, len(caption), lists)[0]
    found: list[str] = []
    position = 0
    for run in re.finditer(r"\S+", caption):
        if run.start() < position:  # part of a telephone number, a fraction or a spaced ellipsis
            if run.end() > position:
                printed, position = lex(text, position, run.end(), lists)
                found.append(printed)
            continue
        printed_or_none = CHUNKS[run.group()]
        if printed_or_none is DEPENDS_ON_NEXT or run.group() == ".":
            printed, position = lex(text, run.start(), run.end(), lists)
            found.append(printed)
        else:
            found.append(printed_or_none)
            position = run.end()
    return "".join(found)


def _following(lines: Sequence[str], index: int) -> str:
    """The text that the reference reads after a caption: up to and with the next caption that is not blank."""
    following = ""
    for place in range(index + 1, len(lines)):  # a slice would copy the rest of the text for every such caption
        following += "\n" + lines[place]
        if lines[place].strip():
            return following + "\n" if place < len(lines) - 1 else following
    return following


def tokenize(captions: Iterable[str]) -> list[str]:
    """Each caption as its tokens joined by spaces, equal to the COCO script's `PTBTokenizer`.

    As in the script, captions are the lines of one file: the first word of the next caption decides whether the full
    stop of a last "U.S." or "Vitamin C." belongs to the word.

    >>> tokenize(["A man's dog (brown) can't swim.", "Two dogs, 3.5 miles from the U.S. border"])
    ["a man 's dog -lrb- brown -rrb- ca n't swim", 'two dogs 3.5 miles from the u.s. border']
    """
    lines: Sequence[str] = [LINE_BREAKS.sub(" ", caption) for caption in captions]
    found: list[str] = []
    look_up = CHUNKS.__getitem__
    for index, line in enumerate(lines):
        if line.isascii() and ". ." not in line:
            try:
                found.append("".join(map(look_up, line.split()))[:-1])  # type: ignore[arg-type]
                continue
            except TypeError:  # a run depends on its neighbours: join() found a None
                pass
        found.append(_with_context(line, _following(lines, index))[:-1])
    return found


def tokenize_groups(groups: Sequence[Sequence[str]]) -> list[list[str]]:
    """The tokenised references of each image. All are tokenised as one text, as the script does."""
    tokens = iter(tokenize(caption for group in groups for caption in group))
    return [[next(tokens) for _ in group] for group in groups]
