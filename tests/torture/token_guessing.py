"""Guessed tokens: nobody gets in, ten guesses a minute are judged, and who is signed in notices nothing."""

from __future__ import annotations

import functools
import hashlib
import random
import string
from pathlib import Path

from torture.campaign import Campaign, Case, check, number_of
from torture.served_index import MODULES, TOKEN, Running, get, make, start, status_of

CASES = 2_000
JUDGED = 10


@functools.cache
def _running(world: Path, scratch: Path) -> tuple[Running, list[int]]:
    """The server, and the statuses of guesses so far."""
    return start(world, scratch, TOKEN, patience=10), []


def guess(case: Case) -> None:
    """Send one wrong token in one of the ways in which a token can be given."""
    home = case.folder.parent / "guessed"
    home.mkdir(exist_ok=True)
    server, statuses = _running(case.folder, home)
    draw = random.Random(f"{case.seed} token {case.number}")
    near = TOKEN[: draw.randrange(len(TOKEN))] + draw.choice(string.ascii_letters)
    token = draw.choice((near, TOKEN.upper(), TOKEN + "x", "", "x" * 5000, "\x00", "é", TOKEN + " x"))
    how = draw.randrange(4)
    value = hashlib.sha256(token.encode()).hexdigest()
    name = f"tellapart-{hashlib.sha256(TOKEN.encode()).hexdigest()[:8]}"
    request = (
        get("/api/photos", "", f"Authorization: Bearer {token}"),
        get("/?token=" + "".join(f"%{byte:02x}" for byte in token.encode())),
        get("/api/photos", "", f"Cookie: {name}={value}"),
        get("/api/photos", "", f"Authorization: bearer  {token}", "Cookie: " + name + "=" + TOKEN),
    )[how]
    status = status_of(server.request(request))
    check(status in (400, 401, 429), f"status {status} for the token {token[:30]!r}, given in way {how}")
    if how != 2:
        statuses.append(status)
    if case.number % 50 == 0:
        own = f"Cookie: {name}={hashlib.sha256(TOKEN.encode()).hexdigest()}"
        check(status_of(server.request(get("/api/photos", "", own))) == 200, "a visitor who is signed in is locked out")
    if len(statuses) == 500:
        check(statuses.count(401) < 200, f"{statuses.count(401)} of 500 guesses were judged")
    check(server.is_alive(), "the server has ended")


TOKEN_GUESSING = Campaign(run=guess, count=number_of(CASES), sample=30, make=make, preload=MODULES, chunk=CASES)
