"""Measurements of a joint model: retrieval, captions, untrue objects, and a judge that picks among look-alikes."""

from __future__ import annotations

import torch
from torch import Tensor

from tellapart.metrics.captions.evaluate import evaluate
from tellapart.metrics.retrieval.look_alikes import picked
from tellapart.metrics.retrieval.recall import fold_recall, recall
from tellapart.models.captioners.transformer import TransformerCaptioner
from tellapart.models.decoding.beam import beam
from tellapart.models.decoding.sampling import greedy
from tellapart.models.matchers.dual_encoder import DualEncoderModel
from tellapart.text.vocabulary import Vocabulary
from tellapart.training.end_to_end.joint import JointModel, all_real
from tellapart.training.end_to_end.loop import mixed_precision
from tellapart.training.end_to_end.object_words import ObjectWords
from tellapart.training.end_to_end.pixels import PixelStore

METRICS = ("BLEU-1", "BLEU-4", "ROUGE-L", "CIDEr")


@torch.no_grad()
def see(
    model: JointModel, store: PixelStore, rows: Tensor, size: int, keep: bool = True, block: int = 512
) -> tuple[Tensor, Tensor]:
    """Features [n, R, D] (bfloat16 on a GPU; empty unless `keep`) and image vectors [n, E] of whole images."""
    model.eval()
    device = store.pixels.device
    kind = torch.bfloat16 if device.type == "cuda" else torch.float32
    vectors: list[Tensor] = []
    features = torch.zeros(0, device=device)
    for first in range(0, len(rows), block):
        with mixed_precision(device):
            cells = model.cells(store.whole(rows[first : first + block], size))
            vectors.append(model.matcher.encode_image(all_real(cells)).vectors)
        if keep:
            if not first:  # one allocation: twice the features need not fit
                features = torch.zeros(len(rows), *cells.shape[1:], dtype=kind, device=device)
            features[first : first + block] = cells.to(kind)
    return features, torch.cat(vectors)


@torch.no_grad()
def read(matcher: DualEncoderModel, tokens: Tensor, block: int = 4096) -> Tensor:
    """Vectors [C, E] of captions [C, P], 0 for padding."""
    matcher.eval()
    parts = []
    for part in torch.split(tokens, block):
        with mixed_precision(tokens.device):
            parts.append(matcher.text_vectors(part.long(), part > 0))
    return torch.cat(parts)


def retrieval(images: Tensor, captions: Tensor, first: int = 4400) -> dict[str, float]:
    """Recalls among all images [I, E] with their captions [I * k, E], among the first 4,400, and in folds of 1,000."""
    each = len(captions) // len(images)
    owner = torch.arange(len(images), device=images.device).repeat_interleave(each)
    scores = images.float() @ captions.float().t()
    found = recall(scores, owner)
    if len(images) > first:
        part = recall(scores[:first, : first * each], owner[: first * each])
        found |= {f"{first}_{name}": value for name, value in part.items()}
    if len(images) >= 2000:
        folds = fold_recall(scores, owner, len(images) // 1000)
        found |= {f"1k_{name}": value for name, value in folds.items()}
    return found


@torch.no_grad()
def describe(
    captioner: TransformerCaptioner, features: Tensor, width: int = 3, most_words: int = 20, block: int = 500
) -> Tensor:
    """Captions [n, most_words + 1] of features [n, R, D] by beam search, or the likeliest word each time (width 1)."""
    captioner.eval()
    tokens = torch.zeros(len(features), most_words + 1, dtype=torch.long, device=features.device)
    for first in range(0, len(features), block):
        images = all_real(features[first : first + block].float())
        found = greedy(captioner, images, most_words) if width == 1 else beam(captioner, images, width, 0.0, most_words)
        tokens[first : first + block, : found.tokens.shape[1]] = found.tokens
    return tokens


def as_text(tokens: Tensor, vocabulary: Vocabulary) -> list[str]:
    """Captions as text."""
    return [vocabulary.decode(row) for row in tokens.tolist()]


def caption_metrics(captions: list[str], references: list[list[str]], tokenized: bool = False) -> dict[str, float]:
    """The metrics of the COCO caption script that need neither Java nor tables."""
    scores = evaluate(captions, references, METRICS, tokenized=tokenized)
    return {name: float(score.corpus) for name, score in scores.items()}


def object_metrics(tokens: Tensor, references: Tensor, objects: ObjectWords) -> dict[str, float]:
    """CHAIR by references (Rohrbach et al. 2018): share of captions and of named objects that are untrue."""
    named = objects(tokens)  # [n, 80]
    wrong = named & ~references
    return {
        "untrue_captions": float(wrong.any(1).float().mean()),
        "untrue_objects": float(wrong.sum() / named.sum().clamp(min=1)),
    }


def among_look_alikes(captions: Tensor, images: Tensor, neighbours: Tensor) -> float:
    """Share of captions [n, E] that fit their own image [n, E] strictly better than each of its neighbours [n, k]."""
    own = (captions * images).sum(1)
    others = torch.einsum("ne,nke->nk", captions, images[neighbours])
    return float(picked(own, others).float().mean())
