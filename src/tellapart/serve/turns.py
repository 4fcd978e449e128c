"""Heavy work takes turns: a few at once, some waiting, and the rest are told to come back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

Result = TypeVar("Result")


class Turns:
    """Runs functions in threads, `at_once` of them, with `waiting` more in line."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self.most, self.inside = at_once + waiting, 0
        self._free = asyncio.Semaphore(at_once)

    async def take(self, work: Callable[[], Result]) -> Result:
        if self.inside >= self.most:
            raise HTTPException(503, "Too many are asking at once; try again in a moment.", {"Retry-After": "2"})
        self.inside += 1
        try:
            async with self._free:
                return await run_in_threadpool(work)
        finally:
            self.inside -= 1
