"""Boxes, scores and labels of a `transformers` object detector, written into a pack as detections.jsonl.

A killed run resumes after the last image it wrote; the pack gets the file only when it is complete.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tellapart.core.checksums import add_checksums, forget_checksums
from tellapart.core.errors import InputError
from tellapart.core.files import flush, read_json, write_json
from tellapart.data.pack import Pack
from tellapart.data.pack_types import Detections
from tellapart.features.backbones import IMAGENET_MEAN, IMAGENET_STD
from tellapart.images.decoding import read_image
from tellapart.images.opening import UnreadableImage
from tellapart.images.sources import ImageSource

CHUNK = 32
"""Images between two writes."""


@dataclass(frozen=True)
class Detector:
    """A network that returns `logits` [I, Q, labels (+ 1)] and `pred_boxes` [I, Q, 4] (centre and size)."""

    name: str
    network: nn.Module
    labels: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    shortest: int
    """Pixels of the short side; the long side is scaled with it, up to `longest`."""
    longest: int
    square: bool = False
    """The detector was trained on images resized to squares of `shortest` pixels."""

    @torch.inference_mode()
    def detect(self, source: ImageSource, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """The `count` best boxes [R, 4] as x1 y1 x2 y2 in fractions, their scores [R] and labels [R]."""
        device = next(self.network.parameters()).device
        image = torch.from_numpy(read_image(source, self.shortest)).permute(2, 0, 1).unsqueeze(0)  # [1, 3, H, W]
        image = F.interpolate(image, self._size(image), mode="bilinear", antialias=True).to(device)
        mean, std = (torch.tensor(values, device=device).view(1, 3, 1, 1) for values in (self.mean, self.std))
        outputs = self.network(pixel_values=(image / 255 - mean) / std)
        scores, labels = label_scores(outputs.logits[0], len(self.labels)).max(-1)  # [Q]
        best = scores.argsort(descending=True, stable=True)[:count]
        centre, size = outputs.pred_boxes[0, best].split(2, -1)
        boxes = torch.cat([centre - size / 2, centre + size / 2], -1).clamp(0, 1)
        return boxes.cpu(), scores[best].cpu(), labels[best].cpu()

    def _size(self, image: Tensor) -> tuple[int, int]:
        height, width = image.shape[2:]
        if self.square:
            return self.shortest, self.shortest
        scale = min(self.shortest / min(height, width), self.longest / max(height, width))
        return max(1, round(height * scale)), max(1, round(width * scale))


def label_scores(logits: Tensor, labels: int) -> Tensor:
    """Probabilities [Q, labels]: DETR and YOLOS add a last class "nothing" to a softmax; later ones use sigmoids."""
    return logits.softmax(-1)[:, :labels] if logits.shape[-1] == labels + 1 else logits.sigmoid()


def load_detector(name: str) -> Detector:
    """A transformers object detector by hub name or local folder."""
    try:
        transformers = importlib.import_module("transformers")
    except ImportError as error:
        raise InputError(f"The detector '{name}' needs transformers; run `pip install transformers`.") from error
    try:
        network = transformers.AutoModelForObjectDetection.from_pretrained(name).eval()
    except (OSError, ValueError) as error:
        raise InputError(
            f"No object detector '{name}' that transformers can load ({str(error).splitlines()[0]}); give a hub name "
            "or a local folder, or use `regions_from='detections'` or `regions_from='fixed'`."
        ) from error
    try:
        stored, _ = transformers.ImageProcessingMixin.get_image_processor_dict(name)
    except OSError:
        stored = {}
    size = stored.get("size") or {}
    labels = network.config.id2label
    return Detector(
        name,
        network,
        labels=tuple(labels[index] for index in range(len(labels))),
        mean=tuple(stored.get("image_mean") or IMAGENET_MEAN) if stored.get("do_normalize", True) else (0.0, 0.0, 0.0),
        std=tuple(stored.get("image_std") or IMAGENET_STD) if stored.get("do_normalize", True) else (1.0, 1.0, 1.0),
        shortest=int(size.get("height") or size.get("shortest_edge") or 800),
        longest=int(size.get("longest_edge") or 1333),
        square="height" in size,
    )


def detect(
    pack: Pack,
    name: str,
    device: torch.device | str = "cpu",
    count: int = 36,
    workers: int = 1,
    overwrite: bool = False,
    advance: Callable[[int], None] = lambda images: None,
) -> None:
    """Write the detector's `count` best boxes of every image into the pack, unless they are there already."""
    final, partial = pack.folder / "detections.jsonl", pack.folder / ".detections.partial.jsonl"
    facts = {"detector": name, "count": count}
    if final.is_file():
        made = pack.folder / "detections.json"
        if made.is_file() and read_json(made) == facts:
            return
        if not overwrite:
            raise InputError(
                f"{final} holds other detections; use them with `regions_from='detections'`, or replace them with "
                "`overwrite=True`."
            )
    detector = load_detector(name)
    detector.network.to(device)
    done = _resume(partial, facts)
    advance(done)

    def detections(row: int) -> Detections:
        if torch.device(device).type == "cpu":
            torch.set_num_threads(1)
        boxes, scores, labels = detector.detect(pack.image_path(row), count)
        rounded = [tuple(round(edge, 5) for edge in box) for box in boxes.tolist()]
        names = tuple(detector.labels[label] for label in labels.tolist())
        return Detections(row, tuple(rounded), tuple(round(score, 5) for score in scores.tolist()), names)

    threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(workers) as pool, partial.open("a", encoding="utf-8") as file:
            for first in range(done, len(pack.images), CHUNK):
                rows = range(first, min(first + CHUNK, len(pack.images)))
                file.writelines(_stored(found) for found in pool.map(detections, rows))
                file.flush()
                advance(len(rows))
    except UnreadableImage as error:
        raise InputError(f"{error}; fix it and run the detector again, or prepare the pack without it.") from error
    finally:
        torch.set_num_threads(threads)
    _publish(partial, final, facts)


def _resume(partial: Path, facts: dict[str, Any]) -> int:
    """Number of images that an earlier run finished; an incomplete line, or another detector's lines, are removed."""
    lines = partial.read_text(encoding="utf-8").split("\n")[:-1] if partial.is_file() else []
    if not lines or json.loads(lines[0]) != facts:
        lines = [json.dumps(facts)]
    partial.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return len(lines) - 1


def _publish(partial: Path, final: Path, facts: dict[str, Any]) -> None:
    """All but the first line becomes detections.jsonl; detections.json names the detector."""
    whole = final.with_name(".detections.whole.jsonl")
    with partial.open("rb") as source, whole.open("wb") as target:
        source.readline()
        target.writelines(source)
    flush(whole)
    forget_checksums(final.parent, "detections.json", final.name)
    final.with_name("detections.json").unlink(missing_ok=True)
    os.replace(whole, final)
    write_json(final.with_name("detections.json"), facts)
    add_checksums(final.parent, "detections.json", final.name)
    partial.unlink()


def _stored(found: Detections) -> str:
    """One line of detections.jsonl."""
    plain = asdict(found)
    return json.dumps({"picture": plain.pop("image"), **plain}, ensure_ascii=False) + "\n"
