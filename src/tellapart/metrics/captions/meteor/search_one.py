"""METEOR's beam search for one pair, path by path: for captions too long for `search.py`, and to test it."""

from dataclasses import dataclass, replace

from tellapart.metrics.captions.meteor.matches import Matches
from tellapart.metrics.captions.meteor.search import BEAM
from tellapart.metrics.captions.meteor.spans import EXACT


@dataclass
class Path:
    """An alignment of the words so far."""

    used: frozenset[int] = frozenset()
    used_reference: frozenset[int] = frozenset()
    chosen: tuple[int, ...] = ()
    score: int = 0
    chunks: int = 0
    distance: int = 0
    last: int = -1

    def key(self) -> tuple[int, int, int]:
        """Sort key, best first."""
        return -self.score, self.chunks, self.distance

    def close(self) -> None:
        """Close the open chunk."""
        self.chunks += self.last != -1
        self.last = -1


def search_one(matches: Matches, mine: slice, candidate_length: int, length: int) -> tuple[list[int], int]:
    """The matches (rows of `matches`) of the best path of one pair, and its number of chunks."""
    rows = range(*mine.indices(len(matches.pair)))
    spans = {
        row: (
            frozenset(
                range(matches.candidate_start[row], matches.candidate_start[row] + matches.candidate_length[row])
            ),
            frozenset(range(matches.start[row], matches.start[row] + matches.length[row])),
        )
        for row in rows
    }
    coverage = [[0] * candidate_length, [0] * length]
    for both in spans.values():
        for side in (0, 1):
            for word in both[side]:
                coverage[side][word] += 1
    certain = {
        int(matches.start[row]): row
        for row in rows
        if all(coverage[side][word] == 1 for side in (0, 1) for word in spans[row][side])
    }
    initial = Path(
        frozenset().union(*(spans[row][0] for row in certain.values())),
        frozenset().union(*(spans[row][1] for row in certain.values())),
    )
    paths = [initial]
    for word in range(length):
        paths = sorted(paths, key=Path.key)[:BEAM]
        here = [row for row in rows if matches.start[row] == word]
        grown: list[Path] = []
        for path in paths:
            if word in certain:
                grown.append(_take(path, certain[word], matches, spans[certain[word]]))
                grown[-1].distance += abs(int(matches.start[certain[word]] - matches.candidate_start[certain[word]]))
                continue
            if word in path.used_reference:
                grown.append(path)
                continue
            for row in here:
                if path.used.isdisjoint(spans[row][0]) and path.used_reference.isdisjoint(spans[row][1]):
                    grown.append(_take(path, row, matches, spans[row]))
                    path.distance += abs(int(matches.start[row] - matches.candidate_start[row]))
            path.close()
            grown.append(path)
        paths = grown
    paths = sorted(paths, key=Path.key)[:BEAM]
    for path in paths:
        path.close()
    best = min(paths, key=Path.key)
    return list(best.chosen), best.chunks


def _take(path: Path, row: int, matches: Matches, spans: tuple[frozenset[int], frozenset[int]]) -> Path:
    begin, size, width = matches.candidate_start[row], matches.candidate_length[row], matches.length[row]
    return replace(
        path,
        used=path.used | spans[0],
        used_reference=path.used_reference | spans[1],
        chosen=(*path.chosen, row),
        score=path.score + (2 if matches.module[row] == EXACT else int(size // 2 + width // 2)),
        chunks=path.chunks + (path.last not in (-1, begin)),
        last=int(begin + size),
    )
