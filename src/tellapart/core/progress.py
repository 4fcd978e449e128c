"""A progress bar on a terminal that has rich; one line a minute elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


class Progress:
    """`for batch in bar.over(batches, total, "epoch 3"): bar.say(loss=…)`; silent when `quiet`."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.facts = ""
        self.rich = not quiet and sys.stderr.isatty() and _has_rich()

    def say(self, **facts: float) -> None:
        self.facts = "  ".join(f"{name} {value:.4g}" for name, value in facts.items())

    def line(self, text: str) -> None:
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def over(self, items: Iterable[Item], total: int, title: str, done: int = 0) -> Iterator[Item]:
        return self._with_bar(items, total, title, done) if self.rich else self._with_lines(items, total, title, done)

    def _with_bar(self, items: Iterable[Item], total: int, title: str, done: int) -> Iterator[Item]:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[facts]}"),
        )
        with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(title, total=total, completed=done, facts="")
            for item in items:
                yield item
                bar.update(task, advance=1, facts=self.facts)

    def _with_lines(self, items: Iterable[Item], total: int, title: str, done: int) -> Iterator[Item]:
        last = time.monotonic()
        for count, item in enumerate(items, start=done + 1):
            yield item
            if not self.quiet and time.monotonic() - last > 60:
                last = time.monotonic()
                self.line(f"{title}  {count}/{total}  {self.facts}")


def _has_rich() -> bool:
    try:
        import rich  # noqa: F401
    except ImportError:
        return False
    return True
