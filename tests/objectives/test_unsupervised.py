"""R2M's objectives: values, gradients, and a corpus small enough to learn by heart."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.core.types import Batch, Images
from tellapart.data.batches import Batches
from tellapart.data.concepts_column import IMAGE_CONCEPTS, IMAGE_SCORES, SENTENCE_CONCEPTS
from tellapart.data.feature_store import FeatureStore
from tellapart.data.join import CorpusFilter, join_unpaired
from tellapart.data.pack import Pack
from tellapart.data.pack_types import Split
from tellapart.losses.hinge import HardestNegativeHinge
from tellapart.losses.unmasked_hinge import UnmaskedHinge
from tellapart.models.captioners.r2m import R2M
from tellapart.models.decoding import greedy, with_start
from tellapart.models.decoding.constraints import NEVER_GENERATED
from tellapart.models.inputs import ModelInputs
from tellapart.objectives.concept_gan import ConceptGan, discounted
from tellapart.objectives.concepts_to_sentence import ConceptsToSentence
from tellapart.objectives.context import Context
from tellapart.objectives.noised_sentences import noised
from tellapart.objectives.pseudo_captions import PseudoCaptions
from tellapart.objectives.r2m_parts import SquaredDistance, greedy_captions
from tellapart.objectives.visual_alignment import VisualAlignment
from unpaired_packs import SENTENCES, corpus_pack, image_pack

SMALL = R2M(width=32, key_width=16, value_width=16, dropout=0.0)


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Context:
    folder = tmp_path_factory.mktemp("unpaired")
    filters = CorpusFilter(least_count=1, held_out=0.0)
    pack: Pack = join_unpaired(image_pack(folder / "a"), corpus_pack(folder / "b"), folder / "c", filters=filters).pack
    store = FeatureStore(pack.feature_folder("vectors"))
    batches = Batches(pack, store, (IMAGE_CONCEPTS, SENTENCE_CONCEPTS, IMAGE_SCORES))
    return Context(pack, ModelInputs(pack.vocabulary, store.width), batches, store, torch.device("cpu"))


def sentences(context: Context) -> Batch:
    return context.batches.unpaired(np.flatnonzero(context.pack.owner < 0))


def images(context: Context) -> Batch:
    return context.batches.images_and_captions(np.arange(6), np.zeros(0, np.int64))


def test_a_tiny_corpus_is_learned_by_heart(context: Context) -> None:
    torch.manual_seed(0)
    model = SMALL.build(context.inputs)
    objective = ConceptsToSentence(reconstruction=1.0, distance="mean").build(model, context)
    optimiser = torch.optim.Adam(objective.parameters(), 1e-2)
    batch = sentences(context)
    for _ in range(150):
        optimiser.zero_grad()
        figures = objective(batch)
        figures["loss"].backward()
        optimiser.step()
    assert figures["likelihood"] < 0.1 and figures["reconstruction"] < 0.2
    columns = {IMAGE_CONCEPTS: batch.texts.columns[SENTENCE_CONCEPTS]}
    count = len(batch.texts)
    seen = Images(torch.zeros(count, 1, 0), torch.ones(count, 1, dtype=torch.bool), columns=columns)
    said = [context.pack.vocabulary.decode(row) for row in greedy(model.eval(), seen).tokens.tolist()]
    assert said == list(SENTENCES)
    by_image = greedy(model, context.batches.images(np.asarray([0, 5])))  # horse and person; nothing at all
    assert context.pack.vocabulary.decode(by_image.tokens[0].tolist()) == SENTENCES[0]
    assert context.pack.vocabulary.decode(by_image.tokens[1].tolist())


def test_text_loss_is_the_mean_over_words(context: Context) -> None:
    """-(1/n) sum of ln p(word), END among the words, as a loop over steps finds it; + beta ||v - v~||^2."""
    model = SMALL.build(context.inputs).eval()
    batch = sentences(context)
    figures = ConceptsToSentence(reconstruction=0.5).build(model, context).eval()(batch)
    vectors = model.encode(batch.texts.columns[SENTENCE_CONCEPTS])
    state, total, count = model.begin(vectors), 0.0, 0
    for time in range(batch.texts.tokens.shape[1] - 1):
        step = model.step(batch.texts.tokens[:, time], state)
        state = step.state
        for row, word in enumerate(batch.texts.tokens[:, time + 1].tolist()):
            if word:
                total, count = total - float(step.logits[row].detach().log_softmax(0)[word]), count + 1
    assert abs(float(figures["likelihood"].detach()) - total / count) < 1e-5
    hidden = model.read(model.begin(vectors), batch.texts.tokens).hidden
    rebuilt = model.reconstruct(hidden, batch.texts.lengths)
    lengths = [float(sum((a - b) ** 2 for a, b in zip(*pair))) for pair in zip(vectors.tolist(), rebuilt.tolist())]
    assert float(figures["reconstruction"].detach()) == pytest.approx(sum(lengths) / len(lengths), rel=1e-4)
    whole = figures["likelihood"] + 0.5 * figures["reconstruction"]
    assert torch.isclose(figures["loss"], whole)


def test_image_loss_is_equation_12_and_13(context: Context) -> None:
    model = SMALL.build(context.inputs).eval()
    batch = images(context)
    for compat, distance, ranking in (
        ("paper", "sum", lambda s: HardestNegativeHinge(0.2)(s, torch.arange(6))),
        ("code", "mean", UnmaskedHinge(0.2)),
    ):
        objective = (
            VisualAlignment(reconstruction=0.3, longest=5, distance=distance, compat=compat)
            .build(model, context)
            .eval()
        )
        figures = objective(batch)
        vectors = model.encode(batch.images.columns[IMAGE_CONCEPTS])
        said = with_start(greedy(model, batch.images, 5).tokens)
        rebuilt = model.reconstruct(model.read(model.begin(vectors), said).hidden, (said != 0).sum(1))
        seen = torch.nn.functional.normalize(batch.images.features[:, 0] @ objective.projection, dim=1)
        matching = ranking(seen @ rebuilt.t())
        squares = (vectors - rebuilt).pow(2)
        rebuilding = squares.mean() if distance == "mean" else squares.sum(1).mean()
        assert torch.isclose(figures["matching"], matching, atol=1e-6)
        assert torch.isclose(figures["loss"], matching + 0.3 * rebuilding, atol=1e-6)


def test_gradient_flows_through_the_memories_alone(context: Context) -> None:
    """The generated words are constants: the table that chose them learns nothing, encoder, memories and
    reconstructor do."""
    model = SMALL.build(context.inputs)
    objective = VisualAlignment(longest=5).build(model, context)
    assert not any("projection" in name for name, _ in objective.named_parameters())
    objective(images(context))["loss"].backward()
    assert model.predict.weight.grad is None
    for part in (model.encoder, model.fusion, model.decoder, model.reconstructor):
        assert any(parameter.grad is not None and parameter.grad.any() for parameter in part.parameters())


def test_stages_share_their_projection(context: Context) -> None:
    model = SMALL.build(context.inputs)
    first, second = (VisualAlignment(reconstruction=g).build(model, context).projection for g in (0.0, 1.0))
    assert torch.equal(first, second)


def test_squared_distance_by_hand() -> None:
    """(1, 0) and (0, 2): 1 + 4 = 5 as printed, 2.5 as released."""
    wanted, rebuilt = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 2.0]])
    assert SquaredDistance("sum")(wanted, rebuilt).tolist() == [5.0]
    assert SquaredDistance("mean")(wanted, rebuilt).tolist() == [2.5]
    with pytest.raises(InputError):
        SquaredDistance("other")
    double = torch.randn(3, 4, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(SquaredDistance("sum"), (double, torch.randn(3, 4, dtype=torch.double)))


def test_said_sentences_end(context: Context) -> None:
    model = SMALL.build(context.inputs).eval()
    batch = images(context)
    said = greedy_captions(model, model.encode(batch.images.columns[IMAGE_CONCEPTS]), batch.images, 4)
    assert (said[:, 0] == 1).all() and (said == 2).any(1).all() and said.shape[1] <= 6


def test_objectives_reject_what_they_cannot_train(context: Context) -> None:
    for config in (ConceptsToSentence(), VisualAlignment(), ConceptGan()):
        with pytest.raises(InputError, match="trains R2M"):
            config.build(torch.nn.Linear(1, 1), context)


def test_discounted_rewards_equal_a_loop() -> None:
    torch.manual_seed(0)
    rewards = torch.randn(3, 5)
    found = discounted(rewards, 0.9)
    for row in range(3):
        later = 0.0
        for time in reversed(range(5)):
            later = float(rewards[row, time]) + 0.9 * later
            assert abs(float(found[row, time]) - later) < 1e-5


def test_concept_reward_by_hand(context: Context) -> None:
    """Image 0 shows a horse (0.9) and a person (0.8): "man" and "horse" are paid their scores, "dog" and "a"
    nothing."""
    objective = ConceptGan().build(SMALL.build(context.inputs), context)
    ids = context.pack.vocabulary.ids
    images = context.batches.images(np.asarray([0]))
    tokens = torch.tensor([[ids["a"], ids["man"], ids["horse"], ids["dog"], 2, 0]])
    concepts = images.columns[IMAGE_CONCEPTS].long()
    paid = objective.concept_rewards(tokens, concepts, images.columns[IMAGE_SCORES])
    assert paid[0].tolist() == pytest.approx([0, 0.8, 0.9, 0, 0, 0])
    assert not objective.concept_rewards(tokens, torch.zeros_like(concepts), images.columns[IMAGE_SCORES]).any()


@pytest.mark.parametrize("equal", [False, True])
def test_advantages_add_up_the_three_rewards_as_a_loop_does(equal: bool, context: Context) -> None:
    """ln D(word) + 10 x the concept's score, discounted from here on, and - 0.2 ||v - v'||^2 at every word, less the
    same of the greedy caption: as far as the sampled caption goes, or as far as its own words go."""
    torch.manual_seed(0)
    model = SMALL.build(context.inputs).eval()
    objective = ConceptGan(critic_width=16, clip=1e9, equal_lengths=equal).build(model, context).eval()
    found = context.batches.images(np.asarray([0, 1]))
    concepts, scores = found.columns[IMAGE_CONCEPTS].long(), found.columns[IMAGE_SCORES]
    ids = context.pack.vocabulary.ids
    drawn = torch.tensor([[ids["a"], ids["man"], ids["horse"], 2], [ids["two"], ids["dogs"], 2, 0]])
    greedy_said = torch.tensor([[ids["man"], 2, 0, 0, 0], [ids["a"], ids["two"], ids["dogs"], ids["a"], 2]])
    named = [{1: 0.8, 2: 0.9}, {1: 0.9}], [{0: 0.8}, {2: 0.9}]  # man is a person, dogs are a dog
    with torch.no_grad():
        vectors = model.encode(concepts)
        advantage = objective.advantages(drawn, greedy_said, concepts, scores, vectors)
        judged = [objective.critic(tokens) for tokens in (drawn, greedy_said)]
        bias = float(objective.critic.judge.bias.sigmoid().log())
    for row in range(2):
        length = int((drawn[row] != 0).sum())
        own = int((greedy_said[row] != 0).sum())
        values = []
        for which, (logits, gist), last in ((0, judged[0], length), (1, judged[1], length if equal else own)):
            rebuilt, later, sums = -0.2 * float((vectors[row] - gist[row]).pow(2).sum()), 0.0, {}
            for time in reversed(range(last)):
                written = which == 0 or time < own
                human = float(logits[row, time].sigmoid().log()) if written else bias
                later = human + 10.0 * named[which][row].get(time, 0.0) + 0.9 * later
                sums[time] = later + rebuilt
            values.append(sums)
        for time in range(length):
            expected = values[0][time] - values[1].get(time, 0.0)
            assert float(advantage[row, time]) == pytest.approx(expected, abs=1e-4), (row, time)


def test_ending_early_is_no_escape_from_the_critic(context: Context) -> None:
    """By hand, with ln D = -3 at every word and no reconstruction. Image 0 shows a person (0.8). The greedy caption is
    "man a a a a END", the sampled one "man END". Both name the person at once.

    Compared whole, END is worth -3 against -3 (1 + 0.9 + ... + 0.9^4) = -12.285: +9.285, clipped to 5. Compared over
    two words it is worth -3 against -3: nothing. And with a longer sample than the greedy caption, no word costs."""
    found = context.batches.images(np.asarray([0]))
    concepts, scores = found.columns[IMAGE_CONCEPTS].long(), found.columns[IMAGE_SCORES]
    ids = context.pack.vocabulary.ids
    short, long = [ids["man"], 2, 0, 0, 0, 0], [ids["man"], *[ids["a"]] * 4, 2]
    model = SMALL.build(context.inputs).eval()
    worth = {}
    for equal in (False, True):
        config = ConceptGan(image_weight=0.0, every_mention=False, critic_width=16, equal_lengths=equal)
        objective = config.build(model, context).eval()
        with torch.no_grad():
            objective.critic.judge.weight.zero_()
            objective.critic.judge.bias.fill_(-float(np.log(np.exp(3.0) - 1)))  # ln sigmoid = -3
            for drawn, likeliest in ((short, long), (long, short)):
                tokens = torch.tensor([drawn])[:, : 2 if drawn is short else 6], torch.tensor([likeliest])
                vectors = torch.zeros(1, model.width)
                worth[equal, drawn is short] = objective.advantages(*tokens, concepts, scores, vectors)[0].tolist()
    assert worth[False, True] == pytest.approx([5.0, 5.0])
    assert worth[True, True] == pytest.approx([0.0, 0.0], abs=1e-4)
    assert worth[False, False][1:] == pytest.approx([-5.0] * 3 + [-5.0, -3.0], abs=1e-4)
    assert worth[True, False] == pytest.approx([0.0] * 6, abs=1e-4)


def test_policy_equals_a_loop_over_drawn_words(context: Context) -> None:
    """Minus the mean of advantage times ln p(word), p over words that can be drawn; END after the last word is no
    choice."""
    torch.manual_seed(0)
    model = SMALL.build(context.inputs).eval()
    objective = ConceptGan(critic_width=16, longest=3).build(model, context).eval()
    vectors = model.encode(images(context).images.columns[IMAGE_CONCEPTS][:2])
    drawn, advantage = torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]]), torch.randn(2, 4)
    total, count, state = 0.0, 0, model.begin(vectors)
    word = torch.tensor([1, 1])
    for time in range(4):
        step = model.step(word, state)
        state, word = step.state, drawn[:, time]
        allowed = [index for index in range(step.logits.shape[1]) if index not in NEVER_GENERATED]
        for row in range(2):
            if drawn[row, time] == 0:
                continue
            count += 1
            if time < 3:
                logits = step.logits[row].detach()
                total -= float(advantage[row, time] * (logits[drawn[row, time]] - logits[allowed].logsumexp(0)))
    assert float(objective.policy(vectors, drawn, advantage).detach()) == pytest.approx(total / count, abs=1e-5)


def test_captioner_and_critic_learn_apart(context: Context) -> None:
    """The policy's loss leaves the critic alone, and the critic's losses leave the captioner alone."""
    torch.manual_seed(0)
    model = SMALL.build(context.inputs)
    objective = ConceptGan(critic_width=16, longest=6).build(model, context)
    batch = images(context)
    vectors = model.encode(batch.images.columns[IMAGE_CONCEPTS])
    drawn = torch.tensor([[5, 6, 2]] * 6)
    objective.policy(vectors, drawn, torch.ones(6, 3)).backward()
    assert all(parameter.grad is None for parameter in objective.critic.parameters())
    assert model.predict.weight.grad.any()
    model.zero_grad()
    adversary, rebuilding, _ = objective.critic_losses(drawn, drawn, vectors.detach())
    (adversary + rebuilding).backward()
    assert objective.critic.judge.weight.grad.any() and model.predict.weight.grad is None


def test_the_critic_tells_people_from_machines(context: Context) -> None:
    """-ln D of human words and -ln (1 - D) of the captioner's, each a mean over words; ||v - v'||^2 of its captions."""
    torch.manual_seed(0)
    model = SMALL.build(context.inputs)
    critic = ConceptGan(critic_width=16).build(model, context).eval()
    machine, human = torch.tensor([[5, 6, 2, 0], [7, 2, 0, 0]]), torch.tensor([[8, 9, 10, 2], [8, 9, 2, 0]])
    vectors = torch.nn.functional.normalize(torch.randn(2, model.width), dim=1)
    with torch.no_grad():
        torch.nn.init.normal_(critic.critic.judge.weight, std=5.0)
        adversary, rebuilding, gist = critic.critic_losses(machine, human, vectors)
        (made, vector), (said, expected) = critic.critic(machine), critic.critic(human)
    costs = []
    for logits, tokens, sign in ((made, machine, -1), (said, human, 1)):
        words = [float(logits[row, time]) for row in range(2) for time in range(4) if tokens[row, time]]
        costs.append(sum(-np.log(1 / (1 + np.exp(-sign * logit))) for logit in words) / len(words))
    assert float(adversary) == pytest.approx(sum(costs), rel=1e-4) and abs(costs[0] - costs[1]) > 1e-3
    distances = [float((vectors[row] - vector[row]).pow(2).sum()) for row in range(2)]
    assert float(rebuilding) == pytest.approx(sum(distances) / 2, rel=1e-4)
    assert torch.equal(gist, expected)


def test_concept_rewards_teach_naming_concepts(context: Context) -> None:
    """A few steps of UC-GAN raise the concept reward of sampled sentences."""
    torch.manual_seed(0)
    model = SMALL.build(context.inputs)
    objective = ConceptGan(critic_width=16, longest=8).build(model, context)
    optimiser = torch.optim.Adam(objective.parameters(), 1e-2)
    batch, named = images(context), []
    for _ in range(60):
        optimiser.zero_grad()
        figures = objective(batch)
        figures["loss"].backward()
        optimiser.step()
        named.append(float(figures["concepts"]))
    assert np.mean(named[-10:]) > np.mean(named[:10]) + 0.2
    assert all(torch.isfinite(value) for value in figures.values())


def test_an_anchor_costs_nothing_until_the_language_moves(context: Context) -> None:
    model = SMALL.build(context.inputs).eval()
    batch = images(context)
    free = VisualAlignment(longest=5).build(model, context).eval()
    held = VisualAlignment(longest=5, anchor=2.0).build(model, context).eval()
    figures = held(batch)
    assert figures["drift"].item() == pytest.approx(0.0, abs=1e-6)
    torch.testing.assert_close(figures["loss"], free(batch)["loss"])
    assert set(held.state_dict()) == set(free.state_dict())  # what was said before is not saved
    with torch.no_grad():
        model.predict.bias += torch.randn_like(model.predict.bias)
    moved = held(batch)
    assert moved["drift"].item() > 0.01
    torch.testing.assert_close(moved["loss"], moved["matching"] + 2.0 * moved["drift"])
    moved["loss"].backward()
    assert model.predict.bias.grad is not None and model.predict.bias.grad.any()


@pytest.mark.parametrize(
    "config",
    [ConceptsToSentence(), VisualAlignment(longest=5), ConceptGan(longest=5)],
    ids=lambda config: type(config).__name__,
)
def test_training_reads_concepts_in_random_order(
    config: ConceptsToSentence | VisualAlignment | ConceptGan, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In training the order changes from step to step and the concepts stay; in validation nothing changes."""
    model = SMALL.build(context.inputs)
    objective = config.build(model, context)
    batch = sentences(context) if isinstance(config, ConceptsToSentence) else images(context)
    columns = batch.texts.columns if isinstance(config, ConceptsToSentence) else batch.images.columns
    given = columns[SENTENCE_CONCEPTS if isinstance(config, ConceptsToSentence) else IMAGE_CONCEPTS].long()
    read: list[torch.Tensor] = []
    encode = model.encode
    monkeypatch.setattr(model, "encode", lambda concepts: read.append(concepts.long()) or encode(concepts))
    objective.train()
    torch.manual_seed(0)
    orders = set()
    for _ in range(8):
        read.clear()
        objective(batch)
        assert torch.equal(read[0].sort(1).values, given.sort(1).values)
        orders.add(tuple(read[0].flatten().tolist()))
    assert (given != 0).sum(1).max() > 1 and len(orders) > 1
    objective.eval()
    read.clear()
    objective(batch)
    assert torch.equal(read[0], given)


def test_v_is_not_dropped_out(context: Context) -> None:
    """As released, the decoder reads v whole and reconstruction aims at it whole; the setting of before drops elements
    of it (of length one again), so that two passes differ."""
    concepts = images(context).images.columns[IMAGE_CONCEPTS]
    torch.manual_seed(0)
    dropped = R2M(width=32, key_width=16, value_width=16, dropout=0.5).build(context.inputs).train()
    assert (dropped.encode(concepts)[0] == 0).any()
    whole = R2M(width=32, key_width=16, value_width=16, dropout=0.5, vector_dropout=False).build(context.inputs)
    assert (whole.train().encode(concepts)[0] != 0).all()  # the input words are dropped still
    assert not torch.equal(whole.encode(concepts), whole.encode(concepts))


def test_equation_10_is_a_sum_over_a_sentences_words(context: Context) -> None:
    """The mean over words times the words per sentence, END among them."""
    model = SMALL.build(context.inputs).eval()
    batch = sentences(context)
    released = ConceptsToSentence().build(model, context).eval()(batch)["loss"]
    printed = ConceptsToSentence(words="sum").build(model, context).eval()(batch)["loss"]
    words = sum(len(text.split()) + 1 for text in SENTENCES) / len(SENTENCES)
    assert printed.item() == pytest.approx(released.item() * words, rel=1e-5)
    with pytest.raises(InputError, match="'mean' or 'sum'"):
        ConceptsToSentence(words="other").build(model, context)


def test_a_concept_is_paid_at_its_first_mention(context: Context) -> None:
    """Image 0 shows a horse (0.9) and a person (0.8). "man" and "woman" are the same person, the second horse no
    other."""
    ids = context.pack.vocabulary.ids
    found = context.batches.images(np.asarray([0]))
    tokens = torch.tensor([[ids["man"], ids["horse"], ids["woman"], ids["horse"], ids["man"], 2]])
    concepts, scores = found.columns[IMAGE_CONCEPTS].long(), found.columns[IMAGE_SCORES]
    model = SMALL.build(context.inputs)
    once = ConceptGan(every_mention=False).build(model, context).concept_rewards(tokens, concepts, scores)
    assert once[0].tolist() == pytest.approx([0.8, 0.9, 0, 0, 0, 0])
    always = ConceptGan().build(model, context).concept_rewards(tokens, concepts, scores)
    assert always[0].tolist() == pytest.approx([0.8, 0.9, 0.8, 0.9, 0.8, 0])


def test_the_critic_learns_first(context: Context) -> None:
    torch.manual_seed(0)
    model = SMALL.build(context.inputs)
    objective = ConceptGan(critic_width=16, longest=6, critic_first=1).build(model, context).train()
    objective(images(context))["loss"].backward()
    assert not model.predict.weight.grad.any() and objective.critic.judge.weight.grad.any()
    objective(images(context))["loss"].backward()
    assert model.predict.weight.grad.any()


@pytest.mark.parametrize("equal", [False, True])
def test_validation_of_rewards_is_a_loop_over_greedy_captions(equal: bool, context: Context) -> None:
    """Deterministic, without a step counted. All rewards per word; or ln D per word, plus the named share of the
    scores, less the distance, which one-word captions do not win."""
    torch.manual_seed(0)
    config = ConceptGan(critic_width=16, longest=6, equal_lengths=equal)
    objective = config.build(SMALL.build(context.inputs), context).eval()
    first, second = objective(images(context)), objective(images(context))
    assert torch.equal(first["loss"], second["loss"]) and int(objective.steps) == 0
    batch = images(context)
    concepts, scores = objective.concepts_and_scores(batch.images)
    vectors = objective.model.encode(concepts)
    said = greedy_captions(objective.model, vectors, batch.images, 6)[:, 1:]
    human, named, distance = 0.0, 0.0, 0.0
    with torch.no_grad():
        logits, gist = objective.critic(said)
        paid = objective.concept_rewards(said, concepts, scores)
        for row in range(6):
            for time in range(int((said[row] != 0).sum())):
                human += float(logits[row, time].sigmoid().log())
                named += float(paid[row, time])
            distance += 0.2 * float((vectors[row] - gist[row]).pow(2).sum())
    words = int((said != 0).sum())
    total = float(scores[concepts != 0].sum())
    expected = human / words + named / total - distance / 6 if equal else (human + 10 * named - distance) / words
    assert first["loss"].item() == pytest.approx(-expected, rel=1e-4)
    assert first["words"].item() == pytest.approx(words / 6 - 1)


def test_selection_does_not_favour_one_word(context: Context) -> None:
    """A critic that finds all words equally human, and captions that name the same: the short one wins per word
    and wins nothing by means."""
    found = images(context)
    ids = context.pack.vocabulary.ids
    model = SMALL.build(context.inputs)
    losses = {}
    for equal in (False, True):
        config = ConceptGan(image_weight=0.0, every_mention=False, critic_width=16, equal_lengths=equal)
        objective = config.build(model, context).eval()
        torch.nn.init.zeros_(objective.critic.judge.weight)
        for words in (1, 4):
            said = [ids["man"], *[ids["a"]] * (words - 1), 2]
            with pytest.MonkeyPatch.context() as patch:
                given = torch.tensor([[1, *said]] * len(found.images))
                patch.setattr("tellapart.objectives.concept_gan.greedy_captions", lambda *_, given=given: given)
                losses[equal, words] = objective(found)["loss"].item()
    assert losses[False, 1] < losses[False, 4] - 0.3
    assert losses[True, 1] == pytest.approx(losses[True, 4], abs=1e-5)


def test_noised_sentences_keep_their_words_near_their_places() -> None:
    """No word moves by more than three places, END is last, about a tenth is left out; without noise nothing
    changes."""
    torch.manual_seed(0)
    sentence = torch.tensor([[*range(10, 22), 2, 0], [30, 31, 2, *[0] * 11]])
    assert torch.equal(noised(sentence, places=0.0, dropped=0.0), sentence)
    moved = torch.stack([noised(sentence, dropped=0.0) for _ in range(200)])  # [200, 2, 14]
    assert (moved.sort(2).values == sentence.sort(1).values).all()
    assert (moved[:, 0, 12] == 2).all() and (moved[:, 0, 13] == 0).all() and (moved[:, 1, 2] == 2).all()
    distance = (moved[:, 0, :12] - torch.arange(10, 22)).abs()
    assert 2 <= int(distance.max()) <= 3
    left = torch.stack([noised(sentence) for _ in range(200)])
    for row in left.flatten(0, 1).tolist():
        assert row.count(2) == 1 and not any(row[row.index(2) + 1 :])
    assert float((left[:, 0] > 2).sum()) / 2400 == pytest.approx(0.9, abs=0.03)


def test_the_captioner_alone_learns_to_repeat_noised_sentences(context: Context) -> None:
    """The critic's vectors of sentences are what they are; without noise, as before, the critic learns to help."""
    batch = images(context)
    for noisy in (False, True):
        torch.manual_seed(0)
        model = SMALL.build(context.inputs)
        config = ConceptGan(critic_width=16, longest=6, image_weight=0.0, noisy_sentences=noisy)
        objective = config.build(model, context).train()
        objective(batch)["loss"].backward()
        learned = objective.critic.gist.weight.grad
        assert (learned is None or not learned.any()) == noisy
        assert model.predict.weight.grad.any()


def test_an_image_captioner_learns_what_concepts_lead_to(context: Context) -> None:
    torch.manual_seed(0)
    teacher = SMALL.build(context.inputs)
    context.models["words"] = teacher
    model = replace(SMALL, image_input=True).build(context.inputs)
    objective = PseudoCaptions("words", longest=5).build(model, context).train()
    assert not teacher.training
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    batch = images(context)
    losses = []
    for _ in range(60):
        optimiser.zero_grad()
        loss = objective(batch)["loss"]
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.3 * losses[0] and all(weight.grad is None for weight in teacher.parameters())
    with pytest.raises(InputError, match=r"model\.image_input=true"):
        PseudoCaptions("words").build(SMALL.build(context.inputs), context)


def made_images(context: Context, count: int = 24) -> tuple[Context, Batch]:
    """Images of one or two concepts each, whose features are those concepts through a random map: what a backbone would
    see."""
    random = np.random.default_rng(0)
    names = [
        context.pack.vocabulary.ids[name] for name in ("horse", "person", "dog", "frisbee", "bench", "cat", "boat")
    ]
    rows = np.zeros((count, 5), np.int64)
    for row in range(count):
        rows[row, :2] = random.choice(names, 2, replace=False)
    seen = np.zeros((count, len(names)), np.float32)
    for row in range(count):
        seen[row, [names.index(name) for name in rows[row, :2]]] = 1
    features = torch.from_numpy(seen @ random.standard_normal((len(names), 6)).astype(np.float32))

    class Drawn:
        """Batches of the made images."""

        def images(self, some: np.ndarray) -> Images:
            """Features and concepts."""
            columns = {IMAGE_CONCEPTS: torch.from_numpy(rows[some])}
            return Images(features[some].unsqueeze(1), torch.ones(len(some), 1, dtype=torch.bool), columns=columns)

    class Rows:
        """A pack's splits."""

        def split(self, name: str) -> Split:
            """All but the last six images train."""
            places = np.arange(count)
            return Split(places[:-6] if name == "train" else places[-6:], np.zeros(0, np.int64))

    made = replace(context, pack=Rows(), batches=Drawn())  # type: ignore[arg-type]
    whole = Drawn().images(np.arange(count))
    nothing = context.batches.texts(np.zeros(0, np.int64))
    none = torch.zeros(0, dtype=torch.long)
    return made, Batch(whole, nothing, none, torch.arange(count), none)


def test_a_fitted_projection_puts_images_near_their_concepts(context: Context) -> None:
    """Random, v^ has nothing to do with v; fitted without captions, it is close to v on images that it never saw."""
    torch.manual_seed(0)
    made, batch = made_images(context)
    model = SMALL.build(made.inputs).eval()
    closeness = {}
    for kind in ("random", "fitted"):
        objective = VisualAlignment(image_projection=kind).build(model, made)
        seen = torch.nn.functional.normalize(batch.images.pooled() @ objective.projection + objective.shift, dim=1)
        wanted = model.encode(batch.images.columns[IMAGE_CONCEPTS])
        closeness[kind] = float((seen * wanted).sum(1)[-6:].mean().detach())
    assert closeness["fitted"] > 0.8 > 0.4 > closeness["random"]
    with pytest.raises(InputError, match="image_projection must be one of"):
        VisualAlignment(image_projection="other").build(model, made)


def test_the_fitted_matching_loss_falls_below_that_of_a_constant(context: Context) -> None:
    """A constant v~ costs two margins. Captions that reconstruct v cost less where v^ is near v, and find their
    image."""
    torch.manual_seed(0)
    made, batch = made_images(context)
    model = SMALL.build(made.inputs).eval()
    objective = VisualAlignment(image_projection="fitted", longest=5).build(model, made).eval()
    wanted = model.encode(batch.images.columns[IMAGE_CONCEPTS]).detach()
    model.reconstruct = lambda hidden, lengths: wanted[:1].expand(len(hidden), -1)  # type: ignore[method-assign]
    constant = objective(batch)
    assert constant["matching"].item() >= 0.4 - 1e-6 and constant["retrieval"].item() == 0
    kept = torch.unique(batch.images.columns[IMAGE_CONCEPTS].sort(1).values, dim=0, return_inverse=True)[1]
    first = torch.tensor([int((kept == group).nonzero()[0]) for group in range(int(kept.max()) + 1)])  # each set once
    some = Batch(batch.images.select(first), batch.texts, batch.owner, first, batch.caption_rows)
    model.reconstruct = lambda hidden, lengths: 3 * wanted[first]  # type: ignore[method-assign]
    found = objective(some)
    assert found["matching"].item() < 0.4 and found["retrieval"].item() > 50


def test_all_negatives_equal_a_loop_and_a_constant_costs_two_margins(context: Context) -> None:
    """[0.2 + s_ij - s_ii]_+ and [0.2 + s_ij - s_jj]_+, each averaged over all i != j."""
    torch.manual_seed(0)
    made, batch = made_images(context, 8)
    model = SMALL.build(made.inputs).eval()
    objective = VisualAlignment(image_projection="fitted", negatives="all", longest=5).build(model, made).eval()
    rebuilt = torch.randn(8, model.width)
    model.reconstruct = lambda hidden, lengths: rebuilt  # type: ignore[method-assign]
    seen = torch.nn.functional.normalize(batch.images.pooled() @ objective.projection + objective.shift, dim=1)
    scores = seen @ rebuilt.t()
    total = 0.0
    for i in range(8):
        for j in range(8):
            if i != j:
                total += max(0.0, 0.2 + float(scores[i, j] - scores[i, i]))
                total += max(0.0, 0.2 + float(scores[i, j] - scores[j, j]))
    found = objective(batch)
    assert found["matching"].item() == pytest.approx(total / 56, rel=1e-5)
    assert found["violation"].item() == found["matching"].item()
    model.reconstruct = lambda hidden, lengths: torch.zeros_like(rebuilt)  # type: ignore[method-assign]
    constant = objective(batch)
    assert constant["matching"].item() == pytest.approx(0.4) and constant["median_rank"].item() == 8
    with pytest.raises(InputError, match="negatives must be one of"):
        VisualAlignment(negatives="some").build(model, made)
