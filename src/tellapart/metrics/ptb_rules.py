"""The rules of Penn Treebank tokenisation, as the COCO caption script runs them: longest match, earliest rule on ties.

The reference is a scanner: at each position every rule is tried, the one that reads furthest (look-ahead included)
wins, and of several that read equally far the first in the list does. Here each rule is one regular expression whose
first group is the token and whose rest is look-ahead. Literal words are read in either case, character classes as
written. Rules are kept in lists by the kind of character a token starts with, so that few are tried at a position.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

SINGLE_QUOTES = "`\u2018\u2019\u201a\u201b\u201c\u201d\x91\x92\x93\x94\u201e\u201f\u2039\u203a\u00ab\u00bb"
LEFT_TO_LATEX = str.maketrans(
    {"\x91": "`", "\u2018": "`", "\u201b": "`", "\u2039": "`", "\x92": "'", "\u2019": "'", "\u203a": "'"}
    | {"\x93": "``", "\u201c": "``", "\u00ab": "``", "\x94": "''", "\u201d": "''", "\u00bb": "''"}
)
FRACTIONS = str.maketrans({"\xbc": "1/4", "\xbd": "1/2", "\xbe": "3/4", "\u2153": "1/3", "\u2154": "2/3"})
CURRENCIES = str.maketrans({"\xa2": "cents", "\xa3": "#", "\x80": "$", "\xa4": "$", "\u20a0": "$", "\u20ac": "$"})
BRACKETS = {"(": "-LRB-", ")": "-RRB-", "{": "-LCB-", "}": "-RCB-", "[": "-LSB-", "]": "-RSB-"}
PARENTHESES = str.maketrans({"(": "-LRB-", ")": "-RRB-"})

# Combining marks, modifiers and letters younger than the reference's own letter table, which it adds to words by hand.
EXTRA_LETTERS = (
    "\xad\u0237-\u024f\u02c2-\u02c5\u02d2-\u02df\u02e5-\u02ff\u0300-\u037d\u0384\u0385\u03cf\u03f6\u03fc-\u03ff"
    "\u0483-\u0487\u04cf\u04f6-\u04ff\u0510-\u0525\u055a-\u055f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0615-\u061a\u063b-\u063f\u064b-\u065e\u0670\u06d6-\u06ef\u06fa-\u06ff\u070f\u0711\u0730-\u077f"
    "\u07a6-\u07b1\u07ca-\u07f5\u07fa\u0900-\u0903\u093c\u093e-\u094e\u0951-\u0955\u0962\u0963\u0981-\u0983"
    "\u09bc-\u09c4\u09c7\u09c8\u09cb-\u09cd\u09d7\u09e2\u09e3\u0a01-\u0a03\u0a3c\u0a3e-\u0a4f\u0a81-\u0a83"
    "\u0abc-\u0acf\u0b82\u0bbe-\u0bc2\u0bc6-\u0bc8\u0bca-\u0bcd\u0c01-\u0c03\u0c3e-\u0c56\u0d3e-\u0d44"
    "\u0d46-\u0d48\u0e30-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc\u0ec8-\u0ecd"
)
# Letters and digits that Unicode gained after version 6.1, the reference's: it drops them as unknown characters.
YOUNGER = re.compile(
    "["
    "\u037f\u0528-\u052f\u0560\u0588\u05ef\u0860-\u086a\u0870-\u0887\u0889-\u088e\u08a1\u08ad-\u08c9\u0978"
    "\u0980\u09fc\u0af9\u0c34\u0c5a\u0c5d\u0c80\u0cdd\u0d04\u0d54-\u0d56\u0d5f\u0de6-\u0def\u0e86\u0e89\u0e8c"
    "\u0e8e-\u0e93\u0e98\u0ea0\u0ea8-\u0ea9\u0eac\u13f5\u13f8-\u13fd\u16f1-\u16f8\u170d\u171f\u1878"
    "\u191d-\u191e\u19b0-\u19c0\u19c8-\u19c9\u1b4c\u1c80-\u1c88\u1c90-\u1cba\u1cbd-\u1cbf\u1cf2-\u1cf3\u1cfa"
    "\u2c2f\u2c5f\u312e-\u312f\u31bb-\u31bf\u4db6-\u4dbf\u9fcd-\u9fff\ua698-\ua69d\ua78f\ua794-\ua79f"
    "\ua7ab-\ua7ca\ua7d0-\ua7d1\ua7d3\ua7d5-\ua7d9\ua7f2-\ua7f7\ua8fd-\ua8fe\ua9e0-\ua9e4\ua9e6-\ua9fe"
    "\uaa7e-\uaa7f\uab30-\uab5a\uab5c-\uab69\uab70-\uabbf"
    "]"
)
SYMBOLS = (
    r"[+%&~^|\\\xa6\xa7\xa8\xa9\xac\xae\xaf\xb0-\xba\xd7\xf7\u0387\u05be\u05c0\u05c3\u05c6\u05f3\u05f4\u0600-\u0603"
    r"\u0606-\u060a\u060c\u0614\u061b\u061e\u066a\u066d\u0703-\u070d\u07f6-\u07f8\u0964\u0965\u0e4f\u1fbd\u2016\u2017"
    r"\u2020-\u2023\u2030-\u2038\u203b\u203e-\u2042\u2044\u207a-\u207f\u208a-\u208e\u2100-\u214f\u2190-\u2bff\u3012"
    r"\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"
)

# Abbreviations that take their full stop with them. First list: a capital after them starts a new sentence.
SENTENCE_FINAL_ABBREVIATIONS = (
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thurs fri "
    "ala ariz Az Ark calif colo conn ct dak Del fla ga Ill ind kan kans ky La Mass md mich minn Miss mo mont neb nev "
    "okla Ore Pa penn tenn Tex va vt Wash wis wisc wyo inc co cos corp ltd plc rt bancorp bhd assn univ intl sys "
    "tel est ext sq jr sr bros ed.d ph.d blvd rd esq etc al seq bldg"
)
# Second list: mostly before a capital, so never at a sentence's end.
INNER_ABBREVIATIONS = (
    "mr mrs ms Miss dr drs prof profs sen sens rep reps atty attys lt col gen messrs gov govs adm rev maj sgt cpl pvt "
    "capt st ste ave pres lieut hon brig cmdr comdr pfc spc supt supts det mt ft adj adv asst assoc ens insp mlle mme "
    "msgr sfc vs alex wm jos cie a.k.a cf treas ph invt elec natl mfg mtg dept"
)
SENTENCE_STARTERS = (
    "About According Additionally After An A As At But Earlier He Her Here However If In It Last Many More Mr. Ms. "
    "Now Once One Other Our She Since So Some Such That The Their Then There These They This We When While What Yet You"
)


class Rule(NamedTuple):
    """How to recognise a token, what to print for it, and how many of its last characters to read again."""

    pattern: re.Pattern[str]
    printed: Callable[[str], str] | None = None
    read_again: int = 0


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


def _word_alternatives(words: str) -> str:
    """Either case for all letters, except that a leading capital in the list asks for a capital."""
    parts = [
        f"[{word[0]}](?ai:{re.escape(word[1:])})" if word[0].isupper() else f"(?ai:{re.escape(word)})"
        for word in sorted(words.split(), key=len, reverse=True)
    ]
    return "(?:" + "|".join(parts) + ")"


def _ranges(keep: Callable[[str], bool]) -> str:
    kept = [code for code in range(0x80, 0xFFFE) if keep(chr(code))]
    spans: list[list[int]] = []
    for code in kept:
        if spans and spans[-1][1] == code - 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in spans)


def _classes(ascii_only: bool) -> tuple[str, str, str, str]:
    """Contents of the classes letter, digit, upper case, and of the letters a word may also hold."""
    if ascii_only:
        return "A-Za-z", "0-9", "A-Z", "A-Za-z"
    letters = "A-Za-z\u1885\u1886" + _ranges(  # two Mongolian letters that are marks today
        lambda c: unicodedata.category(c)[0] == "L" and not YOUNGER.match(c)
    )
    digits = "0-9" + _ranges(lambda c: unicodedata.category(c) == "Nd" and not YOUNGER.match(c))
    capitals = "A-Z" + _ranges(lambda c: unicodedata.category(c) == "Lu" and not YOUNGER.match(c))
    return letters, digits, capitals, letters + EXTRA_LETTERS


@cache
def rules(ascii_only: bool) -> dict[str, list[Rule]]:
    """Rules in the reference's order, in lists by first character: "letter", "digit", "other"."""
    letter, digit, capital, word_letter = _classes(ascii_only)
    named = r"&[aeiouAEIOU](?ai:acute|grave|uml);"
    one_letter = f"(?:[{word_letter}]|{named})"
    one_more = f"(?:[{word_letter}{digit}\u07c0-\u07c9]|{named})"
    digit_ = f"[{digit}\u07c0-\u07c9]"
    word = f"{one_letter}{one_more}*(?:[.!?]{one_letter}{one_more}*)*"
    apostrophe = "(?:['\x92\u2019]|(?ai:&apos;))"
    any_apostrophe = "(?:['\x92\u2019`\x91\u2018\u201b]|(?ai:&apos;))"
    clitic = f"{apostrophe}(?:[msdMSD]|(?ai:re|ve|ll))"
    negation = f"(?ai:n){any_apostrophe}(?ai:t)"
    space = "[ \t\xa0\u2000-\u200a\u3000]"
    blank = "(?:[ \t\xa0\u2000-\u200a\u3000\n\u2028\u2029\x0b\x0c\x85]|\r\n?)"
    name = r"[A-Za-z][A-Za-z0-9_:.\-]*"
    markup = (
        rf"<(?:[!?][A-Za-z\-][^>\r\n]*|{name}(?:[ ]+{name}(?:[ ]*=[ ]*(?:'[^']*'|\"[^\"]*\"))?)*[ ]*/?|/{name})[ ]*>"
    )
    dotted_country = r"(?:(?ai:canada|sino|korean|eu|japan|non)-(?ai:u\.s)|(?ai:u\.s\.-(?:u\.s\.s\.r|u\.k)))"
    dotted = rf"(?:{dotted_country}|[A-Za-z](?:\.[A-Za-z])*)"
    dotted_two = rf"(?:{dotted_country}|[A-Za-z](?:\.[A-Za-z])+)"
    hyphen = "[-_\u058a\u2010\u2011]"
    plain = f"[{letter}{digit}]"
    elided = f"(?:[dDoOlL]{any_apostrophe}{plain})?"
    compound = f"{elided}{plain}+(?:{hyphen}{elided}{plain}+)*"
    hyphened = rf"[A-Za-z0-9][A-Za-z0-9.,\xad]*(?:-(?:{dotted_two}\.|[A-Za-z0-9\xad]+))+"
    joined_capitals = r"[A-Z]+(?:(?:(?ai:&amp;)|[+&])[A-Z]+)+"
    final_abbreviation = rf"(?:{_word_alternatives(SENTENCE_FINAL_ABBREVIATIONS)}|(?ai:pp?t)[ye](?ai:s?))\."
    inner_abbreviation = f"(?:{_word_alternatives(INNER_ABBREVIATIONS)}|{dotted})"
    clause_mark = "[,;:\u3001]"
    web = r" \t\n\x0c\r\"<>|(){}"
    web_end = r" \t\n\x0c\r\"<>|.!?(){},\-"
    path = rf"(?:/[^ \t\n\x0c\r\"<>|()]+[^{web_end}])?"
    extension = (
        "(?ai:bat|bmp|class|cgi|cpp|c|dll|docx|doc|exe|gif|gz|html|htm|h|jar|java|jpeg|jpg|mov|mp3|pdf|php|pl|png|ppt|"
        "ps|py|sql|tar|txt|wav|xml|x|zip)"
    )
    mail_host = r"[^ \t\n\x0c\r\"<>|(){}.\xa0]"
    fraction = rf"(?:{digit_}{{1,4}}[- \xa0])?{digit_}{{1,4}}(?:\\?/|\u2044){digit_}{{1,4}}"
    number = rf"[-+]?(?:{digit_}*(?:[.:,\xad\u066b\u066c]{digit_}+)+|{digit_}+)"
    telephone = (
        r"(?:\([0-9]{2,3}\)[ \xa0]?|(?:\+\+?)?(?:[0-9]{2,4}[- \xa0])?[0-9]{2,4}[- \xa0])[0-9]{3,4}[- \xa0]?[0-9]{3,5}",
        r"(?:(?:\+\+?)?[0-9]{2,4}\.)?[0-9]{2,4}\.[0-9]{3,4}\.[0-9]{3,5}",
    )
    L, D, O = "letter", "digit", "other"  # noqa: E741
    table: list[tuple[str, str, Callable[[str], str] | None, int]] = [
        (L, r"((?ai:c)\+\+)", _as_is, 0),
        (L, "((?ai:c|f)#)", _as_is, 0),
        (L, "((?ai:cannot))", _as_is, 3),
        (O, "('(?ai:twas))", _as_is, 3),
        (O, "('(?ai:tis))", _as_is, 2),
        (L, "((?ai:gonna|gotta|lemme|gimme|wanna))", _as_is, 2),
        (O, f"({markup})", lambda text: text.replace(" ", "\xa0"), 0),
        (O, "((?ai:&(?:md|mdash|ndash);)|[\x96\x97\u2013\u2014\u2015])", lambda text: "--", 0),
        (O, "((?ai:&amp;))", _plain_ampersand, 0),
        (O, "((?ai:&(?:ht|tl|ur|lr|qc|ql|qr|odq|cdq|#[0-9]+);))", _as_is, 0),
        (L + O, f"({word}){clitic}", _without_soft_hyphens, 0),
        (L + O, f"([A-Za-z\xad]*[A-MO-Za-mo-z]\xad*){negation}", _without_soft_hyphens, 0),
        (L + O, f"({word})", _without_soft_hyphens, 0),
        (O, f"({apostrophe}(?ai:n){apostrophe}?)", _as_is, 0),
        (L, f"([lLdDjJ]{apostrophe})", _as_is, 0),
        (L, f"((?ai:dunkin|somethin|ol){apostrophe})", _as_is, 0),
        (O, f"({apostrophe}(?:(?ai:em|till?|cause)|[2-9](?ai:0s)))", _as_is, 0),
        (L, f"([A-HJ-XZn]{any_apostrophe}[{letter}]{{2,}})", _as_is, 0),
        (L + O, f"([{letter}]+[aeiouyAEIOUY]{any_apostrophe}[aeiouA-Z][{letter}]*)", _as_is, 0),
        (L, r"((?ai:cont'd\.?|nor'easter|c'mon|e'er|s'mores|ev'ry|li'l|nat'l))", _as_is, 0),
        (O, "((?ai:'twas))", _as_is, 0),
        (L, f"((?ai:o){any_apostrophe}(?ai:o))", _as_is, 0),
        (L, f"((?ai:y){apostrophe})[{letter}]", _as_is, 0),
        (L, rf"((?ai:https?)://[^{web}]+[^{web_end}])", _as_is, 0),
        (L, rf"((?ai:www)\.(?:[^ \t\n\x0c\r\"<>|.!?(){{}},]+\.)+[a-zA-Z]{{2,4}}{path})", _as_is, 0),
        (L + D + O, rf"((?:[^ \t\n\x0c\r\"`'<>|.!?(){{}},-_$]+\.)+(?ai:com|net|org|edu){path})", _as_is, 0),
        (
            L + D + O,
            rf"((?:(?ai:&lt;)|<)?[a-zA-Z0-9][^ \t\n\x0c\r\"<>|()\xa0{{}}]*@(?:{mail_host}+\.)*{mail_host}+"
            r"(?:(?ai:&gt;)|>)?)",
            _as_is,
            0,
        ),
        (O, f"(@[a-zA-Z_][a-zA-Z_0-9]*|#{one_letter}+)", _as_is, 0),
        (O, f"({clitic})[^A-Za-z]", _closing_quotes, 0),
        (L, f"({negation})[^A-Za-z]", _closing_quotes, 0),
        (D + O, rf"({digit_}{{1,2}}[-/]{digit_}{{1,2}}[-/]{digit_}{{2,4}})", _as_is, 0),
        (D + O, f"({number})", _without_soft_hyphens, 0),
        (O, "([\u207a\u207b\u208a\u208b]?(?:[\u2070\xb9\xb2\xb3\u2074-\u2079]+|[\u2080-\u2089]+))", _as_is, 0),
        (D + O, f"({fraction})", lambda text: text.replace(" ", "\xa0"), 0),
        (O, "([\xbc\xbd\xbe\u2153-\u215e])", lambda text: text.translate(FRACTIONS), 0),
        (O, "(-(?ai:rrb|lrb|rcb|lcb|rsb|lsb)-)", _as_is, 0),
        (L, r"((?ai:c\.d\.s|pro-|anti-))", _as_is, 0),
        (L, r"((?ai:s(?:&amp;|&)(?:p-500|ls)))", _plain_ampersand, 0),
        (L, f"((?ai:cap){apostrophe}(?ai:n)|(?ai:c){apostrophe}(?ai:est))", _plain_ampersand, 0),
        (L + D, r"([A-Za-z0-9]+(?:-[A-Za-z]+){0,2}(?:\\?/[A-Za-z0-9]+(?:-[A-Za-z]+){0,2}){1,2})", _as_is, 0),
        (L + O, r"([A-Z]*\$|#)", _as_is, 0),
        (
            O,
            "([\xa2\xa3\xa4\xa5\x80\u20a0\u20ac\u060b\u0e3f\u20a4\uffe0\uffe1\uffe5\uffe6])",
            lambda text: text.translate(CURRENCIES),
            0,
        ),
        # An acronym before one of these words ends a sentence: its full stop is read again, as a token of its own.
        # A single letter there is no acronym at all (printed None: `tokens` below takes the stop off).
        (L, rf"({dotted}\.){blank}+(?:{_word_alternatives(SENTENCE_STARTERS)}|{markup}){blank}", None, 1),
        (L, rf"((?ai:ca|figs?|prop|nos?|art|bldg|pp|op)\.){blank}?[{digit}]", _as_is, 0),
        (L, rf"(((?ai:pt)[eyEY]|(?ai:co))\.){space}(?ai:ltd|lim)", _as_is, 0),
        (L, f"({final_abbreviation}){blank}(?:{markup}|{blank}|[{capital}])", _as_is, 1),
        (L, f"({final_abbreviation})(?s:..)", _as_is, 0),
        (L, f"({final_abbreviation})", _as_is, 1),
        (L, rf"({inner_abbreviation}\.)", _as_is, 0),
        (L, f"({inner_abbreviation}){space}", _as_is, 0),
        (L, f"({dotted}){blank}", _as_is, 0),
        (O, f"({apostrophe}[0-9][0-9]){blank}", _as_is, 0),
        (L + D + O, rf"({one_more}+(?:\.{one_more}+)*\.{extension})(?:{blank}|[.?!,])", _as_is, 0),
        (L + O, rf"({word}\.){clause_mark}", _without_soft_hyphens, 0),
        (D + O, f"({telephone[0]})", _telephone, 0),
        (D + O, f"({telephone[1]})", _telephone, 0),
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
        (O, f"({clause_mark})", _as_is, 0),
        (O, "([?!]+)", _as_is, 0),
        (O, "([.\xa1\xbf\u037e\u0589\u061f\u06d4\u0700-\u0702\u07fa\u3002])", _as_is, 0),
        (O, "(=)", _as_is, 0),
        (O, "(/)", _as_is, 0),
        (L + D, rf"({hyphened}\.){clause_mark}", _without_soft_hyphens, 0),
        (L + D, f"({hyphened})", _without_soft_hyphens, 0),
        (L + D + O, rf"({compound}\.){clause_mark}", _as_is, 0),
        (L + D + O, f"({compound})", _as_is, 0),
        (L, rf"({joined_capitals}\.){clause_mark}", _plain_ampersand, 0),
        (L, f"({joined_capitals})", _plain_ampersand, 0),
        (O, "(')[A-Za-z][^ \t\n\r\xa0]", lambda text: "`", 0),
        (O, f"({clitic})", _closing_quotes, 0),
        (L, f"({negation})", _closing_quotes, 0),
        (O, f"(''|[{SINGLE_QUOTES}]{{1,2}}|{apostrophe})", _closing_quotes, 0),
        (O, "(<<|>>)", _as_is, 0),
        (O, f"({SYMBOLS})", _as_is, 0),
        (O, "([\0\u200b\u200e\u200f\ufeff]|[ \t\xa0\u2000-\u200a\u3000]+|(?ai:&nbsp;))", lambda text: "", 0),
    ]
    lists: dict[str, list[Rule]] = {L: [], D: [], O: []}
    for starts, pattern, printed, again in table:
        rule = Rule(re.compile(pattern), printed, again)
        for start in lists:
            if start in starts:
                lists[start].append(rule)
    return lists


def token(text: str, position: int, lists: dict[str, list[Rule]]) -> tuple[str, int]:
    """The token that starts at a position ("" for a character that is dropped) and where to go on reading."""
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
    if chosen.read_again and not printed.endswith("."):  # cannot, gonna: the tail is a token of its own
        return chosen.printed(printed[: -chosen.read_again]), end - chosen.read_again
    return chosen.printed(printed), end - chosen.read_again
