"""Errors that users see: what is wrong, where, and what to do next.

Library code names arguments, never flags or commands:

- Write an argument in backticks, alone or with the value to try: ``"`count` must be at least 1, not 0."``,
  ``"There is no GPU; use `device='cpu'`."``, ``"Name the folder with `images=FOLDER`."``
- Where a step is missing, say so in words and name the step:
  ``InputError("The pack has no grid features; extract them first.", Step("extract", "pack/", kind="grid"))``

The command line (`cli/errors.py`) prints `--count`, `--device cpu`, `--images FOLDER` for the arguments that are
options of the running verb, and adds "Run `tellapart extract pack/ --kind grid`." for a step.
"""

from __future__ import annotations


class Step:
    """A step to take first: a verb of the command line, what it works on, and its options."""

    def __init__(self, verb: str, *works_on: object, **options: object) -> None:
        self.verb, self.works_on, self.options = verb, works_on, options


class Error(Exception):
    """Base class of every error that tellapart raises on purpose. The message is one or two whole sentences."""

    def __init__(self, message: str = "", step: Step | None = None) -> None:
        super().__init__(message)
        self.step = step


class InputError(Error, ValueError):
    """A value, file or folder that cannot be used."""
