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

from tellapart.metrics.captions.ptb.characters import Classes
from tellapart.metrics.captions.ptb.patterns import (
    ANY_APOSTROPHE,
    APOSTROPHE,
    BLANK,
    CLAUSE_MARK,
    CLITIC,
    DOTTED,
    DOTTED_TELEPHONE,
    EXTENSION,
    FINAL_ABBREVIATION,
    HYPHENED,
    INNER_ABBREVIATION,
    JOINED_CAPITALS,
    MAIL_HOST,
    MARKUP,
    NEGATION,
    PATH,
    SINGLE_QUOTES,
    SPACE,
    STARTER,
    SYMBOLS,
    TELEPHONE,
    WEB,
    WEB_END,
)
from tellapart.metrics.captions.ptb.written import (
    BRACKETS,
    CURRENCIES,
    FRACTIONS,
    PARENTHESES,
    as_is,
    closing_quotes,
    plain_ampersand,
    telephone,
    without_soft_hyphens,
)

L, D, O = "letter", "digit", "other"  # noqa: E741


class Rule(NamedTuple):
    """A token's pattern, its output, and how many of its last characters are read again."""

    pattern: re.Pattern[str]
    printed: Callable[[str], str] | None = None
    read_again: int = 0


Table = list[tuple[str, str, Callable[[str], str] | None, int]]
"""Kinds of first characters, pattern, output, number of characters to read again."""


def _words(c: Classes) -> Table:
    """Words, their clitics, and words with an apostrophe inside."""
    return [
        (L, r"((?ai:c)\+\+)", as_is, 0),
        (L, "((?ai:c|f)#)", as_is, 0),
        (L, "((?ai:cannot))", as_is, 3),
        (O, "('(?ai:twas))", as_is, 3),
        (O, "('(?ai:tis))", as_is, 2),
        (L, "((?ai:gonna|gotta|lemme|gimme|wanna))", as_is, 2),
        (O, f"({MARKUP})", lambda text: text.replace(" ", "\xa0"), 0),
        (O, "((?ai:&(?:md|mdash|ndash);)|[\x96\x97\u2013\u2014\u2015])", lambda text: "--", 0),
        (O, "((?ai:&amp;))", plain_ampersand, 0),
        (O, "((?ai:&(?:ht|tl|ur|lr|qc|ql|qr|odq|cdq|#[0-9]+);))", as_is, 0),
        (L + O, f"({c.word}){CLITIC}", without_soft_hyphens, 0),
        (L + O, f"([A-Za-z\xad]*[A-MO-Za-mo-z]\xad*){NEGATION}", without_soft_hyphens, 0),
        (L + O, f"({c.word})", without_soft_hyphens, 0),
        (O, f"({APOSTROPHE}(?ai:n){APOSTROPHE}?)", as_is, 0),
        (L, f"([lLdDjJ]{APOSTROPHE})", as_is, 0),
        (L, f"((?ai:dunkin|somethin|ol){APOSTROPHE})", as_is, 0),
        (O, f"({APOSTROPHE}(?:(?ai:em|till?|cause)|[2-9](?ai:0s)))", as_is, 0),
        (L, f"([A-HJ-XZn]{ANY_APOSTROPHE}[{c.letter}]{{2,}})", as_is, 0),
        (L + O, f"([{c.letter}]+[aeiouyAEIOUY]{ANY_APOSTROPHE}[aeiouA-Z][{c.letter}]*)", as_is, 0),
        (L, r"((?ai:cont'd\.?|nor'easter|c'mon|e'er|s'mores|ev'ry|li'l|nat'l))", as_is, 0),
        (O, "((?ai:'twas))", as_is, 0),
        (L, f"((?ai:o){ANY_APOSTROPHE}(?ai:o))", as_is, 0),
        (L, f"((?ai:y){APOSTROPHE})[{c.letter}]", as_is, 0),
    ]


def _addresses(c: Classes) -> Table:
    """Web addresses, mail addresses and user names."""
    return [
        (L, rf"((?ai:https?)://[^{WEB}]+[^{WEB_END}])", as_is, 0),
        (L, rf"((?ai:www)\.(?:[^ \t\n\x0c\r\"<>|.!?(){{}},]+\.)+[a-zA-Z]{{2,4}}{PATH})", as_is, 0),
        (L + D + O, rf"((?:[^ \t\n\x0c\r\"`'<>|.!?(){{}},-_$]+\.)+(?ai:com|net|org|edu){PATH})", as_is, 0),
        (
            L + D + O,
            rf"((?:(?ai:&lt;)|<)?[a-zA-Z0-9][^ \t\n\x0c\r\"<>|()\xa0{{}}]*@(?:{MAIL_HOST}+\.)*{MAIL_HOST}+"
            r"(?:(?ai:&gt;)|>)?)",
            as_is,
            0,
        ),
        (O, f"(@[a-zA-Z_][a-zA-Z_0-9]*|#{c.one_letter}+)", as_is, 0),
    ]


def _numbers(c: Classes) -> Table:
    """Separate clitics, numbers, fractions, currencies, and words with signs."""
    return [
        (O, f"({CLITIC})[^A-Za-z]", closing_quotes, 0),
        (L, f"({NEGATION})[^A-Za-z]", closing_quotes, 0),
        (D + O, rf"({c.one_digit}{{1,2}}[-/]{c.one_digit}{{1,2}}[-/]{c.one_digit}{{2,4}})", as_is, 0),
        (D + O, f"({c.number})", without_soft_hyphens, 0),
        (O, "([\u207a\u207b\u208a\u208b]?(?:[\u2070\xb9\xb2\xb3\u2074-\u2079]+|[\u2080-\u2089]+))", as_is, 0),
        (D + O, f"({c.fraction})", lambda text: text.replace(" ", "\xa0"), 0),
        (O, "([\xbc\xbd\xbe\u2153-\u215e])", lambda text: text.translate(FRACTIONS), 0),
        (O, "(-(?ai:rrb|lrb|rcb|lcb|rsb|lsb)-)", as_is, 0),
        (L, r"((?ai:c\.d\.s|pro-|anti-))", as_is, 0),
        (L, r"((?ai:s(?:&amp;|&)(?:p-500|ls)))", plain_ampersand, 0),
        (L, f"((?ai:cap){APOSTROPHE}(?ai:n)|(?ai:c){APOSTROPHE}(?ai:est))", plain_ampersand, 0),
        (L + D, r"([A-Za-z0-9]+(?:-[A-Za-z]+){0,2}(?:\\?/[A-Za-z0-9]+(?:-[A-Za-z]+){0,2}){1,2})", as_is, 0),
        (L + O, r"([A-Z]*\$|#)", as_is, 0),
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
        (L, rf"((?ai:ca|figs?|prop|nos?|art|bldg|pp|op)\.){BLANK}?[{c.digit}]", as_is, 0),
        (L, rf"(((?ai:pt)[eyEY]|(?ai:co))\.){SPACE}(?ai:ltd|lim)", as_is, 0),
        (L, f"({FINAL_ABBREVIATION}){BLANK}(?:{MARKUP}|{BLANK}|[{c.capital}])", as_is, 1),
        (L, f"({FINAL_ABBREVIATION})(?s:..)", as_is, 0),
        (L, f"({FINAL_ABBREVIATION})", as_is, 1),
        (L, rf"({INNER_ABBREVIATION}\.)", as_is, 0),
        (L, f"({INNER_ABBREVIATION}){SPACE}", as_is, 0),
        (L, f"({DOTTED}){BLANK}", as_is, 0),
        (O, f"({APOSTROPHE}[0-9][0-9]){BLANK}", as_is, 0),
        (L + D + O, rf"({c.one_more}+(?:\.{c.one_more}+)*\.{EXTENSION})(?:{BLANK}|[.?!,])", as_is, 0),
        (L + O, rf"({c.word}\.){CLAUSE_MARK}", without_soft_hyphens, 0),
    ]


def _marks(c: Classes) -> Table:
    """Telephone numbers, quotes, smileys, brackets, punctuation."""
    return [
        (D + O, f"({TELEPHONE})", telephone, 0),
        (D + O, f"({DOTTED_TELEPHONE})", telephone, 0),
        (O, '("|(?ai:&quot;))[A-Za-z0-9$]', lambda text: "``", 0),
        (O, '("|(?ai:&quot;))', lambda text: "''", 0),
        (O, "(\x7f)", lambda text: "", 0),
        (O, "(<|(?ai:&lt;))", lambda text: "<", 0),
        (O, "(>|(?ai:&gt;))", lambda text: ">", 0),
        (O, r"([<>]?[:;=][\-o*']?[()DPdpO\\{@|\[\]])[^A-Za-z0-9]", lambda text: text.translate(PARENTHESES), 0),
        (L + O, r"([\^x=~<>]\.\[\^(?ai:x)=~<>\])", as_is, 0),
        (L + O, r"([\-\^x=~<>']_[\-\^x=~<>'])", as_is, 0),
        (
            O,
            r"(\((?:[\-\^x=~<>'][_.]?[\-\^x=~<>']|[\^x=~<>']-[\^x=~<>'`])\))",
            lambda text: text.translate(PARENTHESES),
            0,
        ),
        (O, r"([{}\[\]()])", lambda text: BRACKETS[text], 0),
        (O, "(-+)", lambda text: "--" if len(text) in (3, 4) else text, 0),
        (O, "(\\.{3,5}|(?:\\.[ \xa0]){2,4}\\.|[\x85\u2026])", lambda text: "...", 0),
        (O, r"(@+|#+|_+)", as_is, 0),
        (O, r"(\*+|(?:\\\*){1,3})", as_is, 0),
        (O, f"({CLAUSE_MARK})", as_is, 0),
        (O, "([?!]+)", as_is, 0),
        (O, "([.\xa1\xbf\u037e\u0589\u061f\u06d4\u0700-\u0702\u07fa\u3002])", as_is, 0),
        (O, "(=)", as_is, 0),
        (O, "(/)", as_is, 0),
    ]


def _compounds(c: Classes) -> Table:
    """Words with hyphens, single quotes, symbols, spaces."""
    return [
        (L + D, rf"({HYPHENED}\.){CLAUSE_MARK}", without_soft_hyphens, 0),
        (L + D, f"({HYPHENED})", without_soft_hyphens, 0),
        (L + D + O, rf"({c.compound}\.){CLAUSE_MARK}", as_is, 0),
        (L + D + O, f"({c.compound})", as_is, 0),
        (L, rf"({JOINED_CAPITALS}\.){CLAUSE_MARK}", plain_ampersand, 0),
        (L, f"({JOINED_CAPITALS})", plain_ampersand, 0),
        (O, "(')[A-Za-z][^ \t\n\r\xa0]", lambda text: "`", 0),
        (O, f"({CLITIC})", closing_quotes, 0),
        (L, f"({NEGATION})", closing_quotes, 0),
        (O, f"(''|[{SINGLE_QUOTES}]{{1,2}}|{APOSTROPHE})", closing_quotes, 0),
        (O, "(<<|>>)", as_is, 0),
        (O, f"({SYMBOLS})", as_is, 0),
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
