"""The word lists and tables of the METEOR 1.5 release, read from the package pycocoevalcap.

The paraphrase table is 270 MB of text. It is converted once to sorted arrays in the user's cache folder
(TELLAPART_CACHE, else XDG_CACHE_HOME/tellapart, else ~/.cache/tellapart), and then memory-mapped.
"""

import gzip
import importlib.util
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from tellapart.core.errors import InputError
from tellapart.metrics.captions.meteor.normalize import ANY_PREFIX, BEFORE_NUMBER

LONGEST_PHRASE = 7
# Endings that WordNet's morphology tries in turn, and their replacements.
WORDNET_ENDINGS = [
    *[("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man")],
    *[("ies", "y"), ("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e")],
    *[("ing", ""), ("er", ""), ("est", ""), ("er", "e"), ("est", "e")],
]


def release() -> Path:
    """The folder with meteor-1.5.jar and data/paraphrase-en.gz."""
    found = importlib.util.find_spec("pycocoevalcap")
    for root in (found.submodule_search_locations or []) if found else []:
        folder = Path(root) / "meteor"
        if (folder / "meteor-1.5.jar").is_file() and (folder / "data" / "paraphrase-en.gz").is_file():
            return folder
    raise InputError(
        "METEOR needs the synonym and paraphrase tables in the package pycocoevalcap, which is not installed: run "
        "`pip install pycocoevalcap` (Java is not needed), or do not compute METEOR."
    )


class Words:
    """Function words, abbreviations and WordNet synonym sets: small files inside the release's jar."""

    def __init__(self, folder: Path) -> None:
        with zipfile.ZipFile(folder / "meteor-1.5.jar") as jar:
            self.function = frozenset(jar.read("function/english.words").decode().split("\n"))
            prefixes = [line.split() for line in jar.read("nonbreaking/english.prefixes").decode().split("\n")]
            synsets = jar.read("synonym/english.synsets").decode().split("\n")
            exceptions = jar.read("synonym/english.exceptions").decode().split("\n")
        self.prefixes = {
            parts[0]: BEFORE_NUMBER if parts[1:2] == ["#NUMERIC_ONLY#"] else ANY_PREFIX
            for parts in prefixes
            if parts and not parts[0].startswith("#")
        }
        self.synsets = dict(zip(synsets[::2], synsets[1::2]))
        self.bases: dict[str, list[str]] = {}
        for base, forms in zip(exceptions[::2], exceptions[1::2]):
            for form in forms.split():
                self.bases.setdefault(form, []).append(base)

    def synonym_sets(self, word: str) -> set[int]:
        """Numbers of the synonym sets of a word or its base form; words that share one are synonyms."""
        bases = self.bases.get(word) or [self._base(word)]
        lines = {self.synsets.get(form, "") for form in (word, *bases)}
        return {int(number) for line in lines for number in line.split()}

    def _base(self, word: str) -> str:
        if word.endswith("ss") or len(word) <= 2:
            return word
        for ending, replacement in WORDNET_ENDINGS:
            if word.endswith(ending) and (base := word[: len(word) - len(ending)] + replacement) in self.synsets:
                return base
        return ""


@dataclass(frozen=True)
class Paraphrases:
    """Phrases as paths in a tree over word numbers, and for each phrase its paraphrases in the table's order."""

    words: dict[str, int]
    codes: tuple[np.ndarray, ...]
    """Per length n, sorted: number of the first n-1 words times the number of words, plus the last word."""
    phrase: tuple[np.ndarray, ...]
    """Per length n: the phrase that ends at a path, -1 for none."""
    starts: np.ndarray
    """[P+1] index of each phrase's first paraphrase in `targets`."""
    targets: np.ndarray


@cache
def words() -> Words:
    """The word lists of the release."""
    return Words(release())


@cache
def paraphrases() -> Paraphrases:
    """The paraphrase table, from the cache folder if it is there."""
    source = release() / "data" / "paraphrase-en.gz"
    with open(source, "rb") as file:
        file.seek(-8, os.SEEK_END)
        checksum_and_size = file.read().hex()  # how a gzip file ends
    root = Path(
        os.environ.get("TELLAPART_CACHE")
        or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tellapart"
    )
    folder = root / f"meteor-paraphrases-{checksum_and_size}"
    if not folder.is_dir():
        try:
            root.mkdir(parents=True, exist_ok=True)
            unfinished = Path(tempfile.mkdtemp(dir=root, prefix="meteor-unfinished-"))
        except OSError:  # no cache folder: build it for this process alone
            unfinished = folder = Path(tempfile.mkdtemp(prefix="tellapart-meteor-"))
        _build(source, unfinished)
        if unfinished != folder:
            try:
                unfinished.rename(folder)
            except OSError:  # another process was first
                shutil.rmtree(unfinished)
    return Paraphrases(
        {word: number for number, word in enumerate((folder / "words.txt").read_text("utf-8").split("\n"))},
        tuple(np.load(folder / f"codes{n}.npy", mmap_mode="r") for n in range(1, LONGEST_PHRASE + 1)),
        tuple(np.load(folder / f"phrase{n}.npy", mmap_mode="r") for n in range(1, LONGEST_PHRASE + 1)),
        np.load(folder / "starts.npy", mmap_mode="r"),
        np.load(folder / "targets.npy", mmap_mode="r"),
    )


class _Numbering(dict[bytes, int]):
    def __missing__(self, key: bytes) -> int:
        self[key] = number = len(self)
        return number


def _lines(source: Path) -> Iterable[list[bytes]]:
    """The table's lines in whole triples: probability, phrase, paraphrase."""
    rest = b""
    with gzip.open(source) as file:
        while block := file.read(1 << 25):
            lines = (rest + block).split(b"\n")
            whole = (len(lines) - 1) // 3 * 3
            rest = b"\n".join(lines[whole:])
            yield lines[:whole]


def _build(source: Path, folder: Path) -> None:
    number = _Numbering()
    pairs = [
        np.stack([np.fromiter(map(number.__getitem__, lines[k::3]), np.int32) for k in (1, 2)])
        for lines in _lines(source)
    ]
    from_phrase, to_phrase = np.concatenate(pairs, axis=1)
    order = np.argsort(from_phrase, kind="stable")
    np.save(folder / "targets.npy", to_phrase[order])
    np.save(folder / "starts.npy", np.searchsorted(from_phrase[order], np.arange(len(number) + 1)).astype(np.int32))
    vocabulary = _Numbering()
    phrases = list(number)
    lengths = np.fromiter((phrase.count(b" ") + 1 for phrase in phrases), np.int64, len(phrases))
    blocks = (b" ".join(phrases[k : k + (1 << 18)]).split(b" ") for k in range(0, len(phrases), 1 << 18))
    flat = np.concatenate([np.fromiter(map(vocabulary.__getitem__, block), np.int64, len(block)) for block in blocks])
    (folder / "words.txt").write_text(b"\n".join(vocabulary).decode("utf-8"), "utf-8")
    first = np.cumsum(lengths) - lengths
    node = np.zeros(len(lengths), np.int64)
    for n in range(LONGEST_PHRASE):
        active = np.flatnonzero(lengths > n)
        codes, inverse = np.unique(node[active] * len(vocabulary) + flat[first[active] + n], return_inverse=True)
        node[active] = inverse
        ends = lengths[active] == n + 1
        phrase = np.full(len(codes), -1, np.int32)
        phrase[inverse[ends]] = active[ends]
        np.save(folder / f"codes{n + 1}.npy", codes)
        np.save(folder / f"phrase{n + 1}.npy", phrase)
