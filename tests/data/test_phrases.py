"""Matching Entities' sentences to captions and carrying phrases over."""

from tellapart.data.pack_types import Caption
from tellapart.data.phrases import align, join_phrases, match_sentences
from tellapart.data.readers.entities import EntityImage, parse_sentence
from tellapart.text.rules import TextRules


def join(sentence: str, caption: str, rules: TextRules | None = None) -> tuple[list[tuple[str, ...]], list[str]]:
    """Words under each phrase, and the kinds of what was skipped."""
    rules = rules or TextRules()
    words = tuple(rules.split([caption])[0])
    image = EntityImage("Sentences/1.txt", (parse_sentence(sentence),), {})
    phrases, skipped = join_phrases({0: image}, [Caption(0, caption, words, "train")], {0: [0]}, rules)
    return [words[phrase.first : phrase.last] for phrase in phrases], [skip.kind for skip in skipped]


def test_punctuation_in_and_around_phrases() -> None:
    found, skipped = join("[/EN#1/people A man 's dog] , [/EN#2/other a t-shirt] .", "A man 's dog , a t-shirt .")
    assert found == [("a", "man", "'s", "dog"), ("a", "t-shirt")] and not skipped


def test_words_written_otherwise() -> None:
    found, _ = join("[/EN#1/animals A sheepdog] by [/EN#2/scene the pool] now", "A sheep dog by the pool now")
    assert found == [("a", "sheep", "dog"), ("the", "pool")]


def test_cut_captions_lose_their_last_phrases() -> None:
    found, skipped = join(
        "[/EN#1/people A man] in [/EN#2/other a big hat]", "A man in a big hat", TextRules(max_length=4)
    )
    assert found == [("a", "man"), ("a",)] and not skipped
    found, skipped = join(
        "[/EN#1/people A man] in [/EN#2/other a big hat]", "A man in a big hat", TextRules(max_length=3)
    )
    assert found == [("a", "man")] and skipped == ["phrase without words"]


def test_a_sentence_like_no_caption() -> None:
    assert join("[/EN#1/people Two boys] swim in [/EN#2/other water] today", "A") == ([], ["unmatched sentence"])


def test_sentences_are_matched_one_to_one() -> None:
    sentences = [["a", "gray", "dog"], ["a", "cat"], ["a", "grey", "dog"]]
    captions = [["a", "grey", "dog"], ["a", "grey", "dog", "now"], ["a", "cat"]]
    assert match_sentences(sentences, captions) == {1: 2, 2: 0, 0: 1}
    assert match_sentences([["x"]], []) == {}


def test_alignment_of_equal_and_deleted_words() -> None:
    assert align(["a", "b"], ["a", "b"]) == [(0, 1), (1, 2)]
    assert align(["a", "b", "c"], ["a", "c"]) == [(0, 1), None, (1, 2)]


def test_nested_kinds_and_entity_zero() -> None:
    parsed = parse_sentence("[/EN#7/vehicles/scene A bus] [/EN#0/notvisual who] stops")
    assert parsed.text == "A bus who stops"
    assert [(m.entity, m.kinds) for m in parsed.mentions] == [("7", ("vehicles", "scene")), ("0", ("notvisual",))]
