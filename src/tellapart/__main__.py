"""`python -m tellapart` is `tellapart`."""

from tellapart.cli.main import run

run()
