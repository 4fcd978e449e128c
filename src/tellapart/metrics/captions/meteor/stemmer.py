"""The Snowball stemmer for English (Porter's second algorithm), which METEOR uses to match word forms."""

import re
from functools import lru_cache

IRREGULAR = {
    "skis": "ski",
    "skies": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "idly": "idl",
    "gently": "gentl",
    "ugly": "ugli",
    "early": "earli",
    "only": "onli",
    "singly": "singl",
} | {word: word for word in ("sky", "news", "howe", "atlas", "cosmos", "bias", "andes")}
UNCHANGED_AFTER_PLURAL = frozenset(
    ["inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"]
)
VOWEL = re.compile("[aeiouy]")
REGION = re.compile("[aeiouy][^aeiouy]", re.DOTALL)
SHORT_SYLLABLE = re.compile("(?:[^aeiouy][aeiouy][^aeiouywxY]|^[aeiouy][^aeiouy])$", re.DOTALL)
STEP_2 = {
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "abli": "able",
    "entli": "ent",
    "izer": "ize",
    "ization": "ize",
    "ational": "ate",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "aliti": "al",
    "alli": "al",
    "fulness": "ful",
    "ousli": "ous",
    "ousness": "ous",
    "iveness": "ive",
    "iviti": "ive",
    "biliti": "ble",
    "bli": "ble",
    "ogi": "og",
    "fulli": "ful",
    "lessli": "less",
    "li": "",
}
STEP_3 = {
    "tional": "tion",
    "ational": "ate",
    "alize": "al",
    "icate": "ic",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
    "ative": "",
}
STEP_4 = [
    *["al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ism", "ate", "iti"],
    *["ous", "ive", "ize", "ion"],
]


def _ending(word: str, endings: list[str]) -> str:
    """The longest of the endings the word has, or nothing."""
    return next((ending for ending in endings if word.endswith(ending)), "")


def _longest_first(endings: list[str] | dict[str, str]) -> list[str]:
    return sorted(endings, key=len, reverse=True)


ENDINGS_2, ENDINGS_3, ENDINGS_4 = _longest_first(STEP_2), _longest_first(STEP_3), _longest_first(STEP_4)


def _regions(word: str) -> tuple[int, int]:
    """Where R1 and R2 begin: after the first non-vowel that follows a vowel, and the same again inside R1."""
    special = re.match("gener|commun|arsen", word)
    first = special.end() if special else len(word)
    if special is None and (found := REGION.search(word)):
        first = found.end()
    second = REGION.search(word, first)
    return first, second.end() if second else len(word)


def _plural(word: str) -> str:
    word = word[: len(word) - len(_ending(word, ["'s'", "'s", "'"]))]
    ending = _ending(word, ["sses", "ied", "ies", "us", "ss", "s"])
    if ending == "sses":
        return word[:-2]
    if ending in ("ied", "ies"):
        return word[:-2] if len(word) > 4 else word[:-1]
    if ending == "s" and VOWEL.search(word[:-2]):
        return word[:-1]
    return word


def _past_and_gerund(word: str, first: int) -> str:
    ending = _ending(word, ["eedly", "ingly", "edly", "eed", "ing", "ed"])
    base = word[: len(word) - len(ending)]
    if ending in ("eed", "eedly"):
        return base + "ee" if len(base) >= first else word
    if ending == "" or not VOWEL.search(base):
        return word
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if base.endswith(("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt")):
        return base[:-1]
    if len(base) <= first and SHORT_SYLLABLE.search(base):
        return base + "e"
    return base


def _derived(word: str, first: int, second: int) -> str:
    ending = _ending(word, ENDINGS_2)
    base = word[: len(word) - len(ending)]
    allowed = {"ogi": ("l",), "li": tuple("cdeghkmnrt")}.get(ending, ("",))
    if ending and len(base) >= first and base.endswith(allowed):
        word = base + STEP_2[ending]
    ending = _ending(word, ENDINGS_3)
    base = word[: len(word) - len(ending)]
    if ending and len(base) >= (second if ending == "ative" else first):
        word = base + STEP_3[ending]
    ending = _ending(word, ENDINGS_4)
    base = word[: len(word) - len(ending)]
    if ending and len(base) >= second and (ending != "ion" or base.endswith(("s", "t"))):
        word = base
    return word


@lru_cache(maxsize=1 << 17)
def stem(word: str) -> str:
    """The stem of a lower-case English word.

    >>> [stem(word) for word in ("running", "happily", "dogs", "generation", "skies")]
    ['run', 'happili', 'dog', 'generat', 'sky']
    """
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) < 3:
        return word
    word = word.removeprefix("'")
    if word.startswith("y"):
        word = "Y" + word[1:]
    word = re.sub("([aeiouy])y", r"\1Y", word)
    first, second = _regions(word)
    word = _plural(word)
    if word not in UNCHANGED_AFTER_PLURAL:
        word = _past_and_gerund(word, first)
        if len(word) > 2 and word[-1] in "yY" and word[-2] not in "aeiouy":
            word = word[:-1] + "i"
        word = _derived(word, first, second)
        if word.endswith("e"):
            base = word[:-1]
            if len(base) >= second or (len(base) >= first and not SHORT_SYLLABLE.search(base)):
                word = base
        elif word.endswith("ll") and len(word) - 1 >= second:
            word = word[:-1]
    return word.replace("Y", "y")
