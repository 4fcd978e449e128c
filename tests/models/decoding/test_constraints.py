"""Words that may not follow: against a loop over the runs of a caption."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.models.decoding.constraints import NEVER_GENERATED, Constraints, forbidden_words
from tellapart.text.vocabulary import END

WORDS = 8


def naive(prefix: list[int], constraints: Constraints) -> set[int]:
    """Words that would repeat a run of `no_repeat` words, END after a bad ending, and words never generated."""
    found = set(NEVER_GENERATED)
    length = constraints.no_repeat
    seen = {tuple(prefix[i : i + length]) for i in range(len(prefix) - length + 1)} if length else set()
    for word in range(WORDS):
        if length and tuple([*prefix, word][-length:]) in seen and len(prefix) >= length - 1:
            found.add(word)
    if prefix and prefix[-1] in constraints.bad_endings:
        found.add(END)
    return found


@settings(max_examples=60, deadline=None)
@given(
    prefix=st.lists(st.integers(4, 7), min_size=1, max_size=9),
    no_repeat=st.integers(0, 4),
    endings=st.sampled_from([(), (4,), (4, 5)]),
)
def test_against_a_loop(prefix: list[int], no_repeat: int, endings: tuple[int, ...]) -> None:
    constraints = Constraints(no_repeat, endings)
    found = forbidden_words(WORDS, torch.tensor([prefix]), constraints).expand(1, -1)
    assert set(found[0].nonzero().flatten().tolist()) == naive(prefix, constraints)


@pytest.mark.parametrize("no_repeat", [1, 2, 3])
def test_rows_do_not_mix(no_repeat: int) -> None:
    prefixes = [[4, 5, 4, 5, 6], [4, 4, 4, 4, 4], [7, 6, 5, 7, 6]]
    found = forbidden_words(WORDS, torch.tensor(prefixes), Constraints(no_repeat))
    for row, prefix in zip(found, prefixes):
        assert set(row.nonzero().flatten().tolist()) == naive(prefix, Constraints(no_repeat))


def test_only_the_end_follows_a_full_caption() -> None:
    found = forbidden_words(WORDS, torch.tensor([[4, 5]]), Constraints(), last=True)
    assert found[0].tolist() == [word != END for word in range(WORDS)]
