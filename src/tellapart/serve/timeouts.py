"""uvicorn's HTTP protocol with two more timeouts, so that slow clients hold neither memory nor sockets."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 20.0
"""For the header of a request to arrive, from the connection or from its first byte."""
READ_SECONDS = 60.0
"""For a client that has stopped reading the response."""


class TimeoutProtocol(H11Protocol):
    """Closes connections that miss a deadline. `AccessMiddleware` limits the time for the body of a request."""

    _header_timer: asyncio.TimerHandle | None = None
    _read_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._header_timer = self.loop.call_later(HEADER_SECONDS, transport.abort)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        waits_for_header = self.cycle is None or self.cycle.response_complete
        if not waits_for_header:
            self._cancel("_header_timer")
        elif self._header_timer is None:
            self._header_timer = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._read_timer = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cancel("_read_timer")

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._cancel("_header_timer")
        self._cancel("_read_timer")

    def _cancel(self, name: Literal["_header_timer", "_read_timer"]) -> None:
        timer: asyncio.TimerHandle | None = getattr(self, name)
        if timer is not None:
            timer.cancel()
        setattr(self, name, None)
