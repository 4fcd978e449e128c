"""Columns that captioning tables share. Values are in percent: a paper's BLEU-4 of 0.327 is 32.7 here."""

from __future__ import annotations

from tellapart.reproduce.table import Column

TEXT_METRICS = (
    *(Column(f"B-{order}", f"bleu{order}", "text-metrics") for order in (1, 2, 3, 4)),
    Column("METEOR", "meteor", "text-metrics"),
    Column("ROUGE-L", "rouge_l", "text-metrics"),
    Column("CIDEr", "cider", "text-metrics"),
)
SELF_RETRIEVAL = tuple(Column(f"top-{rank}", f"top{rank}", "self-retrieval") for rank in (1, 5, 50, 500))
SECONDS = Column("seconds", "seconds", "training", decimals=0)
PARAMETERS = Column("parameters", "parameters", "size")


def percent(*values: float) -> tuple[float, ...]:
    """Fractions times 100.

    >>> percent(0.327, 1.042)
    (32.7, 104.2)
    """
    return tuple(round(100 * value, 4) for value in values)
