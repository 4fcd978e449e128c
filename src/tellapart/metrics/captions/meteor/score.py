"""METEOR 1.5 (Denkowski and Lavie 2014) for English, without Java: exact, stem, synonym and paraphrase matches.

As in the COCO caption script, a candidate is aligned with each reference and the best one counts. The corpus value is
computed from the summed counts; it is not a mean. `meteor_java` runs the reference jar instead.
"""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellapart.core.errors import InputError
from tellapart.metrics.captions.encoded import Encoded, check, encode
from tellapart.metrics.captions.meteor import tables as meteor_tables
from tellapart.metrics.captions.meteor.matches import Matches, find_matches
from tellapart.metrics.captions.meteor.normalize import normalize
from tellapart.metrics.captions.meteor.search import Alignments, best_alignments
from tellapart.metrics.captions.meteor.search_one import search_one
from tellapart.metrics.captions.meteor.settled import LONGEST
from tellapart.metrics.captions.values import CorpusSums, Score

ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75
MODULE_WEIGHTS = np.array([1.0, 0.6, 0.8, 0.6])  # exact, stem, synonym, paraphrase


@dataclass(frozen=True)
class Counts:
    """The counts that a METEOR score is computed from, one row per alignment (or one row for a corpus)."""

    lengths: np.ndarray
    """[n,2] words of candidate and reference."""
    function_words: np.ndarray
    """[n,2] function words among them."""
    content: np.ndarray
    """[n,2,4] matched content words by module."""
    function: np.ndarray
    """[n,2,4] matched function words by module."""
    chunks: np.ndarray
    """[n] runs of matches in the same order on both sides."""

    def rows(self, index: np.ndarray) -> "Counts":
        """The counts of some rows."""
        return Counts(*(getattr(self, name)[index] for name in self.__dataclass_fields__))

    def perfect(self) -> np.ndarray:
        """[n]: whether all words match in one chunk, which means no fragmentation."""
        matched = (self.content + self.function).sum(-1)
        result: np.ndarray = (matched == self.lengths).all(-1) & (self.chunks == 1)
        return result

    def columns(self) -> np.ndarray:
        """[n,21]: all counts, to be summed; alignments without fragmentation add no chunks."""
        chunks = np.where(self.perfect(), 0, self.chunks)
        parts = (self.lengths, self.function_words, self.content, self.function, chunks)
        return np.concatenate([part.reshape(len(chunks), -1) for part in parts], axis=1)

    def total(self) -> "Counts":
        """One row: the counts of the whole corpus."""
        return Counts.from_columns(self.columns().sum(0, keepdims=True))

    @classmethod
    def from_columns(cls, sums: np.ndarray) -> "Counts":
        """The inverse of `columns`."""
        content, function = sums[:, 4:12].reshape(-1, 2, 4), sums[:, 12:20].reshape(-1, 2, 4)
        return cls(sums[:, :2], sums[:, 2:4], content, function, sums[:, 20])

    def scores(self) -> np.ndarray:
        """[n]: harmonic mean of precision and recall, times one minus the fragmentation penalty."""
        with np.errstate(divide="ignore", invalid="ignore"):
            content, function = self.lengths - self.function_words, self.function_words
            weighted_length = DELTA * content + (1 - DELTA) * function
            weighted = (self.content * MODULE_WEIGHTS * DELTA).sum(-1)
            weighted += (self.function * MODULE_WEIGHTS * (1 - DELTA)).sum(-1)
            precision, recall = (weighted / weighted_length).T
            mean = 1 / ((1 - ALPHA) / precision + ALPHA / recall)
            matched = (self.content + self.function).sum((-1, -2)) / 2
            fragmentation = np.where(self.perfect(), 0, self.chunks / matched)
            score = mean * (1 - GAMMA * fragmentation**BETA)
        result: np.ndarray = np.maximum(np.nan_to_num(score, nan=0.0), 0.0)
        return result


def meteor(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """METEOR 1.5 of tokenised captions.

    The first call on a machine converts the release's paraphrase table, which takes a while; later calls find it in
    the cache folder.

    >>> score = meteor(["a dog runs"], [["a dog is running", "the dog runs"]])  # doctest: +SKIP
    >>> round(score.corpus, 4)  # doctest: +SKIP
    0.4094
    """
    counts, image = alignments(candidates, references)
    scores = counts.scores()
    starts = np.searchsorted(image, np.arange(len(candidates)))
    each = np.maximum.reduceat(scores, starts)
    best = np.flatnonzero(scores == each[image])
    first = best[np.searchsorted(image[best], np.arange(len(candidates)))]
    columns = counts.rows(first).columns()
    return Score(float(_corpus(columns.sum(0, keepdims=True))[0]), each, CorpusSums(columns, _corpus))


def _corpus(sums: np.ndarray) -> np.ndarray:
    return Counts.from_columns(sums).scores()


def alignments(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[Counts, np.ndarray]:
    """The counts of each candidate's alignment with each of its references, and the image of each pair."""
    check(candidates, references)
    tables = meteor_tables.words()
    prefixes = tables.prefixes
    normal = [normalize(caption.replace("|||", "").replace("  ", " "), prefixes) for caption in candidates]
    normal_references = [[normalize(caption, prefixes) for caption in group] for group in references]
    encoded = encode(normal, normal_references)
    matches = find_matches(encoded, tables, meteor_tables.paraphrases())
    chosen = np.flatnonzero(encoded.is_reference)
    sides = np.stack([np.flatnonzero(~encoded.is_reference)[encoded.image[chosen]], chosen])  # [2,pairs]
    is_function = np.array([word in tables.function for word in encoded.vocabulary])
    running = np.append(0, np.cumsum(is_function[encoded.words]))
    added = [
        _packed(running, encoded.starts[sides[side]][matches.pair] + start, length, matches.module)
        for side, start, length in (
            (0, matches.candidate_start, matches.candidate_length),
            (1, matches.start, matches.length),
        )
    ]
    found = _search(encoded, matches, sides, added)
    fields = np.stack([found.candidate_counts, found.reference_counts], 1)[:, :, None] >> np.arange(
        0, 64, 8, dtype=np.uint64
    )
    fields = (fields & np.uint64(255)).astype(float).reshape(-1, 2, 4, 2)
    ends = (encoded.starts + encoded.lengths)[sides.T]
    function_words = running[ends] - running[encoded.starts[sides.T]]
    counts = Counts(
        encoded.lengths[sides.T].astype(float),
        function_words.astype(float),
        fields[..., 0],
        fields[..., 1],
        found.chunks.astype(float),
    )
    return counts, encoded.image[chosen]


def _packed(running: np.ndarray, start: np.ndarray, length: np.ndarray, module: np.ndarray) -> np.ndarray:
    """What a match adds to the counts of one side, as eight counts of 8 bits (see `Alignments`)."""
    function = (running[start + length] - running[start]).astype(np.uint64)
    shift = (16 * module).astype(np.uint64)
    result: np.ndarray = (function << np.uint64(8) | (length.astype(np.uint64) - function)) << shift
    return result


def _search(encoded: Encoded, matches: Matches, sides: np.ndarray, added: list[np.ndarray]) -> Alignments:
    """The alignments of all pairs, searched at once except for pairs with a very long caption."""
    lengths = encoded.lengths[sides]  # [2,pairs]
    long = (lengths > LONGEST).any(0)
    if not long.any():
        return best_alignments(matches, lengths[1], *added)
    number = np.cumsum(~long) - 1
    keep = ~long[matches.pair]
    columns = {name: getattr(matches, name)[keep] for name in Matches.__dataclass_fields__}
    short = Matches(**(columns | {"pair": number[columns["pair"]]}))
    found = best_alignments(short, lengths[1, ~long], *(part[keep] for part in added))
    result = Alignments(*(np.zeros(len(long), part.dtype) for part in vars(found).values()))
    for all_pairs, short_pairs in zip(vars(result).values(), vars(found).values()):
        all_pairs[~long] = short_pairs
    for pair in np.flatnonzero(long):
        mine = slice(*np.searchsorted(matches.pair, [pair, pair + 1]))
        used, result.chunks[pair] = search_one(matches, mine, int(lengths[0, pair]), int(lengths[1, pair]))
        result.candidate_counts[pair] = added[0][used].sum(dtype=np.uint64)
        result.reference_counts[pair] = added[1][used].sum(dtype=np.uint64)
    return result


def meteor_java(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """METEOR by the reference jar in pycocoevalcap; needs a Java runtime."""
    check(candidates, references)
    folder = meteor_tables.release()
    if shutil.which("java") is None:
        raise InputError(
            'METEOR\'s jar needs Java, and no `java` was found: install a Java runtime, or use meteor="python".'
        )
    lines = [
        " ||| ".join(["SCORE", *group, candidate.replace("|||", "").replace("  ", " ")])
        for candidate, group in zip(candidates, references)
    ]
    command = ["java", "-jar", "-Xmx2G", "meteor-1.5.jar", "-", "-", "-stdio", "-l", "en", "-norm"]
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8"
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        counts = []
        for line in lines:  # one at a time: the jar answers each line before it reads the next
            process.stdin.write(line + "\n")
            process.stdin.flush()
            counts.append(process.stdout.readline().strip())
        process.stdin.write(" ||| ".join(["EVAL", *counts]) + "\n")
        process.stdin.flush()
        values = [float(process.stdout.readline()) for _ in range(len(lines) + 1)]
        process.stdin.close()
    return Score(values[-1], np.array(values[:-1]))
