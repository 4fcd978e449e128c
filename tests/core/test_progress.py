"""The progress display: silent when disabled, lines elsewhere, a bar on a terminal."""

import io
import sys

import pytest

from tellapart.core import progress
from tellapart.core.progress import Progress, progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_disabled_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar(3, "work", enabled=False) as advance:
        advance(3)
    quiet = Progress(enabled=False)
    assert list(quiet.track([1, 2], 2, "work")) == [1, 2]
    quiet.line("a line")
    assert capsys.readouterr() == ("", "")


def test_lines_count_from_what_was_done_before(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", -1)
    shown = Progress()
    for _ in shown.track("ab", 7, "epoch 1", done=5):
        shown.values(loss=0.5)
    with progress_bar(None, "indexing") as advance:
        advance(4)
    assert capsys.readouterr().err.splitlines() == ["epoch 1  6/7  loss 0.5", "epoch 1  7/7  loss 0.5", "indexing  4"]


@pytest.mark.parametrize("total", [2, None])
def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, total: int | None) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar(total, "checking images", unit="images") as advance:
        advance(1)
        advance(1)
    assert "checking images" in sys.stderr.getvalue()  # type: ignore[attr-defined]
