"""The one progress display: a bar on a terminal that has rich, one line per minute elsewhere, nothing when disabled."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Item = TypeVar("Item")
Advance = Callable[[int], None]
"""Adds this many finished items to a progress bar."""

SECONDS_BETWEEN_LINES = 60


@contextmanager
def progress_bar(
    total: int | None, label: str, *, enabled: bool = True, done: int = 0, unit: str = ""
) -> Iterator[Advance]:
    """Show progress on stderr until the block ends; the block calls the returned function as items finish.

    total: number of items, None if unknown. done: items finished before. unit: items, to show a rate ("images/s").
    """
    with Progress(enabled=enabled).bar(total, label, done, unit) as advance:
        yield advance


class Progress:
    """`for batch in progress.track(batches, total, "epoch 3"): progress.values(loss=…)`."""

    def __init__(self, enabled: bool = True) -> None:
        self.enabled = enabled
        self._values = ""
        self._on_terminal = enabled and sys.stderr.isatty() and _has_rich()

    def values(self, **values: float) -> None:
        """Show these numbers after the bar."""
        self._values = "  ".join(f"{name} {value:.4g}" for name, value in values.items())

    def line(self, text: str) -> None:
        """Write a line that stays."""
        if self.enabled:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()

    def track(self, items: Iterable[Item], total: int | None, label: str, done: int = 0) -> Iterator[Item]:
        """The items themselves; each counts as finished when the next is asked for."""
        with self.bar(total, label, done) as advance:
            for item in items:
                yield item
                advance(1)

    @contextmanager
    def bar(self, total: int | None, label: str, done: int = 0, unit: str = "") -> Iterator[Advance]:
        """A function that counts finished items, callable from any thread."""
        if not self.enabled:
            yield lambda count: None
        elif self._on_terminal:
            with self._rich_bar(total, label, done, unit) as advance:
                yield advance
        else:
            yield self._lines(total, label, done)

    @contextmanager
    def _rich_bar(self, total: int | None, label: str, done: int, unit: str) -> Iterator[Advance]:
        from rich import progress
        from rich.console import Console

        columns: list[Any] = [progress.TextColumn("{task.description}"), progress.BarColumn()]
        columns += [progress.MofNCompleteColumn()]
        columns += [progress.TimeElapsedColumn() if total is None else progress.TimeRemainingColumn()]
        columns += [progress.TextColumn("{task.fields[rate]}"), progress.TextColumn("{task.fields[values]}")]
        console = Console(stderr=True)
        with progress.Progress(*columns, console=console, transient=True, speed_estimate_period=20) as shown:
            task = shown.add_task(label, total=total, completed=done, rate="", values="")

            def advance(count: int) -> None:
                speed = shown.tasks[0].speed
                rate = f"{speed:.0f} {unit}/s" if unit and speed else ""
                shown.update(task, advance=count, rate=rate, values=self._values)

            yield advance

    def _lines(self, total: int | None, label: str, done: int) -> Advance:
        finished, last, guard = done, time.monotonic(), threading.Lock()

        def advance(count: int) -> None:
            nonlocal finished, last
            with guard:
                finished += count
                if time.monotonic() - last > SECONDS_BETWEEN_LINES:
                    last = time.monotonic()
                    self.line(f"{label}  {finished}{'' if total is None else f'/{total}'}  {self._values}".rstrip())

        return advance


def _has_rich() -> bool:
    try:
        import rich  # noqa: F401
    except ImportError:
        return False
    return True
