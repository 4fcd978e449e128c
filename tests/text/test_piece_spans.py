"""Words and the pieces that spell them, with a tokenizer that cuts words."""

from __future__ import annotations

import pytest

from tellapart.text.model_tokenizer import TokenizerVocabulary
from tellapart.text.piece_spans import piece_ends, spans_of_words, words_in

tokenizers = pytest.importorskip("tokenizers")
transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def vocabulary() -> TokenizerVocabulary:
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "dog", "jump", "##ing", "well", "-", "lit", "on", "##s", "the"]
    made = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({name: row for row, name in enumerate(names)}, unk_token="[UNK]")
    )
    made.normalizer = tokenizers.normalizers.Lowercase()
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.decoder = tokenizers.decoders.WordPiece(cleanup=False)
    return TokenizerVocabulary(
        transformers.PreTrainedTokenizerFast(
            tokenizer_object=made, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]"
        )
    )


def test_the_pieces_of_a_word_are_found(vocabulary: TokenizerVocabulary) -> None:
    (ids,) = vocabulary.encode_texts(["A jumping dog on the well-lit dogs."])
    text, ends = piece_ends(vocabulary, ids)
    assert text == "a jumping dog on the well - lit dogs"  # the full stop is an unknown piece, which is not shown
    words = ["a", "jumping", "dog", "on", "the", "well-lit", "dogs"]
    assert spans_of_words(text, ends, words) == [(0, 1), (1, 3), (3, 4), (4, 5), (5, 6), (6, 9), (9, 11)]
    assert spans_of_words(text, ends, ["a", "zebra", "dog"]) == [(0, 1), None, (3, 4)]
    assert [word.text for word in words_in(text, "wordpiece")][:3] == ["a", "jumping", "dog"]


def test_a_text_without_pieces_has_no_spans(vocabulary: TokenizerVocabulary) -> None:
    assert piece_ends(vocabulary, []) == ("", [])
    assert spans_of_words("", [], ["dog"]) == [None]
