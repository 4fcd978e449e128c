"""`python -m benchmarks._page_load ADDRESS PHOTO "WORDS"`: many clients at once against a running `tellapart serve`.

Nine of ten clients search and open a small image of a result, the tenth uploads a photo. Each sends its next request
when the previous one is answered. `python -m benchmarks` does not run it, since it needs a running server.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import statistics
import time
from pathlib import Path

import httpx

PATIENCE = 60


async def visit(
    address: str, photo: bytes, words: str, until: float, times: dict[tuple[str, int], list[float]]
) -> None:
    """One client; an empty `photo` makes it one that searches."""
    async with httpx.AsyncClient(base_url=address, timeout=PATIENCE) as client:

        async def timed(kind: str, method: str, path: str, **content: object) -> httpx.Response:
            begun = time.monotonic()
            answer = await client.request(method, path, **content)  # type: ignore[arg-type]
            times[kind, answer.status_code].append(time.monotonic() - begun)
            return answer

        while time.monotonic() < until:
            if photo:
                await timed("photo", "POST", "/api/describe", files={"photo": photo})
                continue
            found = (await timed("search", "GET", "/api/search", params={"query": words})).json().get("photos", [])
            if found:
                await timed("image", "GET", f"/api/photos/{found[0]['id']}/image")


async def load(address: str, photo: bytes, words: str, clients: int, seconds: float) -> None:
    times: dict[tuple[str, int], list[float]] = collections.defaultdict(list)
    until = time.monotonic() + seconds
    await asyncio.gather(*(visit(address, b"" if n % 10 else photo, words, until, times) for n in range(clients)))
    for (kind, status), some in sorted(times.items()):
        print(f"{kind} {status}: {len(some)} answers, median {statistics.median(some):.3f} s, worst {max(some):.3f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("photo", type=Path)
    parser.add_argument("words")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    asked = parser.parse_args()
    asyncio.run(load(asked.address, asked.photo.read_bytes(), asked.words, asked.clients, asked.seconds))
