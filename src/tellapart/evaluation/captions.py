"""How good the captions of a split are: light figures for validation, and the full table of captioning
metrics."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.errors import InputError
from tellapart.core.protocols import Captioner
from tellapart.data.pack_types import Split
from tellapart.data.sampling import captioned
from tellapart.losses.likelihood import WordCrossEntropy
from tellapart.metrics.captions.bleu import bleu
from tellapart.metrics.captions.cider import cider_d
from tellapart.metrics.captions.meteor.score import meteor
from tellapart.metrics.captions.ptb.tokenizer import tokenize
from tellapart.metrics.captions.rouge import rouge_l
from tellapart.models.captioners.teacher_forcing import as_captioner, predictions
from tellapart.models.decoding import Constraints, Decoded, bad_endings, beam, greedy
from tellapart.objectives.context import Context
from tellapart.text.vocabulary import PAD

CHUNK = 256
MAX_WORDS = 20


def to_caption(model: nn.Module, context: Context, split: str) -> tuple[Captioner, Split]:
    """The model once it is known to be a captioner, and what it is to be judged on."""
    return as_captioner(model), captioned(context.pack, split)


@torch.no_grad()
def validate_captions(model: nn.Module, context: Context, split: str) -> dict[str, float]:
    """Loss a word over all references, and CIDEr-D of greedy captions on word ids; torch and numpy only."""
    captioner, rows = to_caption(model, context, split)
    was_training = model.training
    model.eval()
    figures = {"loss": mean_loss(captioner, context, rows.captions)}
    figures["cider"] = token_cider(context, rows.images, decode(captioner, context, rows.images, width=1).tokens)
    model.train(was_training)
    return figures


@torch.no_grad()
def evaluate_captions(model: nn.Module, context: Context, split: str) -> dict[str, float]:
    """The table of captioning papers for beam-3 captions: BLEU-1 to 4, METEOR, ROUGE-L, CIDEr, and the loss a word.

    Captions are compared with the references as they were given, through the same tokeniser as the COCO script's.
    """
    captioner, rows = to_caption(model, context, split)
    was_training = model.training
    model.eval()
    said = decode(captioner, context, rows.images, width=3)
    figures = {
        "loss": mean_loss(captioner, context, rows.captions),
        **score_sentences(context, rows.images, said.tokens),
    }
    model.train(was_training)
    return figures


def score_sentences(context: Context, image_rows: np.ndarray, tokens: Tensor) -> dict[str, float]:
    """BLEU-1 to 4, METEOR, ROUGE-L and CIDEr of one caption (words, END, PAD) for each of these images."""
    pack = context.pack
    candidates = tokenize(context.inputs.vocabulary.decode(row) for row in tokens.tolist())
    groups = [[pack.captions[caption].text for caption in pack.captions_of[int(image)]] for image in image_rows]
    words = iter(tokenize(text for group in groups for text in group))
    references = [[next(words) for _ in group] for group in groups]
    figures = {f"bleu{n}": score.corpus for n, score in enumerate(bleu(candidates, references), start=1)}
    figures["meteor"] = meteor(candidates, references).corpus
    figures["rouge"] = rouge_l(candidates, references).corpus
    figures["cider"] = cider_d(candidates, references).corpus
    return figures


def mean_loss(model: Captioner, context: Context, captions: np.ndarray) -> float:
    """Cross-entropy a word over these captions of the pack, each with its own image."""
    loss, total, count = WordCrossEntropy(), 0.0, 0
    for rows in _chunks(captions):
        batch = context.batches.batch(rows)
        found = predictions(model, batch.images, batch.texts.tokens, batch.owner)
        total += float(loss.per_word(found.logits, found.targets).sum())
        count += len(found.targets)
    return total / max(count, 1)


@torch.no_grad()
def decode(
    model: Captioner,
    context: Context,
    image_rows: np.ndarray,
    width: int = 3,
    length_power: float = 0.0,
    end_well: bool = False,
) -> Decoded:
    """One caption for each of these images of the pack, in order: beam search, or greedy for width 1."""
    if not len(image_rows):
        raise InputError(f"There is no image of {context.pack.folder} to caption here; choose a split that has some.")
    constraints = Constraints(bad_endings=bad_endings(context.inputs.vocabulary) if end_well else ())
    parts = []
    for rows in _chunks(image_rows):
        images = context.batches.images(rows)
        if width == 1:
            parts.append(greedy(model, images, MAX_WORDS, constraints))
        else:
            parts.append(beam(model, images, width, length_power, MAX_WORDS, constraints))
    return join(parts)


def join(parts: list[Decoded]) -> Decoded:
    """Several chunks as one, padded to the longest."""
    longest = max(part.tokens.shape[1] for part in parts)

    def padded(tensor: Tensor) -> Tensor:
        short = longest - tensor.shape[1]
        return functional.pad(tensor, (0, short) if tensor.dim() == 2 else (0, 0, 0, short))

    looks = [part.attention for part in parts if part.attention is not None]
    same_rows = len({look.shape[2] for look in looks}) == 1
    return Decoded(
        torch.cat([padded(part.tokens) for part in parts]),
        torch.cat([part.log_probability for part in parts]),
        torch.cat([padded(look) for look in looks]) if looks and same_rows else None,
    )


def token_cider(context: Context, image_rows: np.ndarray, tokens: Tensor) -> float:
    """Mean CIDEr-D on word ids, END a word, document frequencies from these images' own captions."""
    references, owner = references_of(context, image_rows)
    groups: list[list[str]] = [[] for _ in image_rows]
    for image, sentence in zip(owner.tolist(), _spelled(references)):
        groups[image].append(sentence)
    return cider_d(_spelled(tokens), groups).corpus


def _spelled(tokens: Tensor) -> list[str]:
    """Ids as words, so that a metric of sentences can be asked about them."""
    return [" ".join(str(word) for word in row if word != PAD) for row in tokens.tolist()]


def references_of(context: Context, image_rows: np.ndarray) -> tuple[Tensor, Tensor]:
    """All captions of these images as words, END, PAD [C, T], and whose they are [C] (rows of
    `pictures`)."""
    rows = [context.pack.captions_of[int(image)] for image in image_rows]
    owner = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    texts = context.batches.texts(np.asarray([caption for row in rows for caption in row], dtype=np.int64))
    return texts.tokens[:, 1:].cpu(), torch.from_numpy(owner)


def _chunks(rows: np.ndarray) -> Iterator[np.ndarray]:
    for first in range(0, len(rows), CHUNK):
        yield rows[first : first + CHUNK]
