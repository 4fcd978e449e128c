"""The part of METEOR's alignments that needs no search: certain matches, and the stretches of settled words."""

from dataclasses import dataclass

import numpy as np

from tellapart.metrics.captions.meteor.matches import Matches

LONGEST = 63  # words of a caption, so that the matched words fit the bits of one integer
GAP = -1


@dataclass(frozen=True)
class Settled:
    """The result without search: the words that need a decision, and the stretch before each of them."""

    decision_pair: np.ndarray
    decision_word: np.ndarray
    """[D] reference words that need a decision, and one more entry per pair for its end (the word after the last)."""
    stretch_opens: np.ndarray
    """[D] first candidate word of the stretch before the word, GAP, or -2 for no stretch."""
    stretch_ends: np.ndarray
    """[D] the candidate word after the stretch's last match, or GAP."""
    certain: np.ndarray
    """[M] bool: matches that are part of every path."""
    chunks: np.ndarray
    """[pairs] chunks closed inside stretches."""


def settle(matches: Matches, lengths: np.ndarray) -> Settled:
    """The certain matches, and the stretches between the words that need a decision."""
    pairs = len(lengths)
    begin = np.cumsum(lengths) - lengths
    word = begin[matches.pair] + matches.start  # index among all references' words
    coverage = _cover(word, matches.length, int(lengths.sum()))
    candidate_word = matches.pair * (LONGEST + 1) + matches.candidate_start
    candidate_coverage = _cover(candidate_word, matches.candidate_length, pairs * (LONGEST + 1))
    alone = _all_ones(coverage, word, matches.length)
    alone &= _all_ones(candidate_coverage, candidate_word, matches.candidate_length)
    certain = alone
    inside = _cover(word[certain], matches.length[certain], len(coverage)) > 0
    # Elements: words that need a decision, certain matches (at their first word), words without a match, the end.
    certain_at = np.full(len(coverage), -1)
    certain_at[word[certain]] = np.flatnonzero(certain)
    decide = (coverage > 0) & ~inside
    element = decide | (coverage == 0) | (certain_at >= 0)
    at = np.flatnonzero(element)
    owner = np.repeat(np.arange(pairs), lengths)[at]
    ends = np.searchsorted(owner, np.arange(1, pairs + 1))
    at = np.insert(at, ends, -1)
    owner = np.insert(owner, ends, np.arange(pairs))
    is_decision = np.where(at >= 0, decide[at], True)
    match = np.where((at >= 0) & ~is_decision, certain_at[at], -1)
    opens = np.where(match >= 0, matches.candidate_start[match], GAP)
    after = np.where(match >= 0, matches.candidate_start[match] + matches.candidate_length[match], GAP)
    plain = ~is_decision
    follows = plain[1:] & plain[:-1]  # two settled elements of one pair, as every pair ends with a decision
    closes = follows & (after[:-1] != GAP) & (opens[1:] != after[:-1])
    chunks = np.bincount(owner[1:], closes, pairs).astype(np.int64)
    chosen = np.flatnonzero(is_decision)
    before = np.append(-1, chosen[:-1])
    has_stretch = chosen - before > 1
    start = np.minimum(before + 1, len(at) - 1)
    return Settled(
        owner[chosen],
        np.where(at[chosen] >= 0, at[chosen] - begin[owner[chosen]], lengths[owner[chosen]]),
        np.where(has_stretch, opens[start], -2),
        after[chosen - 1],
        certain,
        chunks,
    )


def _cover(start: np.ndarray, length: np.ndarray, size: int) -> np.ndarray:
    """[size]: how many spans cover each position."""
    steps = np.bincount(start, minlength=size + 1) - np.bincount(start + length, minlength=size + 1)
    return np.cumsum(steps)[:size]


def _all_ones(coverage: np.ndarray, start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Whether all positions of a span have coverage 1, so that only the span itself covers them."""
    total = np.append(0, np.cumsum(coverage))
    result: np.ndarray = total[start + length] - total[start] == length
    return result
