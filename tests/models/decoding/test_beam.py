"""Beam search against trying every sentence, against a one-image loop, and its options."""

import math
from itertools import pairwise, product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.core.errors import InputError
from tellapart.models.decoding import Constraints, bad_endings, beam, beams, diverse_beams, greedy, log_prob, with_start
from tellapart.models.decoding.constraints import forbidden_words, most_forbidden
from tellapart.text.vocabulary import END, PAD, START, UNK, Vocabulary
from tiny_captioners import TableCaptioner, numbered_images, random_table

WORDS = 7  # four special tokens and three words


def exhaustive(captioner: TableCaptioner, image: int, max_words: int, power: float = 0.0) -> float:
    """The score of the best sentence of all with at most `max_words` words, by trying each."""
    table = captioner.table[image].log_softmax(-1)
    best = -float("inf")
    for length in range(max_words + 1):
        for words in product(range(4, WORDS), repeat=length):
            sentence = [*words, END]
            score = sum(float(table[a, b]) for a, b in zip([START, *sentence], sentence)) / len(sentence) ** power
            best = max(best, score)
    return best


def words_of(row: torch.Tensor) -> list[int]:
    return [word for word in row.tolist() if word != PAD]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), max_words=st.integers(0, 4), power=st.sampled_from([0.0, 0.5, 1.0, 2.0]))
def test_wide_beam_is_exhaustive(seed: int, max_words: int, power: float) -> None:
    """A beam that holds every prefix (1 + 3 + 9 + 27 + 81 of them) misses nothing, with or without length norm."""
    captioner = random_table(3, WORDS, seed)
    found = beam(captioner, numbered_images(3), width=130, length_power=power, max_words=max_words)
    for image in range(3):
        score = float(found.log_probability[image]) / len(words_of(found.tokens[image])) ** power
        assert score == pytest.approx(exhaustive(captioner, image, max_words, power), abs=1e-4)


@pytest.mark.parametrize(("power", "words"), [(0.0, []), (0.5, []), (1.0, [4, 5, 6]), (2.0, [4, 5, 6])])
def test_the_power_decides_between_a_short_and_a_long_caption(power: float, words: list[int]) -> None:
    """By hand: END alone has ln p = -1, "4 5 6 END" has -3 in all, and no other caption can be generated.

    Sums: -1 > -3. By the root of the length: -1 > -3 / 2. Means: -1 < -3 / 4. By the square: -1 < -3 / 16."""
    first = torch.tensor(-1.0).exp()
    later = ((-3 - (1 - first).log()) / 3).exp()
    table = torch.full((1, WORDS, WORDS), -torch.inf)
    table[0, START, END], table[0, START, 4] = first.log(), (1 - first).log()
    for word, following in ((4, 5), (5, 6), (6, END)):
        table[0, word, following], table[0, word, UNK] = later.log(), (1 - later).log()
    table[0, END, END] = 0.0
    found = beam(TableCaptioner(table), numbered_images(1), width=3, length_power=power, max_words=5)
    assert words_of(found.tokens[0]) == [*words, END]


def test_the_power_decides_which_captions_are_kept() -> None:
    """Two beams, ranked by the root of the length. After two words END has ln p = -1, "4 5" -1.2 / sqrt 2 = -0.85
    and "4 6" -1.8 / sqrt 2 = -1.27, which is dropped. By their means, -1, -0.6 and -0.9, END would be dropped, the best
    caption in the end: "4 5 END" has -3 / sqrt 3."""
    table = torch.full((1, WORDS, WORDS), -torch.inf)
    costs = {START: {END: 1.0}, 4: {5: 1.2, 6: 1.8}, 5: {END: 1.8}, 6: {END: 1.7}}
    spent = -math.log(1 - math.exp(-1.0))  # of the first word, 4
    table[0, START, 4] = -spent
    for word, following in costs.items():
        for other, cost in following.items():
            table[0, word, other] = -(cost - spent) if word == 4 else -cost
        if word != START:
            table[0, word, UNK] = (1 - table[0, word].exp().sum()).log()
    table[0, END, END] = 0.0
    found = beam(TableCaptioner(table), numbered_images(1), width=2, length_power=0.5, max_words=5)
    assert words_of(found.tokens[0]) == [END] and found.log_probability.item() == pytest.approx(-1.0)


def one_by_one(captioner: TableCaptioner, image: int, width: int, max_words: int) -> list[tuple[float, list[int]]]:
    """Beam search in plain Python: finished sentences stay in the beam and compete."""
    table = captioner.table[image].log_softmax(-1)
    held = [(0.0, [START])]
    for time in range(max_words + 1):
        longer = []
        for score, words in held:
            if words[-1] == END:
                longer.append((score, words))
                continue
            for word in [END] if time == max_words else [END, *range(4, WORDS)]:
                longer.append((score + float(table[words[-1], word]), [*words, word]))
        held = sorted(longer, key=lambda pair: -pair[0])[:width]
    return [(score, words[1:]) for score, words in held]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), width=st.integers(1, 4))
def test_batched_beam_equals_plain_loop(seed: int, width: int) -> None:
    captioner = random_table(5, WORDS, seed)
    found = beams(captioner, numbered_images(5), width=width, max_words=6)
    for image in range(5):
        for place, (score, words) in enumerate(one_by_one(captioner, image, width, 6)):
            row = image * width + place
            # Sentences with the same pairs of words in another order tie; their scores do not depend on the order.
            assert float(found.log_probability[row]) == pytest.approx(score, abs=1e-4)
            assert len(words_of(found.tokens[row])) == len(words)


def test_beam_of_one_is_greedy() -> None:
    captioner, images = random_table(8, 12, 3), numbered_images(8)
    first, second = greedy(captioner, images), beam(captioner, images, width=1)
    longest = min(first.tokens.shape[1], second.tokens.shape[1])
    assert torch.equal(first.tokens[:, :longest], second.tokens[:, :longest])
    torch.testing.assert_close(first.log_probability, second.log_probability)


def test_log_probability_and_attention_come_along() -> None:
    """The figures are those of log_prob, and each word has the attention of the step that said it."""
    captioner, images = random_table(6, 12, 5), numbered_images(6)
    found = beams(captioner, images, width=3)
    owner = torch.arange(6).repeat_interleave(3)
    torch.testing.assert_close(found.log_probability, log_prob(captioner, images, with_start(found.tokens), owner))
    assert found.attention is not None
    before = with_start(found.tokens)[:, :-1]
    real = found.tokens != PAD
    expected = torch.nn.functional.one_hot(before % 3, 3).float() * real.unsqueeze(-1)
    torch.testing.assert_close(found.attention, expected)


@pytest.mark.parametrize("seed", range(4))
def test_special_tokens_are_never_generated(seed: int) -> None:
    captioner = random_table(10, 12, seed)
    captioner.table[:, :, [PAD, START, UNK]] += 20  # what the model would love to say
    for found in (beams(captioner, numbered_images(10), 4), diverse_beams(captioner, numbered_images(10), 4, 2)):
        for row in found.tokens:
            words = words_of(row)
            assert words[-1] == END and not {PAD, START, UNK, END} & set(words[:-1])


def test_no_repeated_pairs() -> None:
    captioner = random_table(6, 9, 1)
    captioner.table[:, :, END] -= 20
    free = beam(captioner, numbered_images(6), max_words=15)
    bound = beam(captioner, numbered_images(6), max_words=15, constraints=Constraints(no_repeat=2))

    def repeats(tokens: torch.Tensor) -> bool:
        pairs = list(zip(tokens.tolist(), tokens.tolist()[1:]))
        pairs = [pair for pair in pairs if PAD not in pair]
        return len(pairs) != len(set(pairs))

    assert any(repeats(row) for row in free.tokens)
    assert not any(repeats(row) for row in bound.tokens)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), no_repeat=st.integers(0, 3), endings=st.sampled_from([(), (4,), (4, 5)]))
def test_never_more_barred_than_counted(seed: int, no_repeat: int, endings: tuple[int, ...]) -> None:
    """Beam search looks among so many more words as may be barred; with one fewer it could run out of them."""
    constraints = Constraints(no_repeat, endings)
    said = torch.randint(4, 7, (20, seed % 8), generator=torch.Generator().manual_seed(seed))
    assert int(forbidden_words(30, said, constraints).sum(1).max()) <= most_forbidden(said.shape[1], constraints)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), width=st.integers(1, 3))
def test_constrained_beam_equals_barred_logits(seed: int, width: int) -> None:
    """Forbidding pairs to occur twice leaves the best of what is allowed: by a plain loop over one image's table."""
    captioner = random_table(1, WORDS, seed)
    table = captioner.table[0].log_softmax(-1)
    held = [(0.0, [START])]
    for time in range(6):
        longer = []
        for score, words in held:
            if words[-1] == END:
                longer.append((score, words))
                continue
            pairs = set(pairwise(words[1:]))
            for word in [END] if time == 5 else [END, *range(4, WORDS)]:
                if time == 5 or (words[-1], word) not in pairs:
                    longer.append((score + float(table[words[-1], word]), [*words, word]))
        held = sorted(longer, key=lambda pair: -pair[0])[:width]
    found = beams(captioner, numbered_images(1), width, max_words=5, constraints=Constraints(no_repeat=2))
    for place, (score, _) in enumerate(held):
        assert float(found.log_probability[place]) == pytest.approx(score, abs=1e-4)


def test_no_bad_endings() -> None:
    vocabulary = Vocabulary.from_words(["dog", "with", "a", "runs"])
    assert set(bad_endings(vocabulary)) == {vocabulary.ids["with"], vocabulary.ids["a"]}
    captioner = random_table(6, 8, 2, sharpness=0.1)
    captioner.table[:, vocabulary.ids["a"], END] += 5
    captioner.table[:, :, vocabulary.ids["a"]] += 3
    free = beam(captioner, numbered_images(6), max_words=8)
    bound = beam(
        captioner, numbered_images(6), max_words=8, constraints=Constraints(bad_endings=bad_endings(vocabulary))
    )
    assert any([START, *words_of(row)][-2] in bad_endings(vocabulary) for row in free.tokens)
    assert not any(
        [START, *words_of(row)][-2] in bad_endings(vocabulary) for row in bound.tokens if len(words_of(row)) < 9
    )


def test_diverse_beams_differ_more() -> None:
    """With a strong penalty the groups begin with different words; with none all groups find the same."""
    captioner, images = random_table(4, 12, 7), numbered_images(4)
    apart = diverse_beams(captioner, images, width=4, groups=4, diversity=50.0).tokens.view(4, 4, -1)
    alike = diverse_beams(captioner, images, width=4, groups=4, diversity=0.0).tokens.view(4, 4, -1)
    for image in range(4):
        assert len(set(apart[image, :, 0].tolist())) == 4
        assert len({tuple(row) for row in alike[image].tolist()}) == 1


def test_groups_of_beams_are_padded_to_the_longest_caption() -> None:
    """No column is padding alone, and attention has as many steps."""
    found = diverse_beams(random_table(4, 8, 2), numbered_images(4), width=4, groups=2)
    assert (found.tokens != PAD).any(0).all()
    assert found.attention is not None and found.attention.shape[:2] == found.tokens.shape


def test_diverse_beams_with_one_group_are_beams() -> None:
    captioner, images = random_table(4, 12, 9), numbered_images(4)
    plain, diverse = beams(captioner, images, width=3), diverse_beams(captioner, images, width=3, groups=1)
    torch.testing.assert_close(plain.log_probability, diverse.log_probability)


def test_bad_widths_are_rejected() -> None:
    captioner, images = random_table(2, 9, 0), numbered_images(2)
    with pytest.raises(InputError, match="`width` must be at least 1"):
        beams(captioner, images, width=0)
    with pytest.raises(InputError, match="groups"):
        diverse_beams(captioner, images, width=4, groups=3)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_guide_ranks_but_does_not_count(seed: int) -> None:
    """A wide beam finds the caption with the highest ln p + sum of the guide; its log-probability is ln p alone."""
    captioner, guide = (
        random_table(3, WORDS, seed),
        torch.randn(3, WORDS, generator=torch.Generator().manual_seed(seed)),
    )
    guide[:, END] = 0
    found = beams(captioner, numbered_images(3), width=130, max_words=3, guide=guide)
    for image in range(3):
        table = captioner.table[image].log_softmax(-1)
        every = [[*words, END] for length in range(4) for words in product(range(4, WORDS), repeat=length)]
        chance = {tuple(c): sum(float(table[a, b]) for a, b in zip([START, *c], c)) for c in every}
        held = {tuple(words_of(row)): float(p) for row, p in zip(found.tokens.view(3, 130, -1)[image],
                                                                 found.log_probability.view(3, 130)[image])
                if torch.isfinite(p)}  # fmt: skip
        assert held.keys() == chance.keys()
        assert all(held[c] == pytest.approx(chance[c], abs=1e-4) for c in chance)


def test_a_guided_beam_keeps_what_the_guide_prefers() -> None:
    """Word 4 is likeliest everywhere and a beam of one keeps it, unless the guide gives word 6 more than the gap."""
    captioner = random_table(1, WORDS, 0)
    captioner.table[:] = 0.0
    captioner.table[:, :, 4], captioner.table[:, 4:, END] = 2.0, 5.0
    guide = torch.zeros(1, WORDS)
    for bonus, word in ((1.9, 4), (2.1, 6)):
        guide[0, 6] = bonus
        assert int(beams(captioner, numbered_images(1), width=1, guide=guide).tokens[0, 0]) == word
