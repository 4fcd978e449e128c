"""Matchers: models that tell how well pictures and sentences fit. One line an entry."""

from typing import Any

from tellapart.matching.ltd_baseline import LTDBaseline
from tellapart.matching.pooled import Pooled
from tellapart.matching.pretrained import Pretrained
from tellapart.matching.scan import SCAN
from tellapart.matching.tern import TERN
from tellapart.matching.vse import VSE
from tellapart.matching.vsrn import VSRN

MATCHERS: dict[str, Any] = {
    "vse": VSE,
    "ltd-baseline": LTDBaseline,
    "scan": SCAN,
    "vsrn": VSRN,
    "tern": TERN,
    "pooled": Pooled,
    "pretrained": Pretrained,
}
