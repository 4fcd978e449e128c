"""Matchers: models that score how well images and captions match.

To add one, write a file with a settings class that has `build(inputs)`, and add a line to MATCHERS.
"""

from typing import Any

from tellapart.models.matchers.dual_encoder import DualEncoder
from tellapart.models.matchers.ltd_baseline import LTDBaseline
from tellapart.models.matchers.pooled import Pooled
from tellapart.models.matchers.pretrained import Pretrained
from tellapart.models.matchers.scan import SCAN
from tellapart.models.matchers.tern import TERN
from tellapart.models.matchers.vse import VSE
from tellapart.models.matchers.vsrn import VSRN

MATCHERS: dict[str, Any] = {
    "vse": VSE,
    "ltd-baseline": LTDBaseline,
    "scan": SCAN,
    "vsrn": VSRN,
    "tern": TERN,
    "pooled": Pooled,
    "dual-encoder": DualEncoder,
    "pretrained": Pretrained,
}
