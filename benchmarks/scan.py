"""SCAN's scoring of all images x all captions at once, against a loop over captions as in published code.

    python benchmarks/scan.py [--device cuda] [--full]

Both run in one process on the same vectors (36 regions, 1,024 dimensions, sentences as long as Flickr's) and must agree
to 1e-6. It prints seconds (on a CPU, processor time of one core, independent of other programs), the ratio, and
the peak memory.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from tellapart.core.types import Encoded
from tellapart.losses.hinge import HardestNegativeHinge
from tellapart.models.layers.cross_attention import Attention, cross_attention

REGIONS, WIDTH = 36, 1024
ATTENTION = Attention("t2i", temperature=9.0, aggregation="mean", leak=0.1)
TOLERANCE = 1e-6
SHARD = 128


def loop_scores(images: Encoded, texts: Encoded) -> Tensor:
    """The usual implementation: shards of 128 images x 128 captions, each caption against all images in turn."""
    assert texts.mask is not None
    text_mask, rows = texts.mask, []
    for regions in images.vectors.split(SHARD):
        parts = []
        for words, mask in zip(texts.vectors.split(SHARD), text_mask.split(SHARD)):
            parts.append(shard_scores(regions, words, mask.sum(1).tolist()))
        rows.append(torch.cat(parts, 1))
    return torch.cat(rows)


def shard_scores(regions: Tensor, sentences: Tensor, lengths: list[int]) -> Tensor:
    """Attended vectors for every pair of a shard [I, C], sentence by sentence."""
    columns = []
    for sentence, length in zip(sentences, lengths):
        words = sentence[:length].unsqueeze(0).repeat(len(regions), 1, 1)  # [I, T, E]
        similarity = F.leaky_relu(torch.bmm(regions, words.transpose(1, 2)), ATTENTION.leak)  # [I, R, T]
        similarity = similarity / (similarity.pow(2).sum(2, keepdim=True).sqrt() + 1e-8)
        weights = F.softmax(similarity.transpose(1, 2).contiguous() * ATTENTION.temperature, dim=2)  # [I, T, R]
        attended = torch.bmm(regions.transpose(1, 2), weights.transpose(1, 2).contiguous())  # [I, E, T]
        attended = attended.transpose(1, 2).contiguous()  # [I, T, E]
        norms = (words.norm(2, 2) * attended.norm(2, 2)).clamp(min=1e-8)
        columns.append(((words * attended).sum(2) / norms).mean(1, keepdim=True))  # [I, 1]
    return torch.cat(columns, 1)


def block_scores(images: Encoded, texts: Encoded) -> Tensor:
    return cross_attention(images, texts, ATTENTION)


def made_up(image_rows: int, sentences: int, device: str) -> tuple[Encoded, Encoded]:
    """Unit vectors with some structure, and sentences of 7 to 26 tokens, 13 on average."""
    generator = torch.Generator().manual_seed(0)
    regions = F.normalize(torch.randn(image_rows, REGIONS, WIDTH, generator=generator), dim=-1)
    lengths = (7 + 3 * torch.randn(sentences, generator=generator).abs() * 2.5).long().clamp(7, 26)
    words = F.normalize(torch.randn(sentences, int(lengths.max()), WIDTH, generator=generator), dim=-1)
    words = words + 0.3 * regions[torch.arange(sentences) % image_rows, :1]
    mask = torch.arange(words.shape[1]) < lengths.unsqueeze(1)
    words = F.normalize(words, dim=-1) * mask.unsqueeze(-1)
    return Encoded(regions.to(device)), Encoded(words.to(device), mask.to(device))


def training_step(score: Callable[[Encoded, Encoded], Tensor], images: Encoded, texts: Encoded) -> tuple[Tensor, ...]:
    """Scores of a batch, the hardest-negative hinge, and the gradients of all vectors."""
    regions, words = images.vectors.clone().requires_grad_(), texts.vectors.clone().requires_grad_()
    scores = score(Encoded(regions), Encoded(words, texts.mask))
    loss = HardestNegativeHinge(0.2, "sum")(scores, torch.arange(len(texts), device=scores.device))
    loss.backward()
    assert regions.grad is not None and words.grad is not None
    return loss.detach(), regions.grad, words.grad


@dataclass(frozen=True)
class Result:
    name: str
    loop_seconds: float
    block_seconds: float
    difference: float
    memory_gb: float

    @property
    def ratio(self) -> float:
        return self.loop_seconds / self.block_seconds

    def __str__(self) -> str:
        return (
            f"{self.name:<44} loop {self.loop_seconds:8.3f} s   ours {self.block_seconds:7.3f} s   "
            f"{self.ratio:6.1f}x   differ by {self.difference:.1e}   {self.memory_gb:.2f} GB"
        )


def seconds(work: Callable[[], object], device: str, repeats: int) -> tuple[float, object]:
    """The fastest of a few runs, and the last result."""
    best, result = float("inf"), work()
    for _ in range(repeats):
        _settle(device)
        begun = _clock(device)
        result = work()
        _settle(device)
        best = min(best, _clock(device) - begun)
    return best, result


def _clock(device: str) -> float:
    return time.perf_counter() if device.startswith("cuda") else time.process_time()


def _settle(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def _memory(device: str) -> float:
    """Peak memory, in GB: of the GPU, or of this process."""
    if device.startswith("cuda"):
        return torch.cuda.max_memory_allocated() / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


@torch.no_grad()
def forward_result(image_rows: int, sentences: int, device: str) -> Result:
    images, texts = made_up(image_rows, sentences, device)
    ours, mine = seconds(lambda: block_scores(images, texts), device, 3)
    memory = _memory(device)
    loop, theirs = seconds(lambda: loop_scores(images, texts), device, 1)
    assert isinstance(mine, Tensor) and isinstance(theirs, Tensor)
    difference = float((mine - theirs).abs().max())
    return Result(f"scoring {image_rows} x {sentences} on {device}", loop, ours, difference, memory)


def training_result(batch: int, device: str) -> Result:
    images, texts = made_up(batch, batch, device)
    ours, mine = seconds(lambda: training_step(block_scores, images, texts), device, 3)
    memory = _memory(device)
    loop, theirs = seconds(lambda: training_step(loop_scores, images, texts), device, 1)
    assert isinstance(mine, tuple) and isinstance(theirs, tuple)
    difference = max(float((a - b).abs().max() / b.abs().max()) for a, b in zip(mine, theirs))
    return Result(f"training step of {batch} pairs on {device}", loop, ours, difference, memory)


def main(device: str = "cpu", full: bool = False) -> list[Result]:
    """`full` scores 1,000 x 5,000 on a CPU too (minutes for the loop)."""
    large = device.startswith("cuda") or full
    if not device.startswith("cuda"):
        torch.set_num_threads(1)
    results = [forward_result(1000, 5000, device) if large else forward_result(100, 500, device)]
    results.append(training_result(128, device))
    for result in results:
        print(result)
        if result.difference > TOLERANCE * (1 if "scoring" in result.name else 100):
            raise SystemExit(f"{result.name}: the two implementations differ by {result.difference:.1e}")
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    main(options.device, options.full)
