"""METEOR's tokenisation (its `-norm` option for English), applied to captions before scoring."""

import re
from collections.abc import Mapping

ALPHA = "A-Za-zŠŽšžŸÀ-ÖØ-öø-žЀ-ӿԀ-ԧꙀ-ꙮ꙾-ꚗᴀ-ᵿ"
ALNUM = "0-9" + ALPHA
ANY_PREFIX, BEFORE_NUMBER = 1, 2

SEPARATE = re.compile(rf"([^{ALNUM}\s.'`,\-‘’])", re.ASCII)
DOTS = re.compile(r"\.(\.+)")
COMMAS = [re.compile(pattern) for pattern in (r"([^0-9]),([^0-9])", r"([0-9]),([^0-9])", r"([^0-9]),([0-9])")]
DASH = re.compile(rf"([{ALNUM}.])-([{ALNUM}])")
APOSTROPHES = [
    (re.compile(rf"([^{ALPHA}])'([^{ALPHA}])"), r"\1 ' \2"),
    (re.compile(rf"([^{ALPHA}0-9])'([{ALPHA}])"), r"\1 ' \2"),
    (re.compile(rf"([{ALPHA}])'([^{ALPHA}])"), r"\1 ' \2"),
    (re.compile(rf"([{ALPHA}])'([{ALPHA}])"), r"\1 '\2"),
    (re.compile(r"([0-9])'(s)"), r"\1 '\2"),
]
BLANKS = " \t\n\r\x0c"
WIDE_BLANKS = re.compile("[ \xa0\u2000-\u200a\u202f\u205f\u3000]+")
LETTER = re.compile(f"[{ALPHA}]")
# Words whose tokens do not depend on their neighbours: no full stop, comma or open apostrophe.
ALONE = re.compile(r"[a-z0-9'\-]*[a-z0-9\-]")


class _Alone(dict[str, str | None]):
    """Tokens of single words, joined by spaces; None for words whose tokens depend on their neighbours."""

    def __missing__(self, word: str) -> str | None:
        self[word] = found = None if ALONE.fullmatch(word) is None else _normalize_line(word, {})
        return found


ALONE_WORDS = _Alone()


def normalize(caption: str, prefixes: Mapping[str, int]) -> str:
    """METEOR's tokens of a caption, in lower case; `prefixes` are abbreviations that keep their full stop.

    >>> normalize("a man 's t-shirt", {})
    "a man ' s t shirt"
    """
    try:
        return " ".join(map(ALONE_WORDS.__getitem__, caption.split(" ")))  # type: ignore[arg-type]
    except TypeError:  # join() found a None
        return _normalize_line(caption, prefixes)


def _normalize_line(caption: str, prefixes: Mapping[str, int]) -> str:
    line = SEPARATE.sub(r" \1 ", f" {caption} ")
    # A run of n > 1 stops becomes one word that no later rule touches.
    line = DOTS.sub(lambda run: f" {'DOT' * len(run.group(1))}MULTI ", line)
    for pattern in COMMAS:
        line = pattern.sub(r"\1 , \2", line)
    line = re.sub("[`‘’]", "'", line)
    line = re.sub("[“”]|''", ' " ', line)
    line = line.replace("–", "-").replace("--", "-")
    line = DASH.sub(r"\1 \2", line)
    for pattern, replacement in APOSTROPHES:
        line = pattern.sub(replacement, line)
    words = re.split(f"[{BLANKS}]+", line.strip(BLANKS))
    found: list[str] = []
    for word, following in zip(words, [*words[1:], ""]):
        found.extend(_split_stop(word, following, prefixes))
    line = " ".join(found)
    line = re.sub("(?:DOT)+MULTI", lambda run: "." * (run.group().count("DOT") + 1), line)
    line = WIDE_BLANKS.sub(" ", line).lower()
    return " ".join(word for word in re.split(f"[{BLANKS}]+", line) if word)


def _split_stop(word: str, following: str, prefixes: Mapping[str, int]) -> list[str]:
    """The word with its final full stop split off, unless it is an abbreviation or a lower-case letter follows."""
    if len(word) < 2 or not word.endswith("."):
        return [word]
    before = word[:-1]
    if "." in before and LETTER.search(before):
        return [word.replace(".", "")]  # U.S. -> US
    kind = prefixes.get(before)
    keep = (
        kind == ANY_PREFIX or re.match("[a-z]", following) or (kind == BEFORE_NUMBER and re.match("[0-9]", following))
    )
    return [word] if keep else [before, "."]
