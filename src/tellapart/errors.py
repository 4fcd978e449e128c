"""The one exception users see: a sentence that says what is wrong, where, and what to do next."""


class InputError(ValueError):
    """Something the user gave cannot be used. The message is one or two whole sentences; no traceback is shown."""
