"""NVIDIA's multi-process service, played by a script that writes down how it was called."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tellapart.core import shared_gpu
from tellapart.core.errors import InputError
from tellapart.core.shared_gpu import CONTROL, LOGS, PIPES

SERVICE = """#!/bin/sh
echo "$* $(cat)" >> "{calls}"
[ -d "$CUDA_MPS_PIPE_DIRECTORY" ] && [ -d "$CUDA_MPS_LOG_DIRECTORY" ] || echo no folders >> "{calls}"
exit {status}
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(shared_gpu, "ALSO_HERE", str(tmp_path / "nothing"))
    monkeypatch.delenv(PIPES, raising=False)
    return tmp_path / "calls"


def service(calls: Path, status: int = 0) -> None:
    program = calls.parent / CONTROL
    program.write_text(SERVICE.format(calls=calls, status=status))
    program.chmod(0o755)


def test_the_service_runs_meanwhile_and_ends(calls: Path) -> None:
    service(calls)
    with pytest.raises(KeyError), shared_gpu.shared_gpu():
        assert Path(os.environ[PIPES]).is_dir() and Path(os.environ[LOGS]).is_dir()
        raise KeyError
    assert [line.strip() for line in calls.read_text().splitlines()] == ["-d", "quit"]
    assert PIPES not in os.environ and LOGS not in os.environ


def test_a_service_that_runs_is_used(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service(calls)
    monkeypatch.setenv(PIPES, "elsewhere")
    with shared_gpu.shared_gpu():
        assert os.environ[PIPES] == "elsewhere"
    assert not calls.exists() and os.environ[PIPES] == "elsewhere"


def test_errors_say_what_to_do(calls: Path) -> None:
    with pytest.raises(InputError, match="which is not here; run the jobs without sharing"), shared_gpu.shared_gpu():
        pass
    service(calls, status=3)
    with pytest.raises(InputError, match=r"failed \(exit status 3\)"), shared_gpu.shared_gpu():
        pass
    assert PIPES not in os.environ
