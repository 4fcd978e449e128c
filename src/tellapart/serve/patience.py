"""Slow clients are let go, so that they hold neither memory nor sockets: uvicorn's protocol with two deadlines."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 20.0
"""For the head of a request to arrive, counted from the connection or from its first byte."""
READ_SECONDS = 60.0
"""For a client that has stopped reading its answer."""


class ImpatientProtocol(H11Protocol):
    """The body of a request has its own deadline in `Guard`."""

    _head: asyncio.TimerHandle | None = None
    _stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._head = self.loop.call_later(HEADER_SECONDS, transport.abort)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        waiting = self.cycle is None or self.cycle.response_complete
        if not waiting:
            self._calm("_head")
        elif self._head is None:
            self._head = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stuck = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._calm("_stuck")

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._calm("_head")
        self._calm("_stuck")

    def _calm(self, deadline: Literal["_head", "_stuck"]) -> None:
        timer: asyncio.TimerHandle | None = getattr(self, deadline)
        if timer is not None:
            timer.cancel()
        setattr(self, deadline, None)
