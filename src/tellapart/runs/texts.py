"""Text that a user types, as the token ids that a matcher was trained on, with the columns that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import torch

from tellapart.core.errors import InputError
from tellapart.core.types import Texts
from tellapart.runs.run import Run
from tellapart.text.model_tokenizer import TokenizerVocabulary
from tellapart.text.rules import TextRules
from tellapart.text.vocabulary import END, PAD, START, UNK

NOUNS = "nouns"
TARGETS = "targets-minilm"


def as_texts(
    run: Run, sentences: Sequence[str], device: torch.device | str = "cpu", allow_unknown: bool = False
) -> Texts:
    """Sentences by the run's rules and vocabulary, or by the model's own tokenizer.

    InputError for one without a known word, unless allowed.
    """
    if isinstance(run.vocabulary, TokenizerVocabulary):
        return _by_tokenizer(run.vocabulary, sentences, allow_unknown).to(device)
    names = {field.name for field in fields(TextRules)}
    rules = TextRules(**{key: value for key, value in run.data.get("rules", {}).items() if key in names})
    words = rules.split(sentences, run.vocabulary)
    ids = [run.vocabulary.encode(row) for row in words]
    for sentence, row in zip(sentences, ids):
        if not allow_unknown and all(token == UNK for token in row):
            raise InputError(f"The matcher knows no word of '{sentence}'; use other words.")
    longest = max(map(len, ids), default=0) + 2
    tokens = torch.tensor([[START, *row, END, *[PAD] * (longest - len(row) - 2)] for row in ids])  # [C, T]
    lengths = torch.tensor([len(row) + 2 for row in ids])
    texts = Texts(tokens, lengths, _columns(run, sentences, words, longest))
    return texts.to(device)


def _by_tokenizer(vocabulary: TokenizerVocabulary, sentences: Sequence[str], allow_unknown: bool) -> Texts:
    ids = vocabulary.encode_texts(sentences)
    for sentence, row in zip(sentences, ids):
        if not allow_unknown and not row:
            raise InputError(f"The matcher reads no word in '{sentence}'; use other words.")
    longest = max(map(len, ids), default=0) + 2
    tokens = torch.tensor([[START, *row, END, *[PAD] * (longest - len(row) - 2)] for row in ids])  # [C, T]
    return Texts(tokens.view(len(ids), longest), torch.tensor([len(row) + 2 for row in ids]))


def _columns(
    run: Run, sentences: Sequence[str], words: Sequence[Sequence[str]], longest: int
) -> dict[str, torch.Tensor]:
    """The columns of the run's training that can be computed from text alone."""
    used = {column for stage in run.recipe.stages for column in stage.sampling.columns}
    columns = {}
    if NOUNS in used:
        from tellapart.text.nouns import mark_nouns

        aligned = torch.zeros(len(words), longest, dtype=torch.bool)
        for row, mask in enumerate(mark_nouns(words)):
            aligned[row, 1 : len(mask) + 1] = torch.from_numpy(mask)
        columns[NOUNS] = aligned
    if TARGETS in used and getattr(run.model, "column", "") == TARGETS:
        from tellapart.text.sentence_targets import encode_sentences

        columns[TARGETS] = torch.from_numpy(encode_sentences(list(sentences)))
    return columns
