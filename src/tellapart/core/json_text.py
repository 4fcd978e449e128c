"""Parsing JSON that others wrote: every fault is an error that names the line."""

from __future__ import annotations

import json
from typing import Any


class BrokenJson(ValueError):
    """Text that is not JSON, or whose values cannot be stored; `line` counts from 1."""

    def __init__(self, message: str, line: int, column: int = 0) -> None:
        super().__init__(message)
        self.line, self.column = line, column


def parse_json(text: str) -> Any:
    """The value of a JSON text, or a BrokenJson error.

    Rejected too: half of a surrogate pair, which is no text and cannot be written to a file; numbers of more digits
    than Python converts; and values nested deeper than Python follows.

    >>> parse_json('{"a": [1, 2]}')
    {'a': [1, 2]}
    >>> parse_json(r'["\\ud800"]')
    Traceback (most recent call last):
    tellapart.core.json_text.BrokenJson: half of a surrogate pair, which is not text
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise BrokenJson(error.msg, error.lineno, error.colno) from error
    except RecursionError as error:
        raise BrokenJson("its values are nested too deeply", 1) from error
    except ValueError as error:  # an integer of more than 4,300 digits
        raise BrokenJson("a number has too many digits", _line_of_longest_number(text)) from error
    if "\\ud" in text or "\\uD" in text:
        _check_surrogates(value, text)
    return value


def _check_surrogates(value: Any, text: str) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        escape = f"\\u{ord(error.object[error.start]):04x}"
        place = max(0, text.lower().find(escape))
        raise BrokenJson("half of a surrogate pair, which is not text", text.count("\n", 0, place) + 1) from error


def _line_of_longest_number(text: str) -> int:
    lines = text.split("\n")
    return 1 + max(range(len(lines)), key=lambda number: sum(map(str.isdigit, lines[number])))
