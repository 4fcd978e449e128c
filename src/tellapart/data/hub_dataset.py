"""Data sets of the model hub by name, read sample by sample through Hugging Face's `datasets`."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from tellapart.core.errors import InputError
from tellapart.data.readers.folder import SPLIT_VALUES
from tellapart.data.unpack_shards import IMAGE_COLUMNS, SPLITS, Sample, sample_of

HUB = "hf:"


def hub_samples(name: str) -> Iterator[Sample]:
    """The samples of every split of a data set; InputError where it cannot be had."""
    try:
        datasets = importlib.import_module("datasets")
    except ImportError as error:
        raise InputError(
            f"'{name}' is no folder, and data sets of the hub need datasets; run `pip install datasets`, or give a "
            "folder."
        ) from error
    try:
        parts = datasets.load_dataset(name, streaming=True)
    except Exception as error:  # datasets raises errors of many libraries where there is no network
        why = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"'{name}' is no folder, and it cannot be had from the hub ({why}). Check the name, or download the data "
            "set where there is a network and give its folder."
        ) from error
    return (sample for split, rows in parts.items() for sample in _rows(datasets, split, rows))


def _rows(datasets: object, split: str, rows: object) -> Iterator[Sample]:
    """The samples of one split, with images as the bytes of their files."""
    features = getattr(rows, "features", None) or {}
    for column in set(features) & set(IMAGE_COLUMNS):
        if type(features[column]).__name__ == "Image":
            rows = rows.cast_column(column, datasets.Image(decode=False))  # type: ignore[attr-defined]
    known = SPLIT_VALUES.get(split, split)
    for row in rows:  # type: ignore[attr-defined]
        yield sample_of(row, known if known in SPLITS else None)
