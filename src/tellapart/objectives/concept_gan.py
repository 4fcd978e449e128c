"""UC-GAN (Feng et al. 2019), a baseline of the unsupervised captioning paper: captions learned from three rewards.

A critic reads sentences. The captioner is rewarded for words that the critic takes for human (adversarial), for words
that name a detected concept (concept), and for captions from which the critic reconstructs the image's vector
(reconstruction). The decoder is R2M's; with `R2M(image_input=True)` the captioner reads the image's features, as
published. Captioner and critic learn in one step: sampled words pass no gradient, so the policy gradient and the
critic's losses are independent.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.errors import InputError
from tellapart.core.fields import renamed
from tellapart.core.types import Batch, Images, Texts
from tellapart.data.concepts_column import IMAGE_CONCEPTS, IMAGE_SCORES, stored_dictionary
from tellapart.data.sampling import LATER, split_rows
from tellapart.losses.likelihood import WordCrossEntropy
from tellapart.models.captioners.r2m import R2MModel
from tellapart.models.captioners.teacher_forcing import predictions_from_state
from tellapart.models.decoding import sample, with_start
from tellapart.models.decoding.constraints import NEVER_GENERATED
from tellapart.models.layers.concept_encoder import shuffled
from tellapart.models.layers.sentence_critic import SentenceCritic
from tellapart.objectives.context import Context
from tellapart.objectives.noised_sentences import noised
from tellapart.objectives.r2m_parts import StartedCaptioner, check_r2m, concept_column, greedy_captions
from tellapart.text.concepts import ConceptDictionary
from tellapart.text.vocabulary import END, PAD, Vocabulary


@dataclass(frozen=True)
class ConceptGan:
    """UC-GAN on batches of images. For each batch as many sentences of the corpus are drawn."""

    concept_weight: float = 10.0
    """lambda_c of the concept reward."""
    image_weight: float = field(default=0.2, metadata=renamed("picture_weight"))
    """lambda_im of the reconstruction reward, and of the critic's own reconstruction loss."""
    sentence_weight: float = 1.0
    """lambda_sen: the captioner must reconstruct a corpus sentence from the critic's vector of it."""
    discount: float = 0.9
    """Discount of the next word's reward."""
    clip: float = 5.0
    """Largest absolute advantage."""
    longest: int = 20
    """Most words of a caption generated in training."""
    critic_width: int = 512
    """Width of the critic."""
    every_mention: bool = field(default=True, metadata=LATER)
    """True: every word that names a concept is rewarded, so that repeating it pays. False, as published: the first
    mention of a concept alone."""
    critic_first: int = field(default=0, metadata=LATER)
    """Steps in which only the critic learns, before its rewards teach the captioner."""
    equal_lengths: bool = field(default=False, metadata=LATER)
    """True, as released: the greedy caption's rewards count for as many words as the sampled caption has, and
    validation takes means over words and concepts. False: whole captions are compared. Since log D is negative, every
    word costs, and the caption that names one concept and ends wins."""
    noisy_sentences: bool = field(default=False, metadata=LATER)
    """True, as released: the captioner reconstructs a sentence from the vector of a shuffled sentence with words left
    out, and the critic does not learn from that. False: the sentence itself, and both learn."""
    critic_dropout: float = field(default=0.0, metadata=LATER)
    """Dropout of the critic's word vectors and LSTM outputs; released: 0.2."""

    def build(self, model: nn.Module, context: Context) -> ConceptGanObjective:
        """The objective that trains `model`."""
        rows = split_rows(context.pack, context.train_split).captions
        sentences = rows[context.pack.owner[rows] < 0]
        if not len(sentences):
            raise InputError(
                f"{context.pack.folder} has no unpaired sentences for the critic; join it with a corpus first."
            )
        vocabulary = context.inputs.vocabulary
        known = concept_of_words(stored_dictionary(context.pack), vocabulary)
        return ConceptGanObjective(self, check_r2m(model), len(vocabulary), known, sentences, context)


class ConceptGanObjective(nn.Module):
    """See `ConceptGan`."""

    concept_of: Tensor
    steps: Tensor

    def __init__(
        self,
        config: ConceptGan,
        model: R2MModel,
        words: int,
        concept_of: Tensor,
        sentences: np.ndarray,
        context: Context,
    ) -> None:
        super().__init__()
        self.config, self.model = config, model
        self.critic = SentenceCritic(words, model.width, config.critic_width, config.critic_dropout)
        self.loss = WordCrossEntropy()
        self.sentences, self.batches = sentences, context.batches
        self.register_buffer("concept_of", concept_of)
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """The loss and values to log. In eval mode the loss is minus the reward of greedy captions, which can select an
        epoch; the loss of training cannot."""
        return self.training_values(batch) if self.training else self.validation_values(batch)

    @torch.no_grad()
    def validation_values(self, batch: Batch) -> dict[str, Tensor]:
        """Minus the reward of greedy captions, concepts named per caption, and words per caption.

        With `equal_lengths` the reward is the mean log D per word, plus the named share of the detector's scores, less
        the weighted distance of reconstruction, so that no length is favoured. Without it, all rewards per word.
        """
        images = batch.images
        concepts, scores = self.concepts_and_scores(images)
        vectors = self.vectors(images, concepts)
        tokens = greedy_captions(self.model, vectors, images, self.config.longest)[:, 1:]
        words, distance = self.word_and_caption_rewards(tokens, concepts, scores, vectors)
        named = self.concept_rewards(tokens, concepts, scores).sum(1)  # [I]
        count = (tokens != PAD).sum()
        if self.config.equal_lengths:
            human = (words.sum() - self.config.concept_weight * named.sum()) / count
            share = named.sum() / (scores * (concepts != PAD)).sum().clamp(min=1e-6)
            loss = -(human + share + distance.mean())
        else:
            loss = -(words.sum() + distance.sum()) / count
        return {"loss": loss, "concepts": named.mean(), "words": count / len(tokens) - 1.0}

    def concepts_and_scores(self, images: Images) -> tuple[Tensor, Tensor]:
        """Concepts [I, k] of images and the detector's scores of them [I, k]."""
        concepts = concept_column(images.columns, IMAGE_CONCEPTS).long()
        return concepts, images.columns.get(IMAGE_SCORES, torch.ones_like(concepts, dtype=torch.float32))

    def vectors(self, images: Images, concepts: Tensor) -> Tensor:
        """What the captioner reads of each image [I, d]: its features, or its concepts in random order."""
        if self.model.see is not None:
            return self.model.encode_images(images)
        return self.model.encode(shuffled(concepts) if self.training else concepts)

    def training_values(self, batch: Batch) -> dict[str, Tensor]:
        """Losses of captioner and critic."""
        images = batch.images
        self.steps += 1
        concepts, scores = self.concepts_and_scores(images)
        vectors = self.vectors(images, concepts)  # [I, d]
        with torch.no_grad():
            start = self.model.begin(vectors)
            drawn = sample(StartedCaptioner(self.model, start), images, max_words=self.config.longest).tokens  # type: ignore[arg-type]
            likeliest = greedy_captions(self.model, vectors, images, self.config.longest)[:, 1:]
            advantage = self.advantages(drawn, likeliest, concepts, scores, vectors)  # [I, T]
        policy = self.policy(vectors, drawn, advantage)
        texts = self.corpus_sentences(len(images))
        adversary, rebuilding, gist = self.critic_losses(drawn, texts.tokens[:, 1:], vectors.detach())
        if self.config.noisy_sentences:
            with torch.no_grad():
                gist = self.critic(noised(texts.tokens[:, 1:]))[1]
        again = predictions_from_state(self.model, self.model.begin(gist), texts.tokens)
        repeating = self.loss(again.logits, again.targets)
        # Multiplied by zero, not skipped: with several processes every parameter needs a gradient.
        active = 1.0 if int(self.steps) > self.config.critic_first else 0.0
        captioner = policy + self.config.sentence_weight * repeating
        loss = active * captioner + adversary + self.config.image_weight * rebuilding
        named = self.concept_rewards(drawn, concepts, scores).sum(1).mean()
        return {
            "loss": loss,
            "policy": policy.detach(),
            "adversary": adversary.detach(),
            "repeating": repeating.detach(),
            "rebuilding": rebuilding.detach(),
            "concepts": named,
            "words": (drawn != PAD).sum() / len(drawn) - 1.0,
        }

    def corpus_sentences(self, count: int) -> Texts:
        """Random sentences of the corpus."""
        return self.batches.texts(self.sentences[torch.randint(len(self.sentences), (count,)).numpy()])

    def concept_rewards(self, tokens: Tensor, concepts: Tensor, scores: Tensor) -> Tensor:
        """Concept rewards [I, T]: the detector's score of the concept that each word names, 0 for other words, and for
        concepts named before unless `every_mention`."""
        named = self.concept_of[tokens]  # [I, T]
        hits = (named.unsqueeze(2) == concepts.unsqueeze(1)) & (named != PAD).unsqueeze(2)  # [I, T, k]
        if not self.config.every_mention:
            hits = hits & (hits.cumsum(1) == 1)
        return (hits * scores.unsqueeze(1)).amax(2)

    def advantages(self, drawn: Tensor, likeliest: Tensor, concepts: Tensor, scores: Tensor, vectors: Tensor) -> Tensor:
        """Sum over s >= t of discount^(s - t) (r_s - b_s), plus the difference of the reconstruction rewards, clipped
        [I, T]; r are the rewards of the words of sampled captions [I, T], b those of greedy captions [I, T']."""
        words, distance = self.word_and_caption_rewards(drawn, concepts, scores, vectors)
        steps = max(drawn.shape[1], likeliest.shape[1])
        own = functional.pad(likeliest, (0, steps - likeliest.shape[1]), value=PAD)
        sampled = functional.pad(drawn, (0, steps - drawn.shape[1]), value=PAD)
        counted = (sampled if self.config.equal_lengths else own) != PAD
        greedy_words, greedy_distance = self.word_and_caption_rewards(own, concepts, scores, vectors, counted)
        discount = self.config.discount
        ahead = discounted(_pad_steps(words, steps), discount) - discounted(greedy_words, discount)
        # Without `equal_lengths`, a greedy caption has no reward where it has no words.
        both = greedy_distance * counted
        advantage = (ahead + distance - both)[:, : drawn.shape[1]]
        return advantage.clamp(-self.config.clip, self.config.clip)

    def word_and_caption_rewards(
        self, tokens: Tensor, concepts: Tensor, scores: Tensor, vectors: Tensor, counted: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Adversarial and concept rewards of words [I, T], 0 where they are not `counted` (default: the caption's
        words), and the reconstruction reward [I, 1]."""
        counted = tokens != PAD if counted is None else counted
        logits, gist = self.critic(tokens)
        named = self.config.concept_weight * self.concept_rewards(tokens, concepts, scores)
        reconstruction = -self.config.image_weight * (vectors - gist).pow(2).sum(1, keepdim=True)
        return (functional.logsigmoid(logits) + named) * counted, reconstruction

    def policy(self, vectors: Tensor, drawn: Tensor, advantage: Tensor) -> Tensor:
        """REINFORCE: minus the mean over words of advantage times log-probability, a scalar."""
        found = predictions_from_state(self.model, self.model.begin(vectors), with_start(drawn))
        forbidden = torch.zeros(found.logits.shape[1], dtype=torch.bool, device=drawn.device)
        forbidden[list(NEVER_GENERATED)] = True  # they cannot be sampled
        words = -functional.cross_entropy(
            found.logits.masked_fill(forbidden, -torch.inf).float(), found.targets, reduction="none"
        )
        forced = torch.zeros_like(found.mask)
        forced[:, self.config.longest :] = drawn[:, self.config.longest :] == END  # forced by the length, not chosen
        weights = advantage.masked_fill(forced, 0.0)[found.mask]
        return -(weights * words).sum() / weights.numel()

    def critic_losses(self, drawn: Tensor, human: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The critic's adversarial and reconstruction losses (scalars), and its vectors of the human sentences."""
        machine_logits, machine_gist = self.critic(drawn)
        human_logits, human_gist = self.critic(human)
        machine, person = machine_logits[drawn != PAD], human_logits[human != PAD]
        adversary = functional.softplus(machine).mean() + functional.softplus(-person).mean()
        rebuilding = (vectors - machine_gist).pow(2).sum(1).mean()
        return adversary, rebuilding, human_gist


def discounted(rewards: Tensor, discount: float) -> Tensor:
    """R_t = sum over s >= t of discount^(s - t) r_s, for rewards [N, T].

    >>> discounted(torch.tensor([[1.0, 2.0, 4.0]]), 0.5).tolist()
    [[3.0, 4.0, 4.0]]
    """
    steps = torch.arange(rewards.shape[1], device=rewards.device)
    ahead = steps.unsqueeze(1) - steps.unsqueeze(0)  # [s, t] = s - t
    powers = torch.where(ahead >= 0, discount ** ahead.clamp(min=0).to(rewards.dtype), 0.0)
    return rewards @ powers


def concept_of_words(dictionary: ConceptDictionary, vocabulary: Vocabulary) -> Tensor:
    """[V]: the id of the concept that each word names, itself or as a synonym or plural; PAD for other words."""
    table = torch.full((len(vocabulary),), PAD, dtype=torch.long)
    for index, word in enumerate(vocabulary.words):
        for concept in dictionary.of_sentence(word.split())[:1]:
            table[index] = vocabulary.ids.get(concept, PAD)
    return table


def _pad_steps(values: Tensor, steps: int) -> Tensor:
    return functional.pad(values, (0, steps - values.shape[1]))
