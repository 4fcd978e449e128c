"""Parts of regular expressions and tables of characters that the rules of tokenisation are made of."""

import re

from tellapart.metrics.captions.ptb.abbreviations import (
    INNER_ABBREVIATIONS,
    SENTENCE_FINAL_ABBREVIATIONS,
    SENTENCE_STARTERS,
)

SINGLE_QUOTES = "`\u2018\u2019\u201a\u201b\u201c\u201d\x91\x92\x93\x94\u201e\u201f\u2039\u203a\u00ab\u00bb"

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
