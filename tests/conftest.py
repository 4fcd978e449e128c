"""Shared fixtures: where the real data lies, and a place for temporary packs."""

import os
from pathlib import Path

import pytest

SHARED_DATA = Path(os.environ.get("TELLAPART_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real photos, captions and judgements; tests that need it skip where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"real data not found at {SHARED_DATA}; set TELLAPART_DATA to its folder to run this test")
    return SHARED_DATA
