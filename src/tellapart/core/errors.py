"""The one exception users see: a sentence that says what is wrong, where, and what to do next."""

import sys
from collections.abc import Callable


class InputError(ValueError):
    """Something the user gave cannot be used. The message is one or two whole sentences; no traceback is shown."""


def exit_code(work: Callable[[], object]) -> int:
    """Do the work of a small program: 0, or 1 and the sentence on standard error."""
    try:
        work()
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    return 0
