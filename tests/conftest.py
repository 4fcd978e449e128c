"""Shared fixtures: where the real data lies, and a place for temporary packs."""

import os
from pathlib import Path

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:  # several processes share the cores
    os.environ.setdefault("OMP_NUM_THREADS", "1")

from tiny_pack import make_tiny_pack

SHARED_DATA = Path(os.environ.get("TELLAPART_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real photos, captions and judgements; tests that need it skip where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"real data not found at {SHARED_DATA}; set TELLAPART_DATA to its folder to run this test")
    return SHARED_DATA


@pytest.fixture(scope="session")
def tiny_pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small pack with features of every kind; read-only by agreement."""
    return make_tiny_pack(tmp_path_factory.mktemp("packs") / "tiny").folder


@pytest.fixture(scope="session")
def photo_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Drawn photos with a pack of them, two captioners and a matcher; read-only by agreement."""
    from photo_world import make_world

    return make_world(tmp_path_factory.mktemp("photos") / "world")


@pytest.fixture
def pretended_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training with `replay=True` records its steps without a GPU: nothing may be asked of the device."""
    from recording_world import PretendedReplay
    from tellapart.objectives.recordable import Recordable
    from tellapart.training import loop

    monkeypatch.setattr(loop, "Replay", PretendedReplay)
    monkeypatch.setattr(loop, "make_replayable", lambda optimiser, device: None)

    def can_be_replayed(stage: object, objective: object, context: object) -> bool:
        PretendedReplay.objective = objective  # type: ignore[assignment]
        return isinstance(objective, Recordable)

    monkeypatch.setattr(loop, "_can_be_replayed", can_be_replayed)
