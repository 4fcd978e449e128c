"""Threads of a server share a few heaps."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import ctypes, sys, threading
if sys.argv[2] == "share":
    from tellapart.serve.heaps import share_heaps
    share_heaps()
together = threading.Barrier(8)
def work():
    together.wait()
    kept = [bytes(2000) for _ in range(100)]
    together.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="heaps of glibc")
def test_threads_share_heaps(tmp_path: Path) -> None:
    heaps = {}
    for how in ("share", "do not"):
        out = tmp_path / how
        subprocess.run([sys.executable, "-c", PROGRAM, str(out), how], check=True)
        heaps[how] = out.read_text().count("<heap nr=")
    assert heaps["share"] <= 2 < heaps["do not"]
