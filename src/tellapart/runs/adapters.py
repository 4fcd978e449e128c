"""Low-rank adapters as files that `peft` opens: adapter_config.json and adapter_model.safetensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import nn

from tellapart.core.files import atomic_folder, write_json, write_text
from tellapart.models.layers.lora import Lora, adapters
from tellapart.runs.recipe import Stage

OPENED = """```python
from peft import PeftModel
from transformers import AutoModel

model = PeftModel.from_pretrained(AutoModel.from_pretrained("{base}"), "FOLDER")
```

Captioners open with their own class (`BlipForConditionalGeneration`, say) in place of `AutoModel`.
"""
ADDED = "The run's model.safetensors has them added to the weights already; `tellapart export RUN` shares that model.\n"
INSIDE = "model."
"""A wrapper of transformers' models holds them under this name, which peft does not know."""


def save_adapters(model: nn.Module, lora: Lora, folder: Path, stage: Stage) -> None:
    """Write the adapters that a stage trained beside the model that it began with."""
    base, of_transformers = source_of(stage), hasattr(stage.model, "configuration") and stage.start == "fresh"
    weights = {}
    for name, layer in adapters(model).items():
        for part in ("lora_A", "lora_B"):
            key = f"base_model.model.{name.removeprefix(INSIDE)}.{part}.weight"
            weights[key] = getattr(layer, part).weight.detach().cpu().contiguous().clone()
    with atomic_folder(folder) as partial:
        save_file(weights, partial / "adapter_model.safetensors", metadata={"format": "pt"})
        write_json(partial / "adapter_config.json", adapter_config(model, lora, base))
        write_text(partial / "README.md", adapter_card(lora, base, of_transformers))


def adapter_config(model: nn.Module, lora: Lora, base: str) -> dict[str, Any]:
    """What peft needs to know of the adapters."""
    names = sorted(name.removeprefix(INSIDE) for name in adapters(model))
    transposed = any(layer.transposed for layer in adapters(model).values())
    return {
        "peft_type": "LORA",
        "base_model_name_or_path": base,
        "r": lora.rank,
        "lora_alpha": lora.scaled_by,
        "lora_dropout": 0.0,
        "target_modules": names,
        "bias": "none",
        "fan_in_fan_out": transposed,
        "task_type": None,
        "inference_mode": True,
    }


def adapter_card(lora: Lora, base: str, of_transformers: bool) -> str:
    """The model card: a header that the hub reads, what the adapters belong to, and how to open them."""
    use = OPENED.format(base=base) if of_transformers else ADDED
    return f"""---
library_name: peft
base_model: {base}
tags: [tellapart, lora]
---

# Adapters of {Path(base).name}

Low-rank adapters of rank {lora.rank}, trained by tellapart. They belong to `{base}`.

{use}"""


def source_of(stage: Stage) -> str:
    """Where the model of a stage came from: a model of transformers, a run, or an earlier stage."""
    return str(getattr(stage.model, "source", stage.start)) if stage.start == "fresh" else stage.start
