"""How tokens are written: with the reference's brackets, quotes and currencies."""

import re

LEFT_TO_LATEX = str.maketrans(
    {"\x91": "`", "\u2018": "`", "\u201b": "`", "\u2039": "`", "\x92": "'", "\u2019": "'", "\u203a": "'"}
    | {"\x93": "``", "\u201c": "``", "\u00ab": "``", "\x94": "''", "\u201d": "''", "\u00bb": "''"}
)
FRACTIONS = str.maketrans({"\xbc": "1/4", "\xbd": "1/2", "\xbe": "3/4", "\u2153": "1/3", "\u2154": "2/3"})
CURRENCIES = str.maketrans({"\xa2": "cents", "\xa3": "#", "\x80": "$", "\xa4": "$", "\u20a0": "$", "\u20ac": "$"})
BRACKETS = {"(": "-LRB-", ")": "-RRB-", "{": "-LCB-", "}": "-RCB-", "[": "-LSB-", "]": "-RSB-"}
PARENTHESES = str.maketrans({"(": "-LRB-", ")": "-RRB-"})


def as_is(text: str) -> str:
    return text


def without_soft_hyphens(text: str) -> str:
    return text.replace("\xad", "") or "-"


def closing_quotes(text: str) -> str:
    text = re.sub("(?ai:&apos;)", "'", text) if "&" in text else text
    return text.translate(LEFT_TO_LATEX)


def plain_ampersand(text: str) -> str:
    return re.sub("(?ai:&amp;)", "&", text)


def telephone(text: str) -> str:
    return text.replace(" ", "\xa0").translate(PARENTHESES)
