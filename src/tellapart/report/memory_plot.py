"""What R2M's memories attend to at each word, as in Figure 5 of the paper."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from tellapart.core.errors import InputError
from tellapart.core.types import Images
from tellapart.models.captioners.r2m import R2MModel
from tellapart.models.decoding import greedy, with_start
from tellapart.models.layers.fusion_memory import FusionMemory
from tellapart.models.layers.recurrent_memory import RecurrentMemory
from tellapart.objectives.context import Context
from tellapart.report import page
from tellapart.runs.run import Run
from tellapart.text.vocabulary import END, Vocabulary


@dataclass(frozen=True)
class MemoryWeights:
    """One caption: the words read and generated at each step, and the attention of the memories. Each column sums to
    one per memory."""

    read: tuple[str, ...]
    generated: tuple[str, ...]
    rows: tuple[str, ...]
    weights: np.ndarray  # [rows, T]


@torch.no_grad()
def memory_weights(model: R2MModel, images: Images, vocabulary: Vocabulary, max_words: int = 20) -> MemoryWeights:
    """Caption one image and return the attention of the model's memories.

    Fusion memory: the mean over heads and over the two query rows. Recurrent memory: for each head, the mean over
    query slots of the sum over all slots' weights.
    """
    if len(images) != 1:
        raise InputError(f"The memory plot needs one image, not {len(images)}.")
    tokens = with_start(greedy(model, images, max_words).tokens)  # [1, T]
    traced = model.memory_attention(images, tokens)
    rows: list[str] = []
    weights: list[np.ndarray] = []
    if traced.fusion is not None:
        fusion = traced.fusion[0].mean((1, 2)).cpu().numpy()  # [T - 1, 2]
        rows += ["fusion: concepts v", "fusion: last word"]
        weights += [fusion[:, 0], fusion[:, 1]]
    if traced.recurrent is not None:
        recurrent = traced.recurrent[0].mean(2).cpu().numpy()  # [T - 1, H, S + 1]
        for head in range(recurrent.shape[1]):
            rows += [f"recurrent, head {head + 1}: memory", f"recurrent, head {head + 1}: input f"]
            weights += [recurrent[:, head, :-1].sum(1), recurrent[:, head, -1]]
    if not rows:
        raise InputError("This model has neither fusion nor recurrent memory, so there is nothing to draw.")
    words = [vocabulary.words[index] for index in tokens[0].tolist()]
    steps = words.index(vocabulary.words[END]) if vocabulary.words[END] in words else len(words) - 1
    table = np.stack(weights)[:, :steps]
    return MemoryWeights(tuple(words[:steps]), tuple(words[1 : steps + 1]), tuple(rows), table)


def memories_section(run: Run, context: Context, images: Sequence[int]) -> str:
    """HTML of the attention of a run's memories while it captions these images; empty where it has none."""
    model = run.model
    if not isinstance(model, R2MModel):
        return ""
    if not (isinstance(model.fusion, FusionMemory) or isinstance(model.decoder, RecurrentMemory)):
        return ""
    parts = []
    for image in images:
        shown = memory_weights(model, context.batches.images(np.asarray([image])), run.vocabulary)
        caption = " ".join(shown.generated[:-1])
        parts += [page.figure(context.pack.image_path(image), caption), page.plot(memory_image([shown]), caption)]
    return "".join(parts)


def draw_memories(shown: Sequence[MemoryWeights], path: Path) -> None:
    """Write `memory_image` to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(memory_image(shown))


def memory_image(shown: Sequence[MemoryWeights]) -> bytes:
    """A PNG with one strip per caption: columns are words (below: the word read, above: the word generated), rows are
    memories."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    longest = max(len(item.generated) for item in shown)
    tallest = max(len(item.rows) for item in shown)
    size = (2.5 + 0.62 * longest, len(shown) * (1.3 + 0.32 * tallest))
    figure, axes = plt.subplots(len(shown), 1, figsize=size, squeeze=False, layout="constrained")
    for axis, item in zip(axes[:, 0], shown):
        axis.imshow(item.weights, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        axis.set_yticks(range(len(item.rows)), item.rows, fontsize=8)
        axis.set_xticks(range(len(item.read)), item.read, rotation=45, ha="right", fontsize=8)
        above = axis.secondary_xaxis("top")
        above.set_xticks(range(len(item.generated)), item.generated, rotation=45, ha="left", fontsize=8)
        for (row, column), value in np.ndenumerate(item.weights):
            colour = "white" if value > 0.6 else "black"
            axis.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7, color=colour)
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=150)
    plt.close(figure)
    return file.getvalue()
