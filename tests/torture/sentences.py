"""What a user may see of a failure: one sentence, as the command line prints it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tellapart.core.errors import Error
from torture.campaign import check

LONGEST = 1500


@contextlib.contextmanager
def or_a_sentence() -> Iterator[None]:
    """Accept what the command line prints in a sentence; everything else is a failure, and so is a wall of text."""
    try:
        yield
    except Error as error:
        text = str(error)
        check(text.strip(), f"an empty {type(error).__name__}")
        check(len(text) < LONGEST, f"an error of {len(text)} characters: {text[:300]}")
        text.encode()  # half of a surrogate pair cannot be printed
    except OSError as error:
        if error.errno is None or isinstance(error, ConnectionError | TimeoutError):
            raise
