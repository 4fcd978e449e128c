"""A limit on wrong tokens, so that nobody can try thousands of them."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable

TRIES = 10
"""Wrong tokens that an address may send before it has to wait."""
SECONDS = 60.0
"""For which a wrong token counts."""
ADDRESSES = 10_000
"""Addresses that are remembered; the oldest are forgotten first."""


class WrongTokens:
    """Times of wrong tokens by address. One person may hold many IPv6 addresses, so their networks count as one."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: dict[str, list[float]] = {}

    def wait(self, address: str) -> float:
        """Seconds that an address has to wait before its next try; 0 for none."""
        times = self._recent(_network(address))
        return max(0.0, times[-TRIES] + SECONDS - self._clock()) if len(times) >= TRIES else 0.0

    def add(self, address: str) -> None:
        """Count a wrong token."""
        key = _network(address)
        times = [*self._recent(key), self._clock()]
        self._times.pop(key, None)  # to the end: it is the newest now
        self._times[key] = times[-TRIES:]
        while len(self._times) > ADDRESSES:
            del self._times[next(iter(self._times))]

    def _recent(self, key: str) -> list[float]:
        now = self._clock()
        return [one for one in self._times.get(key, []) if now - one < SECONDS]


def _network(address: str) -> str:
    """The address, or of an IPv6 address its network.

    >>> _network("192.0.2.7"), _network("2001:db8::1:2:3:4")
    ('192.0.2.7', '2001:db8::/64')
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is None:
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return address
