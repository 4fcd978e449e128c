"""Memory of a server with many threads: glibc gives every thread a separate heap, and each grows and is kept."""

from __future__ import annotations

import contextlib
import ctypes

M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
"""Names of glibc's settings, see mallopt(3)."""
HEAPS = 2
LARGE = 2 << 20
"""Bytes of a block that goes back to the system as soon as it is free."""


def share_heaps() -> None:
    """Let all threads share a few heaps, and return large blocks at once; nothing where there is no glibc."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(M_ARENA_MAX, HEAPS)
        libc.mallopt(M_MMAP_THRESHOLD, LARGE)
