"""Eval mode for a model whose gradient is still needed, such as training without dropout."""

from __future__ import annotations

from typing import TypeVar

from torch import nn

from tellapart.core.errors import InputError

Model = TypeVar("Model", bound=nn.Module)


def eval_with_gradients(model: Model) -> Model:
    """The model in eval mode, except for its recurrent layers, whose gradient cuDNN computes only in training mode.

    A recurrent layer computes the same in both modes, unless it has dropout between its own layers.
    """
    model.eval()
    for name, layer in model.named_modules():
        if isinstance(layer, nn.RNNBase):
            if layer.dropout > 0 and layer.num_layers > 1:
                raise InputError(
                    f"The layer '{name}' has dropout {layer.dropout:g} between its own layers, so that it has no "
                    "gradient without dropout on a GPU. Set its dropout to 0."
                )
            layer.train()
    return model
