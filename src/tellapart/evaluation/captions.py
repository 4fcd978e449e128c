"""How good the captions of a split are: quick metrics for validation, and the full set of captioning metrics."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.errors import InputError
from tellapart.core.protocols import Captioner
from tellapart.data.pack_types import Split
from tellapart.data.sampling import captioned
from tellapart.evaluation.chunks import CHUNK, chunks
from tellapart.evaluation.distinctive import JudgeCaptions, distinctive_metrics, look_alikes
from tellapart.evaluation.whole_captions import WholeCaptioner, whole_captions
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

MAX_WORDS = 20


def check_captions(model: nn.Module, context: Context, split: str) -> tuple[Captioner, Split]:
    """The model and the captioned images to evaluate; raises if the model is not a captioner."""
    return as_captioner(model), captioned(context.pack, split)


@torch.no_grad()
def validate_captions(model: nn.Module, context: Context, split: str) -> dict[str, float]:
    """Loss per word over all references, and CIDEr-D of greedy captions on word ids; needs torch and numpy only."""
    captioner, rows = check_captions(model, context, split)
    was_training = model.training
    model.eval()
    metrics = {"loss": mean_loss(captioner, context, rows.captions)}
    metrics["cider"] = token_cider(context, rows.images, decode(captioner, context, rows.images, width=1).tokens)
    model.train(was_training)
    return metrics


@torch.no_grad()
def evaluate_captions(
    model: nn.Module, context: Context, split: str, judge: JudgeCaptions | None = None
) -> dict[str, float]:
    """The metrics of captioning papers for beam-3 captions: BLEU-1 to 4, METEOR, ROUGE-L, CIDEr, and the loss per word;
    and whether the captions tell images apart and are true: CIDErBtw, distinct words, CHAIR, with a judge its accuracy.

    Captions and references are tokenised as in the COCO evaluation script. A chat model has no loss per word.
    """
    whole: WholeCaptioner | None = model if isinstance(model, WholeCaptioner) else None
    rows = captioned(context.pack, split)
    captioner = whole or as_captioner(model)
    was_training = model.training
    model.eval()
    tokens = decode(captioner, context, rows.images, width=3).tokens
    candidates, references = tokenised(context, rows.images, tokens)
    similar = look_alikes(context, rows.images, model=model)
    if similar is None and judge is not None:
        similar = judge.look_alikes(rows.images)
    metrics = {} if whole is not None else {"loss": mean_loss(as_captioner(model), context, rows.captions)}
    metrics |= _values(candidates, references) | distinctive_metrics(candidates, references, similar)
    if judge is not None:
        if similar is None:
            raise InputError("A judge needs at least two images with features to choose among; choose another split.")
        texts = [context.inputs.vocabulary.decode(row) for row in tokens.tolist()]
        metrics |= judge.judge(rows.images, texts, similar)
    model.train(was_training)
    return metrics


def score_tokens(context: Context, image_rows: np.ndarray, tokens: Tensor) -> dict[str, float]:
    """BLEU-1 to 4, METEOR, ROUGE-L and CIDEr of one caption (words, END, PAD) for each of these images."""
    return _values(*tokenised(context, image_rows, tokens))


def tokenised(context: Context, image_rows: np.ndarray, tokens: Tensor) -> tuple[list[str], list[list[str]]]:
    """Captions (words, END, PAD) and references of these images, tokenised as in the COCO evaluation script."""
    pack = context.pack
    candidates = tokenize(context.inputs.vocabulary.decode(row) for row in tokens.tolist())
    groups = [[pack.captions[caption].text for caption in pack.captions_of[int(image)]] for image in image_rows]
    words = iter(tokenize(text for group in groups for text in group))
    return candidates, [[next(words) for _ in group] for group in groups]


def _values(candidates: list[str], references: list[list[str]]) -> dict[str, float]:
    metrics = {f"bleu{n}": score.corpus for n, score in enumerate(bleu(candidates, references), start=1)}
    metrics["meteor"] = meteor(candidates, references).corpus
    metrics["rouge"] = rouge_l(candidates, references).corpus
    metrics["cider"] = cider_d(candidates, references).corpus
    return metrics


def mean_loss(model: Captioner, context: Context, captions: np.ndarray) -> float:
    """Cross-entropy per word over these captions of the pack, each with its own image."""
    loss, total, count = WordCrossEntropy(), 0.0, 0
    for rows in chunks(captions, context.at_once(CHUNK)):
        batch = context.batches.batch(rows)
        found = predictions(model, batch.images, batch.texts.tokens, batch.owner)
        total += float(loss.per_word(found.logits, found.targets).sum())
        count += len(found.targets)
    return total / max(count, 1)


@torch.no_grad()
def decode(
    model: Captioner | WholeCaptioner,
    context: Context,
    image_rows: np.ndarray,
    width: int = 3,
    length_power: float = 0.0,
    end_well: bool = False,
) -> Decoded:
    """One caption per image row of the pack, in order: beam search, or greedy for width 1."""
    if not len(image_rows):
        raise InputError(f"No images of {context.pack.folder} to caption; choose a split that has some.")
    if isinstance(model, WholeCaptioner):
        return join(whole_captions(model, context, image_rows, width))
    constraints = Constraints(bad_endings=bad_endings(context.inputs.vocabulary) if end_well else ())
    parts = []
    for rows in chunks(image_rows, context.at_once(CHUNK)):
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

    attentions = [part.attention for part in parts if part.attention is not None]
    same_rows = len({attention.shape[2] for attention in attentions}) == 1
    return Decoded(
        torch.cat([padded(part.tokens) for part in parts]),
        torch.cat([part.log_probability for part in parts]),
        torch.cat([padded(attention) for attention in attentions]) if attentions and same_rows else None,
    )


def token_cider(context: Context, image_rows: np.ndarray, tokens: Tensor) -> float:
    """Mean CIDEr-D on word ids, with END as a word and document frequencies from these images' captions."""
    references, owner = references_of(context, image_rows)
    groups: list[list[str]] = [[] for _ in image_rows]
    for image, caption in zip(owner.tolist(), _spelled(references)):
        groups[image].append(caption)
    return cider_d(_spelled(tokens), groups).corpus


def _spelled(tokens: Tensor) -> list[str]:
    """Word ids as text, for metrics of text."""
    return [" ".join(str(word) for word in row if word != PAD) for row in tokens.tolist()]


def references_of(context: Context, image_rows: np.ndarray) -> tuple[Tensor, Tensor]:
    """All captions of these images as words, END, PAD [C, T], and the index of their image in `image_rows` [C]."""
    rows = [context.pack.captions_of[int(image)] for image in image_rows]
    owner = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    texts = context.batches.texts(np.asarray([caption for row in rows for caption in row], dtype=np.int64))
    return texts.tokens[:, 1:].cpu(), torch.from_numpy(owner)
