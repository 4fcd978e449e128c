"""Work that is faster together: what arrives while a batch is running makes up the next batch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

Item = TypeVar("Item")
Result = TypeVar("Result")


class BatchQueue(Generic[Item, Result]):
    """Gives `work` up to `together` items at a time, one batch after another, with at most `waiting` in the queue.

    `work` returns a result or an exception for each item, in order. If it raises, each item is tried alone.
    """

    def __init__(
        self, work: Callable[[Sequence[Item]], Sequence[Result | Exception]], together: int, waiting: int
    ) -> None:
        self.work, self.together, self.waiting = work, together, waiting
        self._queue: list[tuple[Item, asyncio.Future[Result]]] = []
        self._running: asyncio.Task[None] | None = None

    async def run(self, item: Item) -> Result:
        """The result of an item; an HTTPException with status 503 if the queue is full."""
        if len(self._queue) >= self.waiting:
            raise HTTPException(503, "The server is busy; try again in a moment.", {"Retry-After": "2"})
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._queue.append((item, future))
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        return await future

    async def _run(self) -> None:
        while self._queue:
            batch, self._queue = self._queue[: self.together], self._queue[self.together :]
            batch = [one for one in batch if not one[1].cancelled()]  # of visitors who have left
            if batch:
                await self._run_batch(batch)

    async def _run_batch(self, batch: Sequence[tuple[Item, asyncio.Future[Result]]]) -> None:
        results = await run_in_threadpool(self._results, [item for item, _ in batch])
        for (_, future), result in zip(batch, results):
            if future.cancelled():
                continue
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)

    def _results(self, items: list[Item]) -> Sequence[Result | Exception]:
        """In a thread: what `work` returns; its error concerns the item that causes it."""
        try:
            return self.work(items)
        except Exception as error:
            return [error] if len(items) == 1 else [self._results([item])[0] for item in items]
