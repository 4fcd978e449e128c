"""Search before and after: forty queries with expected photos, and hubs, over an index of captioned images.

`python -m benchmarks.search_quality --index INDEX --data PACK`: the index holds images of the pack, by the names of
their files. Before: photos by the cosine of image and text alone. After: `PhotoIndex.search`.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks._search_queries import QUERIES, grade
from tellapart.data.pack import Pack
from tellapart.inference.strange_images import PATTERNS
from tellapart.search.answer import wanted_words
from tellapart.search.fit_calibration import example_queries
from tellapart.search.lexicon import words_of
from tellapart.search.photo_index import PhotoIndex, open_index
from tellapart.search.query import Found, Searcher
from tellapart.text.lemmas import noun_lemma

SHOWN = 10
PLAIN_COLOURS = (0, 64, 128, 192, 255, (255, 0, 0), (0, 128, 0), (0, 0, 255), (255, 255, 0))
WORDS, MANY = 600, 800


@dataclass(frozen=True)
class Judged:
    """The photos shown for one query."""

    grades: list[int]
    ideal: list[int]
    clear: bool
    """Whether the first one was called a clear match."""

    @property
    def ndcg(self) -> float:
        """DCG of the grades over that of the best order, gains 2^grade - 1 (Burges et al. 2005)."""
        best = dcg(sorted(self.ideal, reverse=True)[:SHOWN])
        return dcg(self.grades[:SHOWN]) / best if best else 0.0

    @property
    def wrong_first(self) -> bool:
        """Whether the first photo is irrelevant."""
        return not self.grades or self.grades[0] == 0


def dcg(grades: Sequence[int]) -> float:
    """Discounted cumulative gain."""
    return sum((2**one - 1) / math.log2(place + 2) for place, one in enumerate(grades))


def captions_by_name(data: Path) -> dict[str, list[str]]:
    """People's captions of each image of a pack, by the name of its file."""
    pack = Pack(data)
    return {
        Path(image.file).stem: [pack.captions[caption].text for caption in pack.captions_of[row]]
        for row, image in enumerate(pack.images)
    }


def judged(query: str, found: Sequence[Found], captions: dict[str, list[str]], clear: bool) -> Judged:
    """The grades of the photos found, and of all."""
    grades = {name: grade(query, texts, name) for name, texts in captions.items()}
    return Judged([grades[Path(one.path).stem] for one in found[:SHOWN]], list(grades.values()), clear)


def table(index: PhotoIndex, captions: dict[str, list[str]]) -> None:
    """Print nDCG@10 and the first photo of each query, before and after."""
    searcher = Searcher(index.store)
    before, after = [], []
    print("| query | relevant | nDCG@10 before | after | first before | first after |\n|---|---:|---:|---:|---|---|")
    for query in QUERIES:
        near = searcher.nearest(index.matcher.encode_texts([query])[0], SHOWN)
        answer = index.search(query, SHOWN)
        one, other = judged(query, near, captions, True), judged(query, answer.photos, captions, bool(answer.clear))
        before.append(one)
        after.append(other)
        relevant = sum(value > 0 for value in one.ideal)
        firsts = [
            f"{Path(found[0].path).stem} {('no', 'yes', 'yes')[judge.grades[0]]}" if found else "none"
            for found, judge in ((near, one), (answer.photos, other))
        ]
        doubt = "" if other.clear else ", less sure"
        print(f"| {query} | {relevant} | {one.ndcg:.2f} | {other.ndcg:.2f} | {firsts[0]} | {firsts[1]}{doubt} |")
    for name, rows in (("before", before), ("after", after)):
        wrong = [row for row in rows if row.wrong_first]
        print(
            f"{name}: mean nDCG@10 {np.mean([row.ndcg for row in rows]):.3f}; irrelevant first photo for "
            f"{len(wrong)} of {len(rows)} queries, called clear for {sum(row.clear for row in wrong)}"
        )


def many_queries(index: PhotoIndex, captions: dict[str, list[str]]) -> None:
    """Print the same over words and phrases cut from the captions, with the rule of grades; no query was chosen."""
    random = np.random.default_rng(0)
    counts = Counter(word for texts in captions.values() for text in texts for word in wanted_words(text))
    common = [word for word, _ in counts.most_common(1200)]
    queries = list(dict.fromkeys(example_queries(list(captions.values()), common, MANY, random)))
    searcher = Searcher(index.store)
    named = {
        name: [{noun_lemma(word) for word in words_of(text)} for text in texts] for name, texts in captions.items()
    }
    rows: dict[int, list[tuple[Judged, Judged]]] = {}
    for query, vector in zip(queries, index.matcher.encode_texts(queries)):
        wanted = set(wanted_words(query))
        grades = {name: _grade(wanted, each) for name, each in named.items()}
        if not wanted or sum(value > 0 for value in grades.values()) < 2:
            continue
        pair = []
        for found in (searcher.nearest(vector, SHOWN), index.search(query, SHOWN).photos):
            pair.append(Judged([grades[Path(one.path).stem] for one in found], list(grades.values()), True))
        rows.setdefault(min(3, len(wanted)), []).append((pair[0], pair[1]))
    print(
        "| words that name something | queries | nDCG@10 before | after | irrelevant first photo before | after |\n"
        "|---|---:|---:|---:|---:|---:|"
    )
    for words, pairs in sorted(rows.items()):
        value = [np.mean([pair[side].ndcg for pair in pairs]) for side in (0, 1)]
        wrong = [100 * np.mean([pair[side].wrong_first for pair in pairs]) for side in (0, 1)]
        name = ("", "one", "two", "three or more")[words]
        print(
            f"| {name} | {len(pairs)} | {value[0]:.3f} | {value[1]:.3f} | {wrong[0]:.0f}% | {wrong[1]:.0f}% |",
            flush=True,
        )


def _grade(wanted: set[str], captions: Sequence[set[str]]) -> int:
    """2 if two captions have all words, 1 if all captions together have them, else 0."""
    if sum(wanted <= words for words in captions) >= 2:
        return 2
    return int(wanted <= set().union(*captions))


def drawn_images() -> list[np.ndarray]:
    """Images that show nothing: nine of one colour, and fifteen patterns."""
    random = np.random.default_rng(0)
    plain = [np.full((224, 224, 3), colour, np.uint8) for colour in PLAIN_COLOURS]
    return plain + [np.clip(PATTERNS[n % len(PATTERNS)](random), 0, 255).astype(np.uint8) for n in range(15)]


def hubs(name: str, queries: np.ndarray, images: np.ndarray, drawn: int) -> None:
    """Print the skewness of the k-occurrence of images [N, E] (the last ones drawn) among queries [Q, E]."""
    top = np.argsort(-(queries @ images.T), axis=1)[:, :SHOWN]  # [Q, 10]
    count = np.bincount(top.ravel(), minlength=len(images)).astype(float)
    skewness = float(((count - count.mean()) ** 3).mean() / count.std() ** 3)
    # A hub is among the first ten of ten times as many queries as an image would be by chance, and of five at least.
    hub = count >= max(5.0, 10 * count.mean())
    flat = top[:, 0][(top[:, 0] >= len(images) - drawn) & (top[:, 0] < len(images) - drawn + len(PLAIN_COLOURS))]
    print(
        f"| {name} | {skewness:.2f} | {int(count.max())} | {100 * hub[top[:, 0]].mean():.1f}% | "
        f"{100 * (top[:, 0] >= len(images) - drawn).mean():.1f}% | {len(flat)} |"
    )


def hub_table(index: PhotoIndex, captions: dict[str, list[str]]) -> None:
    """Print hubness of words and of captions as queries, before and after."""
    known = index.images()
    drawn = drawn_images()
    images = np.concatenate([known.vectors, index.matcher.encode_images(drawn)])
    counts = Counter(word for texts in captions.values() for text in texts for word in set(words_of(text)))
    kinds: dict[str, list[str]] = {
        "words": [f"a {word}" for word, _ in counts.most_common(WORDS)],
        "captions": [texts[0] for texts in list(captions.values())[:: max(1, len(captions) // WORDS)]],
    }
    print(
        "| queries | skewness of N10 | largest N10 | first photo is a hub | first photo is drawn | of one colour |\n"
        "|---|---:|---:|---:|---:|---:|"
    )
    for kind, texts in kinds.items():
        plain = index.matcher.encode_texts(texts)
        hubs(f"{len(texts)} {kind}, before", plain, images, len(drawn))
        assert index.calibration is not None
        centred = index.calibration.centre.centred
        after = np.stack([centred(vector, len(words_of(text))) for vector, text in zip(plain, texts)])
        hubs(f"{len(texts)} {kind}, after", after, images, len(drawn))


def main(device: str = "cpu", arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--index", default="", help="an index of images of the pack, with the bundled matcher")
    parser.add_argument("--data", type=Path, help="the pack")
    options = parser.parse_args(arguments)
    if not options.index or options.data is None:
        print("skipped: give --index and --data to python -m benchmarks.search_quality")
        return
    index = open_index(options.index, captioner=None, device=device)
    names = {Path(path).stem for path in index.images().names}
    captions = {name: texts for name, texts in captions_by_name(options.data).items() if name in names}
    print(f"{len(index)} images, {len(captions)} of them in the pack")
    steps: tuple[Callable[[PhotoIndex, dict[str, list[str]]], None], ...] = (many_queries, table, hub_table)
    for step in steps:
        step(index, captions)


if __name__ == "__main__":
    import sys

    main(arguments=sys.argv[1:])
