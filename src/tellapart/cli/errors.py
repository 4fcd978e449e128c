"""Errors of the library in the words of the command line: arguments become flags, missing steps become commands."""

from __future__ import annotations

import ast
import dataclasses
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from tellapart.core.errors import Error, Step

ARGUMENT = re.compile(r"`([a-z][a-z0-9_]*)(?:=([^`]+))?`")
"""An argument in backticks, alone or with a value: `count`, `device='cpu'`."""

OPTIONS = {"batch_size": "batch", "boxes": "object_boxes", "attention": "show_attention"}
"""Arguments whose option has another name on the command line."""


def option_names(options: type) -> dict[str, str]:
    """How the command line writes each field of a verb's options: `--out`, or PACK for a positional.

    >>> from tellapart.cli.extract import ExtractOptions
    >>> names = option_names(ExtractOptions)
    >>> names["pack"], names["regions_from"]
    ('PACK', '--regions-from')
    """
    hints = get_type_hints(options, include_extras=True)
    names: dict[str, str] = {}
    for field in dataclasses.fields(options):
        hint = hints[field.name]
        inner, extras = (get_args(hint)[0], get_args(hint)[1:]) if get_origin(hint) is Annotated else (hint, ())
        if dataclasses.is_dataclass(inner) and isinstance(inner, type):
            names = {**option_names(inner), **names}
        elif any(_is_positional(extra) for extra in extras):
            metavars = [extra.metavar for extra in extras if getattr(extra, "metavar", None)]
            names[field.name] = metavars[0] if metavars else field.name.upper()
        else:
            names[field.name] = _flag(field.name)
    return names


def for_command_line(error: Error, names: Mapping[str, str]) -> str:
    """The message of an error with flags for arguments, and the command for the step that is missing.

    >>> names = {"count": "--count", "device": "--device", "overwrite": "--overwrite"}
    >>> for_command_line(Error("`count` must be at least 1."), names)
    '--count must be at least 1.'
    >>> for_command_line(Error("There is no GPU; use `device='cpu'`. See `docs`."), names)
    'There is no GPU; use --device cpu. See `docs`.'
    >>> for_command_line(Error("It exists; add `overwrite=True`."), names)
    'It exists; add --overwrite.'
    >>> for_command_line(Error("Extract features first.", Step("extract", "my pack", kind="grid")), names)
    "Extract features first. Run `tellapart extract 'my pack' --kind grid`."
    """
    text = ARGUMENT.sub(lambda match: _with_flag(match, names), str(error))
    return f"{text} Run `{command(error.step)}`." if error.step else text


def command(step: Step) -> str:
    """The command line of a step."""
    words = ["tellapart", step.verb, *(_quoted(value) for value in step.works_on)]
    return " ".join(words + [_option(_flag(name), value) for name, value in step.options.items()])


def exit_code(work: Callable[[], object]) -> int:
    """Run a small program: 0, or 1 with the message of its Error on standard error."""
    try:
        work()
    except Error as error:
        print(for_command_line(error, {}), file=sys.stderr)
        return 1
    return 0


def _with_flag(match: re.Match[str], names: Mapping[str, str]) -> str:
    argument, value = match.groups()
    name = argument if argument in names else OPTIONS.get(argument, argument)
    if name not in names:
        return match[0]
    return names[name] if value is None else _option(names[name], _literal(value))


def _literal(text: str) -> Any:
    """A value as Python writes it; anything else, such as FOLDER, as it stands."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _option(flag: str, value: object) -> str:
    if isinstance(value, bool):
        return flag if value else flag.replace("--", "--no-", 1)
    values = value if isinstance(value, tuple | list) else (value,)
    words = [_quoted(one) for one in values]
    return " ".join([flag, *words] if flag.startswith("--") else words)


def _quoted(value: object) -> str:
    """A word for a POSIX shell; placeholders such as FOLDER and 'RUN …' stay readable."""
    text = str(value)
    return text if text.isupper() else shlex.quote(text)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _is_positional(extra: object) -> bool:
    import tyro

    return extra is tyro.conf.Positional
