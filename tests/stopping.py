"""Training that is stopped after some steps, as by a kill."""

from __future__ import annotations

import pytest

from tellapart.training import loop


class Stopped(Exception):
    pass


def stop_after(steps: int, patch: pytest.MonkeyPatch) -> None:
    """Raise Stopped in place of the step after these; of a number below zero, never."""
    learn, calls = loop.training_step, []

    def counted(*arguments: object) -> object:
        if len(calls) == steps:
            raise Stopped
        calls.append(1)
        return learn(*arguments)  # type: ignore[arg-type]

    patch.setattr(loop, "training_step", counted)
