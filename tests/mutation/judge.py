"""Runs the tests of a mutant in a forked process: torch is imported once, and the changed module is never stored."""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from mutation.mapping import ROOT, modules

BELOW = ("core", "images", "text", "data", "features")
"""Packages that import none of those that are changed."""
KILLED, SURVIVED, TIMED_OUT = "killed", "survived", "timed out"


def preload() -> None:
    """Import what all tests need and no mutant changes."""
    import hypothesis
    import numpy
    import pytest
    import scipy.stats
    import torch

    torch.set_num_threads(1)
    hypothesis.settings.register_profile("few", max_examples=20, deadline=None)
    hypothesis.settings.load_profile("few")
    for package in BELOW:
        for name in modules(package):
            with contextlib.suppress(ImportError):
                importlib.import_module(name.removesuffix(".__init__"))
    del numpy, pytest, scipy


class OneModule(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a changed text."""

    def __init__(self, module: str, path: Path, source: str) -> None:
        self.module, self.path, self.source = module, path, source

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name not in (self.module, self.module.removesuffix(".__init__")):
            return None
        package = [str(self.path.parent)] if self.path.name == "__init__.py" else None
        spec = importlib.util.spec_from_file_location(name, self.path, loader=self, submodule_search_locations=package)
        return spec

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.source, str(self.path), "exec"), module.__dict__)


def judge(changed: OneModule, tests: Sequence[str], limit: float) -> str:
    """The verdict of the tests."""
    started = time.monotonic()
    child = os.fork()
    if not child:
        os._exit(_run(changed, tests))
    while time.monotonic() - started < limit:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return SURVIVED if os.waitstatus_to_exitcode(status) == 0 else KILLED
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return TIMED_OUT


def _run(changed: OneModule, tests: Sequence[str]) -> int:
    """In the forked process: pytest's exit code; nothing is printed."""
    os.setpgid(0, 0)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    import pytest

    sys.meta_path.insert(0, changed)
    options = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", "-m", "not slow and not java"]
    try:
        return int(pytest.main([*options, *(str(ROOT / test) for test in tests)]))
    except BaseException:  # an import that the mutant breaks ends the run
        return 1
