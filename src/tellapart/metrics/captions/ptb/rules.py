"""The rules of Penn Treebank tokenisation, as the COCO caption script runs them: longest match, earliest rule on ties.

The reference is a scanner. At each position it tries every rule; the longest match (with look-ahead) wins, and on a tie
the first rule. Here each rule is a regular expression whose first group is the token and whose rest is look-ahead.
Literal words match in either case, character classes as written. Rules are grouped by the kind of a token's first
character, so that few are tried at a position.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from tellapart.metrics.captions.ptb.abbreviations import (
    INNER_ABBREVIATIONS,
    SENTENCE_FINAL_ABBREVIATIONS,
    SENTENCE_STARTERS,
)
from tellapart.metrics.captions.ptb.characters import Classes

SINGLE_QUOTES = "`\u2018\u2019\u201a\u201b\u201c\u201d\x91\x92\x93\x94\u201e\u201f\u2039\u203a\u00ab\u00bb"
LEFT_TO_LATEX = str.maketrans(
    {"\x91": "`", "\u2018": "`", "\u201b": "`", "\u2039": "`", "\x92": "'", "\u2019": "'", "\u203a": "'"}
    | {"\x93": "``", "\u201c": "``", "\u00ab": "``", "\x94": "''", "\u201d": "''", "\u00bb": "''"}
)
FRACTIONS = str.maketrans({"\xbc": "1/4", "\xbd": "1/2", "\xbe": "3/4", "\u2153": "1/3", "\u2154": "2/3"})
CURRENCIES = str.maketrans({"\xa2": "cents", "\xa3": "#", "\x80": "$", "\xa4": "$", "\u20a0": "$", "\u20ac": "$"})
BRACKETS = {"(": "-LRB-", ")": "-RRB-", "{": "-LCB-", "}": "-RCB-", "[": "-LSB-", "]": "-RSB-"}
PARENTHESES = str.maketrans({"(": "-LRB-", ")": "-RRB-"})

SYMBOLS = (
    r"[+%&~^|\\\xa6\xa7\xa8\xa9\xac\xae\xaf\xb0-\xba\xd7\xf7\u0387\u05be\u05c0\u05c3\u05c6\u05f3\u05f4\u0600-\u0603"
    r"\u0606-\u060a\u060c\u0614\u061b\u061e\u066a\u066d\u0703-\u070d\u07f6-\u07f8\u0964\u0965\u0e4f\u1fbd\u2016\u2017"
    r"\u2020-\u2023\u2030-\u2038\u203b\u203e-\u2042\u2044\u207a-\u207f\u208a-\u208e\u2100-\u214f\u2190-\u2bff\u3012"
    r"\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"
)


def _word_alternatives(words: str) -> str:
    """A pattern for the words in either case; a leading capital in the list requires a capital."""
    parts = [
        f"[{word[0]}](?ai:{re.escape(word[1:])})" if word[0].isupper() else f"(?ai:{re.escape(word)})"
        for word in sorted(words.split(), key=len, reverse=True)
    ]
    return "(?:" + "|".join(parts) + ")"


APOSTROPHE = "(?:['\x92\u2019]|(?ai:&apos;))"
ANY_APOSTROPHE = "(?:['\x92\u2019`\x91\u2018\u201b]|(?ai:&apos;))"
CLITIC = f"{APOSTROPHE}(?:[msdMSD]|(?ai:re|ve|ll))"
NEGATION = f"(?ai:n){ANY_APOSTROPHE}(?ai:t)"
SPACE = "[ \t\xa0\u2000-\u200a\u3000]"
BLANK = "(?:[ \t\xa0\u2000-\u200a\u3000\n\u2028\u2029\x0b\x0c\x85]|\r\n?)"
NAME = r"[A-Za-z][A-Za-z0-9_:.\-]*"
MARKUP = rf"<(?:[!?][A-Za-z\-][^>\r\n]*|{NAME}(?:[ ]+{NAME}(?:[ ]*=[ ]*(?:'[^']*'|\"[^\"]*\"))?)*[ ]*/?|/{NAME})[ ]*>"
DOTTED_COUNTRY = r"(?:(?ai:canada|sino|korean|eu|japan|non)-(?ai:u\.s)|(?ai:u\.s\.-(?:u\.s\.s\.r|u\.k)))"
DOTTED = rf"(?:{DOTTED_COUNTRY}|[A-Za-z](?:\.[A-Za-z])*)"
DOTTED_TWO = rf"(?:{DOTTED_COUNTRY}|[A-Za-z](?:\.[A-Za-z])+)"
HYPHENED = rf"[A-Za-z0-9][A-Za-z0-9.,\xad]*(?:-(?:{DOTTED_TWO}\.|[A-Za-z0-9\xad]+))+"
JOINED_CAPITALS = r"[A-Z]+(?:(?:(?ai:&amp;)|[+&])[A-Z]+)+"
FINAL_ABBREVIATION = rf"(?:{_word_alternatives(SENTENCE_FINAL_ABBREVIATIONS)}|(?ai:pp?t)[ye](?ai:s?))\."
INNER_ABBREVIATION = f"(?:{_word_alternatives(INNER_ABBREVIATIONS)}|{DOTTED})"
STARTER = _word_alternatives(SENTENCE_STARTERS)
CLAUSE_MARK = "[,;:\u3001]"
WEB = r" \t\n\x0c\r\"<>|(){}"
WEB_END = r" \t\n\x0c\r\"<>|.!?(){},\-"
PATH = rf"(?:/[^ \t\n\x0c\r\"<>|()]+[^{WEB_END}])?"
MAIL_HOST = r"[^ \t\n\x0c\r\"<>|(){}.\xa0]"
EXTENSION = (
    "(?ai:bat|bmp|class|cgi|cpp|c|dll|docx|doc|exe|gif|gz|html|htm|h|jar|java|jpeg|jpg|mov|mp3|pdf|php|pl|png|ppt|"
    "ps|py|sql|tar|txt|wav|xml|x|zip)"
)
TELEPHONE = (
    r"(?:\([0-9]{2,3}\)[ \xa0]?|(?:\+\+?)?(?:[0-9]{2,4}[- \xa0])?[0-9]{2,4}[- \xa0])[0-9]{3,4}[- \xa0]?[0-9]{3,5}"
)
DOTTED_TELEPHONE = r"(?:(?:\+\+?)?[0-9]{2,4}\.)?[0-9]{2,4}\.[0-9]{3,4}\.[0-9]{3,5}"

L, D, O = "letter", "digit", "other"  # noqa: E741


class Rule(NamedTuple):
    """A token's pattern, its output, and how many of its last characters are read again."""

    pattern: re.Pattern[str]
    printed: Callable[[str], str] | None = None
    read_again: int = 0


Table = list[tuple[str, str, Callable[[str], str] | None, int]]
"""Kinds of first characters, pattern, output, number of characters to read again."""


def _as_is(text: str) -> str:
    return text


def _without_soft_hyphens(text: str) -> str:
    return text.replace("\xad", "") or "-"


def _closing_quotes(text: str) -> str:
    text = re.sub("(?ai:&apos;)", "'", text) if "&" in text else text
    return text.translate(LEFT_TO_LATEX)


def _plain_ampersand(text: str) -> str:
    return re.sub("(?ai:&amp;)", "&", text)


def _telephone(text: str) -> str:
    return text.replace(" ", "\xa0").translate(PARENTHESES)


def _words(c: Classes) -> Table:
    """Words, their clitics, and words with an apostrophe inside."""
    return [
        (L, r"((?ai:c)\+\+)", _as_is, 0),
        (L, "((?ai:c|f)#)", _as_is, 0),
        (L, "((?ai:cannot))", _as_is, 3),
        (O, "('(?ai:twas))", _as_is, 3),
        (O, "('(?ai:tis))", _as_is, 2),
        (L, "((?ai:gonna|gotta|lemme|gimme|wanna))", _as_is, 2),
        (O, f"({MARKUP})", lambda text: text.replace(" ", "\xa0"), 0),
        (O, "((?ai:&(?:md|mdash|ndash);)|[\x96\x97\u2013\u2014\u2015])", lambda text: "--", 0),
        (O, "((?ai:&amp;))", _plain_ampersand, 0),
        (O, "((?ai:&(?:ht|tl|ur|lr|qc|ql|qr|odq|cdq|#[0-9]+);))", _as_is, 0),
        (L + O, f"({c.word}){CLITIC}", _without_soft_hyphens, 0),
        (L + O, f"([A-Za-z\xad]*[A-MO-Za-mo-z]\xad*){NEGATION}", _without_soft_hyphens, 0),
        (L + O, f"({c.word})", _without_soft_hyphens, 0),
        (O, f"({APOSTROPHE}(?ai:n){APOSTROPHE}?)", _as_is, 0),
        (L, f"([lLdDjJ]{APOSTROPHE})", _as_is, 0),
        (L, f"((?ai:dunkin|somethin|ol){APOSTROPHE})", _as_is, 0),
        (O, f"({APOSTROPHE}(?:(?ai:em|till?|cause)|[2-9](?ai:0s)))", _as_is, 0),
        (L, f"([A-HJ-XZn]{ANY_APOSTROPHE}[{c.letter}]{{2,}})", _as_is, 0),
        (L + O, f"([{c.letter}]+[aeiouyAEIOUY]{ANY_APOSTROPHE}[aeiouA-Z][{c.letter}]*)", _as_is, 0),
        (L, r"((?ai:cont'd\.?|nor'easter|c'mon|e'er|s'mores|ev'ry|li'l|nat'l))", _as_is, 0),
        (O, "((?ai:'twas))", _as_is, 0),
        (L, f"((?ai:o){ANY_APOSTROPHE}(?ai:o))", _as_is, 0),
        (L, f"((?ai:y){APOSTROPHE})[{c.letter}]", _as_is, 0),
    ]


def _addresses(c: Classes) -> Table:
    """Web addresses, mail addresses and user names."""
    return [
        (L, rf"((?ai:https?)://[^{WEB}]+[^{WEB_END}])", _as_is, 0),
        (L, rf"((?ai:www)\.(?:[^ \t\n\x0c\r\"<>|.!?(){{}},]+\.)+[a-zA-Z]{{2,4}}{PATH})", _as_is, 0),
        (L + D + O, rf"((?:[^ \t\n\x0c\r\"`'<>|.!?(){{}},-_$]+\.)+(?ai:com|net|org|edu){PATH})", _as_is, 0),
        (
            L + D + O,
            rf"((?:(?ai:&lt;)|<)?[a-zA-Z0-9][^ \t\n\x0c\r\"<>|()\xa0{{}}]*@(?:{MAIL_HOST}+\.)*{MAIL_HOST}+"
            r"(?:(?ai:&gt;)|>)?)",
            _as_is,
            0,
        ),
        (O, f"(@[a-zA-Z_][a-zA-Z_0-9]*|#{c.one_letter}+)", _as_is, 0),
    ]


def _numbers(c: Classes) -> Table:
    """Separate clitics, numbers, fractions, currencies, and words with signs."""
    return [
        (O, f"({CLITIC})[^A-Za-z]", _closing_quotes, 0),
        (L, f"({NEGATION})[^A-Za-z]", _closing_quotes, 0),
        (D + O, rf"({c.one_digit}{{1,2}}[-/]{c.one_digit}{{1,2}}[-/]{c.one_digit}{{2,4}})", _as_is, 0),
        (D + O, f"({c.number})", _without_soft_hyphens, 0),
        (O, "([\u207a\u207b\u208a\u208b]?(?:[\u2070\xb9\xb2\xb3\u2074-\u2079]+|[\u2080-\u2089]+))", _as_is, 0),
        (D + O, f"({c.fraction})", lambda text: text.replace(" ", "\xa0"), 0),
        (O, "([\xbc\xbd\xbe\u2153-\u215e])", lambda text: text.translate(FRACTIONS), 0),
        (O, "(-(?ai:rrb|lrb|rcb|lcb|rsb|lsb)-)", _as_is, 0),
        (L, r"((?ai:c\.d\.s|pro-|anti-))", _as_is, 0),
        (L, r"((?ai:s(?:&amp;|&)(?:p-500|ls)))", _plain_ampersand, 0),
        (L, f"((?ai:cap){APOSTROPHE}(?ai:n)|(?ai:c){APOSTROPHE}(?ai:est))", _plain_ampersand, 0),
        (L + D, r"([A-Za-z0-9]+(?:-[A-Za-z]+){0,2}(?:\\?/[A-Za-z0-9]+(?:-[A-Za-z]+){0,2}){1,2})", _as_is, 0),
        (L + O, r"([A-Z]*\$|#)", _as_is, 0),
        (
            O,
            "([\xa2\xa3\xa4\xa5\x80\u20a0\u20ac\u060b\u0e3f\u20a4\uffe0\uffe1\uffe5\uffe6])",
            lambda text: text.translate(CURRENCIES),
            0,
        ),
    ]


def _abbreviations(c: Classes) -> Table:
    """Abbreviations, which keep their full stop, and file names."""
    return [
        # An acronym before one of these words ends a sentence: its full stop is read again, as a separate token.
        # A single letter is not an acronym (output None: `token` below removes the stop).
        (L, rf"({DOTTED}\.){BLANK}+(?:{STARTER}|{MARKUP}){BLANK}", None, 1),
        (L, rf"((?ai:ca|figs?|prop|nos?|art|bldg|pp|op)\.){BLANK}?[{c.digit}]", _as_is, 0),
        (L, rf"(((?ai:pt)[eyEY]|(?ai:co))\.){SPACE}(?ai:ltd|lim)", _as_is, 0),
        (L, f"({FINAL_ABBREVIATION}){BLANK}(?:{MARKUP}|{BLANK}|[{c.capital}])", _as_is, 1),
        (L, f"({FINAL_ABBREVIATION})(?s:..)", _as_is, 0),
        (L, f"({FINAL_ABBREVIATION})", _as_is, 1),
        (L, rf"({INNER_ABBREVIATION}\.)", _as_is, 0),
        (L, f"({INNER_ABBREVIATION}){SPACE}", _as_is, 0),
        (L, f"({DOTTED}){BLANK}", _as_is, 0),
        (O, f"({APOSTROPHE}[0-9][0-9]){BLANK}", _as_is, 0),
        (L + D + O, rf"({c.one_more}+(?:\.{c.one_more}+)*\.{EXTENSION})(?:{BLANK}|[.?!,])", _as_is, 0),
        (L + O, rf"({c.word}\.){CLAUSE_MARK}", _without_soft_hyphens, 0),
    ]


def _marks(c: Classes) -> Table:
    """Telephone numbers, quotes, smileys, brackets, punctuation."""
    return [
        (D + O, f"({TELEPHONE})", _telephone, 0),
        (D + O, f"({DOTTED_TELEPHONE})", _telephone, 0),
        (O, '("|(?ai:&quot;))[A-Za-z0-9$]', lambda text: "``", 0),
        (O, '("|(?ai:&quot;))', lambda text: "''", 0),
        (O, "(\x7f)", lambda text: "", 0),
        (O, "(<|(?ai:&lt;))", lambda text: "<", 0),
        (O, "(>|(?ai:&gt;))", lambda text: ">", 0),
        (O, r"([<>]?[:;=][\-o*']?[()DPdpO\\{@|\[\]])[^A-Za-z0-9]", lambda text: text.translate(PARENTHESES), 0),
        (L + O, r"([\^x=~<>]\.\[\^(?ai:x)=~<>\])", _as_is, 0),
        (L + O, r"([\-\^x=~<>']_[\-\^x=~<>'])", _as_is, 0),
        (
            O,
            r"(\((?:[\-\^x=~<>'][_.]?[\-\^x=~<>']|[\^x=~<>']-[\^x=~<>'`])\))",
            lambda text: text.translate(PARENTHESES),
            0,
        ),
        (O, r"([{}\[\]()])", lambda text: BRACKETS[text], 0),
        (O, "(-+)", lambda text: "--" if len(text) in (3, 4) else text, 0),
        (O, "(\\.{3,5}|(?:\\.[ \xa0]){2,4}\\.|[\x85\u2026])", lambda text: "...", 0),
        (O, r"(@+|#+|_+)", _as_is, 0),
        (O, r"(\*+|(?:\\\*){1,3})", _as_is, 0),
        (O, f"({CLAUSE_MARK})", _as_is, 0),
        (O, "([?!]+)", _as_is, 0),
        (O, "([.\xa1\xbf\u037e\u0589\u061f\u06d4\u0700-\u0702\u07fa\u3002])", _as_is, 0),
        (O, "(=)", _as_is, 0),
        (O, "(/)", _as_is, 0),
    ]


def _compounds(c: Classes) -> Table:
    """Words with hyphens, single quotes, symbols, spaces."""
    return [
        (L + D, rf"({HYPHENED}\.){CLAUSE_MARK}", _without_soft_hyphens, 0),
        (L + D, f"({HYPHENED})", _without_soft_hyphens, 0),
        (L + D + O, rf"({c.compound}\.){CLAUSE_MARK}", _as_is, 0),
        (L + D + O, f"({c.compound})", _as_is, 0),
        (L, rf"({JOINED_CAPITALS}\.){CLAUSE_MARK}", _plain_ampersand, 0),
        (L, f"({JOINED_CAPITALS})", _plain_ampersand, 0),
        (O, "(')[A-Za-z][^ \t\n\r\xa0]", lambda text: "`", 0),
        (O, f"({CLITIC})", _closing_quotes, 0),
        (L, f"({NEGATION})", _closing_quotes, 0),
        (O, f"(''|[{SINGLE_QUOTES}]{{1,2}}|{APOSTROPHE})", _closing_quotes, 0),
        (O, "(<<|>>)", _as_is, 0),
        (O, f"({SYMBOLS})", _as_is, 0),
        (O, "([\0\u200b\u200e\u200f\ufeff]|[ \t\xa0\u2000-\u200a\u3000]+|(?ai:&nbsp;))", lambda text: "", 0),
    ]


@cache
def rules(ascii_only: bool) -> dict[str, list[Rule]]:
    """Rules in the reference's order, by kind of first character: "letter", "digit", "other"."""
    classes = Classes.of(ascii_only)
    lists: dict[str, list[Rule]] = {L: [], D: [], O: []}
    for part in (_words, _addresses, _numbers, _abbreviations, _marks, _compounds):
        for starts, pattern, printed, again in part(classes):
            rule = Rule(re.compile(pattern), printed, again)
            for start in lists:
                if start in starts:
                    lists[start].append(rule)
    return lists


def token(text: str, position: int, lists: dict[str, list[Rule]]) -> tuple[str, int]:
    """The token that starts at a position ("" for a dropped character), and the position after it."""
    first = text[position]
    kind = "other"
    if first.isascii():
        kind = "letter" if first.isalpha() else "digit" if first.isdigit() else "other"
    furthest, chosen, best = position, None, None
    for rule in lists[kind]:
        match = rule.pattern.match(text, position)
        if match is not None and match.end() > furthest:
            furthest, chosen, best = match.end(), rule, match
    if chosen is None or best is None:
        return "", position + 1
    printed, end = best.group(1), best.end(1)
    if chosen.printed is None:
        return (printed[:-1] if len(printed) == 2 else printed), end - 1
    if chosen.read_again and not printed.endswith("."):  # cannot, gonna: the tail is a separate token
        return chosen.printed(printed[: -chosen.read_again]), end - chosen.read_again
    return chosen.printed(printed), end - chosen.read_again
