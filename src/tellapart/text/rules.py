"""Text rules: how text becomes words and words become a vocabulary. Presets hold the papers' choices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from tellapart.core.errors import InputError
from tellapart.text.tokens import SPLITTERS, Word, normal, split_all
from tellapart.text.vocabulary import Vocabulary
from tellapart.text.wordpiece import split_pieces

WORD_PIECE = "wordpiece"
WORD_RULES = (*SPLITTERS, WORD_PIECE)


@dataclass(frozen=True)
class TextRules:
    """How captions become word ids."""

    lower: bool = True
    """Convert to lower case."""
    words: Literal["ptb", "ptb-marks", "no-punctuation", "letters", "spaces", "wordpiece"] = "ptb"
    """A splitter of tellapart.text.tokens, or wordpiece, the subwords of a given vocabulary."""
    min_count: int = 5
    """Words that occur fewer times than this become UNK. 0 and 1 keep all."""
    max_length: int | None = None
    """Captions are cut after this many words; None keeps them whole."""
    vocabulary: Literal["train", "all", "corpus"] = "train"
    """Which captions are counted: train (with a corpus), all, or the corpus alone."""
    min_words: int = 0
    """Drop sentences without an image that have fewer words."""
    max_unknown: float = 1.0
    """Drop sentences without an image with a larger share of UNK."""
    labels: bool = False
    """Keep the words of all detector labels, even rare ones."""

    def __post_init__(self) -> None:
        if self.words not in WORD_RULES:
            raise InputError(f"`words` must be one of {', '.join(WORD_RULES)}, not '{self.words}'.")
        if self.max_length is not None and self.max_length < 1:
            raise InputError(f"`max_length` must be at least 1, not {self.max_length}.")
        if not 0 <= self.max_unknown <= 1:
            raise InputError(f"`max_unknown` must be between 0 and 1, not {self.max_unknown}.")

    @property
    def needs_vocabulary(self) -> bool:
        """Whether texts can only be split with a vocabulary at hand."""
        return self.words == WORD_PIECE

    def split(self, texts: Iterable[str], vocabulary: Vocabulary | None = None) -> list[list[str]]:
        """The words of each sentence, cut to `max_length`; the rule wordpiece needs the vocabulary."""
        if self.needs_vocabulary:
            rows = split_pieces(texts, self._given(vocabulary))
        else:
            rows = split_all(texts, self.words, self.lower)
        return rows if self.max_length is None else [row[: self.max_length] for row in rows]

    def words_in_place(self, text: str) -> list[Word]:
        """The words of one sentence with their places in it, not cut."""
        if self.needs_vocabulary:
            raise InputError("Subwords have no places in the text; use another word rule for data with phrases.")
        found = SPLITTERS[self.words].words(normal(text))
        return [Word(word.text.lower(), word.start, word.end) for word in found] if self.lower else found

    @staticmethod
    def _given(vocabulary: Vocabulary | None) -> Vocabulary:
        if vocabulary is None:
            raise InputError("The word rule wordpiece needs a vocabulary of subwords; give that of a run.")
        return vocabulary

    def build_vocabulary(self, sentences: Iterable[Sequence[str]], always: Iterable[str] = ()) -> Vocabulary:
        """Words by descending count, then alphabetically; `always` are kept whatever their count."""
        counts: Counter[str] = Counter()
        for sentence in sentences:
            counts.update(sentence)
        return self.vocabulary_of(counts, always)

    def vocabulary_of(self, counts: Counter[str], always: Iterable[str] = ()) -> Vocabulary:
        """`build_vocabulary` from the counts of words."""
        kept = {word for word, count in counts.items() if count >= self.min_count} | set(always)
        return Vocabulary.from_words(sorted(kept, key=lambda word: (-counts[word], word)))

    def as_dict(self) -> dict[str, Any]:
        """The rules as plain values."""
        return asdict(self)


PRESETS: dict[str, TextRules] = {
    "default": TextRules(),
    # Paper 1, section 5: letters and emojis only, fewer than 5 times is UNK, at most 18 words.
    "contrastive-captioning": TextRules(words="letters", min_count=5, max_length=18),
    # NeuralTalk2 keeps words seen more than 5 times and 16 words per caption.
    "neuraltalk": TextRules(words="no-punctuation", min_count=6, max_length=16),
    # Paper 2, section 4.2: fewer than 5 times is dropped, at most 16 words. Its released code drops 5 times as well.
    "grounded-captioning": TextRules(words="no-punctuation", min_count=5, max_length=16),
    # VSE++ and paper 3: words and marks, at least 4 times, no longest length.
    "vse": TextRules(words="ptb-marks", min_count=4),
    # Paper 4: every word of every split.
    "ltd": TextRules(words="ptb-marks", min_count=0, vocabulary="all"),
    # Paper 5: the vocabulary comes from unpaired sentences (Conceptual Captions: 15 times) and the detector's labels.
    "r2m": TextRules(min_count=15, vocabulary="corpus", min_words=8, max_unknown=0.15, labels=True),
}


def preset(name: str) -> TextRules:
    """The text rules of a preset."""
    if name not in PRESETS:
        raise InputError(f"`rules` must be one of {', '.join(PRESETS)}, not '{name}'.")
    return PRESETS[name]
