"""Open a model of `transformers` with its tokeniser, from a folder or a hub name."""

from __future__ import annotations

from typing import Any

from tellapart.core.errors import InputError
from tellapart.core.hub import files_only, open_pretrained, quietly


def open_transformers_model(source: str, pretrained: bool, kind: str) -> tuple[Any, Any]:
    """(model, tokeniser) of a folder or name; with random weights unless `pretrained`.

    kind: what errors call the model.
    """
    try:
        from transformers import AutoConfig, AutoModel, AutoTokenizer
    except ImportError as error:
        raise InputError(f"A {kind} needs transformers; run `pip install transformers`.") from error
    local = files_only(source)
    try:
        with quietly():
            tokeniser = AutoTokenizer.from_pretrained(source, local_files_only=local)
        if pretrained:
            model = open_pretrained(AutoModel, source)[0]
        else:
            config = AutoConfig.from_pretrained(source, local_files_only=local)
            model = AutoModel.from_config(config)  # type: ignore[no-untyped-call]
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"'{source}' cannot be opened as a {kind}: {str(error).splitlines()[0]}") from error
    return model, tokeniser
