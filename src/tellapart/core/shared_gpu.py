"""Processes that compute on one GPU at the same time, through NVIDIA's multi-process service.

Without it their kernels take turns, and small kernels leave most of a large GPU idle.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tellapart.core.errors import InputError

CONTROL = "nvidia-cuda-mps-control"
ALSO_HERE = "/usr/local/nvidia/bin"
"""Where containers with a GPU have NVIDIA's programs."""
PIPES, LOGS = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"
PATIENCE = 20.0
"""Seconds that the service may take to start or to stop."""


@contextlib.contextmanager
def shared_gpu() -> Iterator[None]:
    """Run the service; processes that start meanwhile use it. Where it runs already, that one is used and stays."""
    if os.environ.get(PIPES):
        yield
        return
    program = shutil.which(CONTROL) or shutil.which(CONTROL, path=ALSO_HERE)
    if program is None:
        raise InputError(
            f"Sharing a GPU needs NVIDIA's program {CONTROL}, which is not here; run the jobs without sharing."
        )
    with tempfile.TemporaryDirectory() as folder:
        places = {PIPES: str(Path(folder, "pipes")), LOGS: str(Path(folder, "logs"))}
        for place in places.values():
            Path(place).mkdir()
        os.environ.update(places)
        try:
            _call(program, "-d")
            try:
                yield
            finally:
                _call(program, command="quit\n")
        finally:
            for name in places:
                os.environ.pop(name, None)


def _call(program: str, *options: str, command: str | None = None) -> None:
    try:
        done = subprocess.run(
            [program, *options], input=command, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{program} does not answer ({error}); run the jobs without sharing.") from error
    if done.returncode:
        reason = (done.stderr or done.stdout).strip() or f"exit status {done.returncode}"
        raise InputError(f"{program} failed ({reason}); run the jobs without sharing.")
