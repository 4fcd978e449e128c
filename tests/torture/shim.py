"""Control of the preloaded library `shim.c`: compile it, start Python with it, and arm it in a child process."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

OFF, COUNT, KILL, FULL = range(4)
"""What the library does at a write: nothing; count; kill the process at point N; fail from point N on (ENOSPC)."""
SOURCE = Path(__file__).with_name("shim.c")


def compiler() -> str | None:
    """A C compiler of this machine."""
    return next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)


def is_loaded() -> bool:
    """Whether this process runs with the library."""
    return hasattr(ctypes.CDLL(None), "shim_arm")


def restart_with_shim(folder: Path) -> None:
    """Replace this process by the same command with the library; do nothing where there is no compiler."""
    found = compiler()
    if is_loaded() or found is None or not sys.platform.startswith("linux"):
        return
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "shim.so"
    subprocess.run([found, "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"], check=True)
    os.environ["LD_PRELOAD"] = str(library)
    os.execv(sys.executable, [sys.executable, "-m", "torture", *sys.argv[1:]])


def arm(mode: int, point: int, folder: Path) -> None:
    """Count operations that write under `folder` from now on, and act at the given one (from 1)."""
    ctypes.CDLL(None).shim_arm(ctypes.c_int(mode), ctypes.c_long(point), os.fsencode(folder.resolve()))


def seen() -> int:
    """Operations since `arm`."""
    return _long("shim_seen")


def skip_sync() -> None:
    """Flush nothing to the disk from now on, which `kill -9` does not need: cases become several times faster."""
    if is_loaded():
        ctypes.CDLL(None).shim_skip_sync()


def go_offline() -> None:
    """Let every connection to another machine fail, and count them."""
    ctypes.CDLL(None).shim_offline()


def connections() -> int:
    """Connections and look-ups of names that were tried since `go_offline`."""
    return _long("shim_connections")


def jump(on: bool) -> None:
    """Let the time of day jump by up to 20 days, back and forth, whenever it is read."""
    ctypes.CDLL(None).shim_jump(ctypes.c_int(on))


def _long(name: str) -> int:
    function = getattr(ctypes.CDLL(None), name)
    function.restype = ctypes.c_long
    return int(function())
