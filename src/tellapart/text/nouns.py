"""Which words are nouns (NN, NNS, NNP, NNPS), for the part-of-speech mask of grounded captioning (paper 2, Eq. 8).

The default tagger is HanTa's English model (LGPL; the extra `nouns`), part of its package. HanTa stores it as a
pickle, so it is opened only here, and only when captions are tagged. HanTa searches each sentence in a Python loop;
here the same trigram model is searched for all sentences at once, exactly rather than with a beam of five states.
spaCy is the alternative.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tellapart.core.errors import InputError

# HanTa's English tags are the British National Corpus's: NN0, NN1, NN2 are Penn's NN and NNS, NP0 is NNP and NNPS.
NOUN_TAGS = ("NN", "NN0", "NN1", "NN2", "NP0")
CANDIDATES = 6
CHUNK = 4096


def mark_nouns(sentences: Sequence[Sequence[str]], tagger: str = "hanta") -> list[np.ndarray]:
    """A bool array per sentence, True for nouns.

    >>> [mask.tolist() for mask in mark_nouns([["a", "dog", "catches", "the", "ball"]])]
    [[False, True, False, False, True]]
    """
    if tagger not in TAGGERS:
        raise InputError(f"`tagger` must be one of {', '.join(TAGGERS)}, not '{tagger}'.")
    distinct = list(dict.fromkeys(tuple(sentence) for sentence in sentences))
    masks = dict(zip(distinct, TAGGERS[tagger](distinct), strict=True))
    return [masks[tuple(sentence)] for sentence in sentences]


def _with_spacy(sentences: Sequence[tuple[str, ...]]) -> list[np.ndarray]:
    try:
        import spacy
        from spacy.tokens import Doc

        language = spacy.load("en_core_web_sm", exclude=["parser", "ner", "lemmatizer"])
    except (ImportError, OSError) as error:
        raise InputError(
            f"spaCy and its model en_core_web_sm are not installed ({error}); install them or use `tagger='hanta'`."
        ) from error
    documents = language.pipe(Doc(language.vocab, words=list(sentence)) for sentence in sentences)
    return [np.asarray([token.tag_.startswith("NN") for token in document], dtype=bool) for document in documents]


@lru_cache(maxsize=1)
def _model() -> Any:
    try:
        from HanTa import HanoverTagger
    except ImportError as error:
        raise InputError("Tagging nouns needs HanTa; run `pip install HanTa`, or use `tagger='spacy'`.") from error
    return HanoverTagger.HanoverTagger("morphmodel_en.pgz")


@lru_cache(maxsize=1)
def _transitions() -> np.ndarray:
    """log p(tag | two tags before), dense: [A, A, A] over the model's own tag numbers."""
    table = _model().LP_trans_word
    size = 1 + max(max(tag for state in table for tag in state), max(tag for row in table.values() for tag in row))
    dense = np.full((size, size, size), -1e6, dtype=np.float32)  # [A, A, A]
    for (before, last), row in table.items():
        dense[before, last, list(row)] = list(row.values())
    return dense


@lru_cache(maxsize=200_000)
def _readings(word: str) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The most likely tags of a word and log p(word | tag), best first."""
    known = [(tag, score) for tag, score in _model()._tag_word(word, casesensitive=False, conditional=True) if tag > 3]
    known = known[:CANDIDATES] or [(_model().tag2int["UNC"], 0.0)]
    return tuple(tag for tag, _ in known), tuple(score for _, score in known)


def _with_hanta(sentences: Sequence[tuple[str, ...]]) -> list[np.ndarray]:
    nouns = np.asarray([_model().tag2int[tag] for tag in NOUN_TAGS if tag in _model().tag2int])
    words = {word: row for row, word in enumerate(dict.fromkeys(word for sentence in sentences for word in sentence))}
    tags = np.zeros((len(words) + 1, CANDIDATES), dtype=np.int64)  # [W + 1, K]; the last row is for padding
    scores = np.full((len(words) + 1, CANDIDATES), -1e6, dtype=np.float32)  # [W + 1, K]
    scores[-1, 0] = 0.0
    for word, row in words.items():
        found, likelihood = _readings(word)
        tags[row, : len(found)] = found
        scores[row, : len(found)] = likelihood
    masks: list[np.ndarray] = [np.zeros(0, dtype=bool)] * len(sentences)
    # Sentences of similar length are searched together, so that little is computed on padding.
    order = sorted(range(len(sentences)), key=lambda row: len(sentences[row]))
    for first in range(0, len(order), CHUNK):
        rows = order[first : first + CHUNK]
        longest = len(sentences[rows[-1]])
        if longest == 0:
            continue
        ids = np.full((len(rows), longest), len(words), dtype=np.int64)  # [B, T]
        for line, row in enumerate(rows):
            ids[line, : len(sentences[row])] = [words[word] for word in sentences[row]]
        chosen = _search(ids, tags, scores, np.asarray([len(sentences[row]) for row in rows]))
        marked = np.isin(chosen, nouns)  # [B, T]
        for line, row in enumerate(rows):
            masks[row] = marked[line, : len(sentences[row])].copy()
    return masks


def _search(ids: np.ndarray, tags: np.ndarray, scores: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Viterbi over pairs of tags. ids [B, T], tags and scores [W + 1, K], lengths [B] -> best tags [B, T]."""
    transitions = _transitions()
    batch, longest = ids.shape
    empty, start, end = 0, 1, 2
    one = np.zeros((batch, CANDIDATES), dtype=np.int64)  # [B, K]
    before, last = one + empty, one + start
    # value[b, i, j]: the best path whose last two tags are before[b, i] and last[b, j].
    value = np.full((batch, CANDIDATES, CANDIDATES), -1e9, dtype=np.float32)  # [B, K, K]
    value[:, 0, 0] = 0.0
    final = np.zeros((batch, 2), dtype=np.int64)  # [B, 2]
    pointers = np.zeros((longest, batch, CANDIDATES, CANDIDATES), dtype=np.int8)  # [T, B, K, K]
    for step in range(longest):
        current, likelihood = tags[ids[:, step]], scores[ids[:, step]]  # [B, K] each
        paths = value[..., None] + transitions[before[:, :, None, None], last[:, None, :, None], current[:, None, None]]
        pointers[step] = paths.argmax(axis=1)  # over the tag before the last: [B, K, K]
        value = paths.max(axis=1) + likelihood[:, None, :]  # [B, K, K]
        before, last = last, current
        ending = np.flatnonzero(lengths == step + 1)
        if len(ending):
            closed = value[ending] + transitions[before[ending][:, :, None], last[ending][:, None, :], end]  # [E, K, K]
            best = closed.reshape(len(ending), -1).argmax(axis=1)
            final[ending] = np.stack(np.unravel_index(best, (CANDIDATES, CANDIDATES)), axis=1)
    chosen = np.zeros((batch, longest), dtype=np.int64)  # [B, T]
    left, right = final[:, 0], final[:, 1]
    rows = np.arange(batch)
    for step in range(longest - 1, -1, -1):
        inside = step < lengths
        chosen[:, step] = np.where(inside, tags[ids[:, step], right], -1)
        further = pointers[step, rows, left, right].astype(np.int64)
        left, right = np.where(inside, further, left), np.where(inside, left, right)
    return chosen


TAGGERS = {"hanta": _with_hanta, "spacy": _with_spacy}
