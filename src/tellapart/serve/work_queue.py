"""Bounded concurrency for slow work: a few calls run at once, some wait, and the rest get status 503."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

Result = TypeVar("Result")


class WorkQueue:
    """Runs functions in threads, `concurrent` at a time, with at most `waiting` more in the queue."""

    def __init__(self, concurrent: int, waiting: int) -> None:
        self.capacity, self.pending = concurrent + waiting, 0
        self._free = asyncio.Semaphore(concurrent)

    async def run(self, work: Callable[[], Result]) -> Result:
        """The result of `work`; an HTTPException with status 503 if the queue is full."""
        if self.pending >= self.capacity:
            raise HTTPException(503, "The server is busy; try again in a moment.", {"Retry-After": "2"})
        self.pending += 1
        try:
            async with self._free:
                return await run_in_threadpool(work)
        finally:
            self.pending -= 1
