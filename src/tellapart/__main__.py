"""`python -m tellapart` is `tellapart`."""

from tellapart.cli import run

run()
