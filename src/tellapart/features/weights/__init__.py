"""Weights of backbones that this package contains, and their exported graphs.

`efficientnet-lite2-coco` was tuned on COCO images and captions (see the model card in tellapart/runs/bundled).
"""

from pathlib import Path

WEIGHTS = Path(__file__).parent
