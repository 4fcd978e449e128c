"""The captions that people wrote for a photo. It is found by its bytes or, after they changed, by path."""

from __future__ import annotations

import datetime
from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """A caption that a person saved."""

    caption: str | None
    """None: the generated caption was restored."""
    saved: datetime.datetime
