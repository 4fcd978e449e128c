"""Which words references name, for many images at once, is what it is for one image."""

from tellapart.text.named import NAMED_BY, named_table, named_words


def test_the_table_is_that_of_single_images() -> None:
    words = [*NAMED_BY, "dog", "dogs", "sitting", "sits", "parked", "zebra"]
    groups = [["two dogs on a couch", "a man sits"], ["a woman parks cars on the road"], [], ["people in snowy hills"]]
    table = named_table(words, groups)
    assert table.shape == (4, len(words)) and table.any(1).tolist() == [True, True, False, True]
    for row, references in enumerate(groups):
        assert table[row].tolist() == named_words(words, references).tolist()
