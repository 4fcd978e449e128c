"""A hash of weights inside their file, so that a flipped bit is noticed when they are read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

from tellapart.core.errors import InputError

HASH = "weights_hash"
"""The entry in the file's metadata; files of earlier versions have none."""


def hash_of_weights(weights: Mapping[str, Tensor]) -> str:
    """A hash of names, types, shapes and values, in any order of the names.

    >>> one, other = {"a": torch.zeros(2), "b": torch.ones(())}, {"b": torch.ones(()), "a": torch.zeros(2)}
    >>> hash_of_weights(one) == hash_of_weights(other) != hash_of_weights({"a": torch.zeros(2)})
    True
    """
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(weights):
        value = weights[name].detach().cpu().contiguous()
        digest.update(f"{name} {value.dtype} {list(value.shape)}\n".encode())
        digest.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def with_hash(weights: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> dict[str, str]:
    """Metadata of a file of weights: the given ones and the hash of these weights."""
    return {**(metadata or {}), HASH: hash_of_weights(weights)}


def check_hash(path: Path, weights: Mapping[str, Tensor]) -> None:
    """Raise an InputError if weights that were read are not those that were written."""
    with safe_open(path, "pt") as file:
        expected = (file.metadata() or {}).get(HASH)
    if expected is not None and hash_of_weights(weights) != expected:
        raise InputError(
            f"{path} is damaged: its weights are not those that were written. Copy the run again from where it is "
            "whole, or train it again."
        )
