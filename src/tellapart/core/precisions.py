"""The precisions in which models read images."""

from __future__ import annotations

from typing import Literal

Precision = Literal["auto", "float32", "bfloat16", "float16", "int8"]
