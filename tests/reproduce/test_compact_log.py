"""The log that a result keeps: epochs whole, steps thinned."""

import json
from pathlib import Path

from tellapart.reproduce.cache import Cache, Result
from tellapart.reproduce.compact_log import STEPS, compact_log
from tellapart.reproduce.measurement import Measurement


def made_log() -> list[dict[str, object]]:
    """Two stages of five epochs with a hundred logged steps each."""
    rows: list[dict[str, object]] = []
    for stage in ("first", "second"):
        for epoch in range(5):
            for step in range(100):
                rows.append({"stage": stage, "epoch": epoch, "total": 100 * epoch + step, "multiplier": step / 3})
            rows.append({"stage": stage, "epoch": epoch, "total": 100 * epoch + 99, "mean_loss": 1 / 3})
    return rows


def test_epochs_stay_and_steps_are_thinned() -> None:
    rows = [json.loads(line) for line in compact_log(made_log()).splitlines()]
    assert sum("mean_loss" in row for row in rows) == 10
    steps = [row for row in rows if "multiplier" in row]
    assert len(steps) == 2 * STEPS and rows[0]["mean_loss" if "mean_loss" in rows[0] else "multiplier"] == 0
    first = [row["total"] for row in steps if row["stage"] == "first"]
    assert first[0] == 0 and first[-1] == 499 and first == sorted(first)
    assert {row["mean_loss"] for row in rows if "mean_loss" in row} == {0.33333}


def test_a_compact_log_stays_as_it_is() -> None:
    once = compact_log(made_log())
    assert compact_log([json.loads(line) for line in once.splitlines()]) == once


def test_a_result_keeps_its_log_when_measured_again(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made_log()))
    cache = Cache(tmp_path / "cache")
    names: tuple[str, ...] = (
        "key",
        "recipe_hash",
        "recipe",
        "seed",
        "fingerprint",
        "pack",
        "features",
        "share",
        "split",
        "seconds",
    )
    values: tuple[object, ...] = ("k", "h", {}, 0, "f", "p", None, 1.0, "test", 1.0)
    result = Result(**dict(zip(names, values)), device="cpu")  # type: ignore[arg-type]
    cache.store(result, {"a": Measurement({"x": 1.0})}, tmp_path / "log.jsonl")
    written = cache.log_path("k").read_text()
    cache.store(result, {"b": Measurement({"y": 1.0})}, cache.log_path("k"))
    assert cache.log_path("k").read_text() == written and len(written.splitlines()) == 10 + 2 * STEPS
