"""ECCV Caption (Chun et al. 2022): COCO's test images and captions with many more correct answers per query.

Its files map ids of COCO's images to lists of caption ids (`eccv_image_to_caption.json`) and the other way round
(`eccv_caption_to_image.json`). Each direction has its own queries; others are ignored. With R correct answers of a
query, P(r) the precision among its first r answers and rel(r) = 1 if the r-th is correct (section 4):

    mAP@R = 1/R sum_{r=1..R} P(r) rel(r)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.metrics.retrieval.cxc import image_number
from tellapart.metrics.retrieval.recall import best_ranks, first_answers, r_precision, recall_at

IMAGES, CAPTIONS = "eccv_image_to_caption.json", "eccv_caption_to_image.json"
Answers = dict[int, list[int]]


@dataclass(frozen=True)
class Positives:
    """The correct answers of both directions, by COCO's ids."""

    of_images: Answers
    """Captions by image."""
    of_captions: Answers
    """Images by caption."""


def read_eccv(folder: Path) -> Positives:
    """The positives in a folder with ECCV Caption's two files."""
    return Positives(_read(folder / IMAGES), _read(folder / CAPTIONS))


def _read(path: Path) -> Answers:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return {int(query): [int(answer) for answer in answers] for query, answers in stored.items()}
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); it is one of ECCV Caption's two files.") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is not a file of ECCV Caption: it maps ids to lists of ids ({error}).") from error


def eccv_positives(found: Positives, images: Sequence[str], captions: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Correct captions of each image [I, C], and correct images of each caption [C, I].

    `images` are file stems or COCO numbers, `captions` COCO's caption ids. Answers that are not among them are ignored.
    """
    rows = {image_number(name): row for row, name in enumerate(images)}
    columns = {str(caption): column for column, caption in enumerate(captions)}
    return _marked(found.of_images, rows, columns), _marked(found.of_captions, columns, rows)


def _marked(answers: Answers, queries: dict[str, int], among: dict[str, int]) -> Tensor:
    marked = torch.zeros(len(queries), len(among), dtype=torch.bool)
    for query, correct in answers.items():
        if str(query) in queries:
            marked[queries[str(query)], [among[str(one)] for one in correct if str(one) in among]] = True
    return marked


def map_at_r(scores: Tensor, positive: Tensor) -> float:
    """Mean over queries of 1/R sum_r P(r) rel(r), [0, 1]; `scores` and `positive` are [Q, N].

    Queries without a correct answer are ignored; ties keep the order of the columns.

    >>> scores = torch.tensor([[0.9, 0.8, 0.7, 0.1]])
    >>> round(map_at_r(scores, torch.tensor([[True, False, True, True]])), 4)  # (1 + 0 + 2/3) / 3
    0.5556
    """
    total, queries = 0.0, 0
    for hits, counts in first_answers(scores, positive):
        places = torch.arange(1, hits.shape[1] + 1, device=hits.device)
        precision = hits.cumsum(1).double() / places  # [q, r]
        total += ((precision * hits).sum(1) / counts).sum().item()
        queries += len(counts)
    return total / max(queries, 1)


def eccv_metrics(scores: Tensor, of_images: Tensor, of_captions: Tensor) -> dict[str, float]:
    """mAP@R and R-precision [0, 1] and R@1 in percent of both directions, from scores [I, C] and `eccv_positives`."""
    values: dict[str, float] = {}
    for name, matrix, right in (("i2t", scores, of_images), ("t2i", scores.t(), of_captions)):
        values[f"{name}_map_at_r"] = map_at_r(matrix, right)
        values[f"{name}_r_precision"] = r_precision(matrix, right)
        asked = right.any(1)
        values[f"{name}_r1"] = recall_at(best_ranks(matrix[asked], right[asked]), 1) if bool(asked.any()) else 0.0
    return values
