"""The package transformers: imported when it is needed, quiet while it opens a model, and off the network without one.

Its warnings are about its own settings; what a user must know is an InputError of this package.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import socket
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from pickle import UnpicklingError
from typing import Any
from urllib.parse import urlparse

from safetensors import SafetensorError

from tellapart.core.errors import InputError

HUB_ADDRESS = "https://huggingface.co"
UNUSED = ".pooler."
"""In names of weights that a task's checkpoint may lack, since nothing here reads the pooler of a text or an image."""
NAMED = 3
"""Missing weights that an error names."""
AGAIN = "download the model again, or give the folder of a complete one"


def transformers() -> Any:
    """The package transformers; InputError where it is not installed."""
    try:
        return importlib.import_module("transformers")
    except ImportError as error:
        raise InputError("Models named hf:… need transformers; run `pip install transformers`.") from error


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """No progress bar and no warning of transformers: the command line has its own."""
    settings = importlib.import_module("transformers.utils.logging")
    shown, verbosity = bool(settings.is_progress_bar_enabled()), int(settings.get_verbosity())
    settings.disable_progress_bar()
    settings.set_verbosity_error()
    try:
        yield
    finally:
        settings.set_verbosity(verbosity)
        if shown:
            settings.enable_progress_bar()


def files_only(name: str) -> bool:
    """Whether to look for a model in files alone: a folder is one, and without a network the hub's cache is all there
    is, which transformers would notice after half a minute of retries."""
    return Path(name).is_dir() or not _reachable(os.environ.get("HF_ENDPOINT") or HUB_ADDRESS)


@functools.cache
def _reachable(address: str) -> bool:
    """Whether the hub's name is known to this machine; a proxy may know it where the machine does not."""
    if urllib.request.getproxies():
        return True
    parsed = urlparse(address)
    try:
        socket.getaddrinfo(parsed.hostname, parsed.port or 443)
    except OSError:
        return False
    return True


def open_pretrained(loader: Any, name: str, missing_is_fine: str = UNUSED) -> tuple[Any, frozenset[str]]:
    """The model of a folder or hub name by a class of transformers, and the weights that its file lacks.

    Transformers fills weights that are missing with random numbers. Unless their names contain `missing_is_fine`, that
    is an InputError, as are weights of another shape and files that cannot be read.
    """
    options = {"output_loading_info": True, "ignore_mismatched_sizes": True}  # the error below names them
    try:
        with quietly():
            model, loaded = loader.from_pretrained(name, local_files_only=files_only(name), **options)
    except (SafetensorError, RuntimeError, EOFError, UnpicklingError) as error:
        if isinstance(error, RuntimeError) and ("alloc" in str(error) or "memory" in str(error)):
            raise
        raise InputError(unreadable(name, error)) from error
    for key, stored, built in sorted(loaded["mismatched_keys"])[:1]:
        raise InputError(
            f"The weights of '{name}' do not fit its config.json: {key} is {list(stored)} in the file and "
            f"{list(built)} by the configuration; {AGAIN}."
        )
    missing = frozenset(str(key) for key in loaded["missing_keys"])
    check_complete((key for key in missing if missing_is_fine not in f".{key}"), name)
    return model, missing


def check_complete(missing: Iterable[str], name: str) -> None:
    """Raise an InputError that names missing weights."""
    some = sorted(missing)
    if some:
        more = f" and {len(some) - NAMED} more" if len(some) > NAMED else ""
        raise InputError(
            f"The weights of '{name}' lack {', '.join(some[:NAMED])}{more}, which would be random; {AGAIN}."
        )


def unreadable(name: str, error: Exception) -> str:
    """Why the weights of a model could not be read, in a sentence."""
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    return f"The weights of '{name}' cannot be read ({reason}); {AGAIN}."
