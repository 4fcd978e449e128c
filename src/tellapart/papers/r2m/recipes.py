"""Recipes of the unsupervised captioning paper (R2M): its four stages, the ablations of Tables 2 and 3, and UC-GAN.

All read a joined pack (`tellapart.data.join.join_unpaired`): images without captions, sentences without
images. Steps and learning rates are the released code's (5000 and 6000 steps on text at 1e-4, 50 and 100 on images at
1e-5, batches of 256, gradients clipped to norm 10). Text stages keep the epoch with the lowest loss on held-out
sentences. Image stages are validated every ten steps, by that loss plus their own on held-out images. No caption of an
image is ever used. `r2m-all-steps` keeps the last weights instead.

L_XE is the released code's mean over words and L_rec its mean over the width in all recipes but `r2m-printed`. As
printed, L_XE is a sum over a sentence's words, and L_rec, a squared length, starts near 1200 next to a cross-entropy of
5 per word, and the encoder reduces it by giving all concepts nearly the same vector.

v is not dropped out, as released. The projection of images to v^ is fitted to the vectors of their concepts; the
released code's is random (`r2m-random`), and retrieval by v~ then starts at chance. `r2m-all-negatives` averages Eq. 12
over all negatives of a batch.
"""

from __future__ import annotations

from dataclasses import replace

from tellapart.data.concepts_column import IMAGE_CONCEPTS, IMAGE_SCORES, SENTENCE_CONCEPTS
from tellapart.data.sampling import Sampling
from tellapart.models.captioners.r2m import R2M
from tellapart.objectives.concept_gan import ConceptGan
from tellapart.objectives.concepts_to_sentence import ConceptsToSentence
from tellapart.objectives.pseudo_captions import PseudoCaptions
from tellapart.objectives.visual_alignment import VisualAlignment
from tellapart.runs.recipe import Optimiser, Recipe, Stage

COLUMNS = (IMAGE_CONCEPTS, SENTENCE_CONCEPTS)
BATCH = 256
LONGEST = 28
"""Words read of each sentence of the corpus; the released code pads to 30 with START and END."""


def text_stage(name: str, objective: ConceptsToSentence, epochs: int, model: R2M | None = None) -> Stage:
    """Epochs of 1000 steps on sentences only."""
    return Stage(
        name=name,
        model=model,
        start="fresh" if model else "previous",
        objective=objective,
        sampling=Sampling(batch=BATCH, what="texts", columns=COLUMNS, longest=LONGEST, steps=1000),
        optimiser=Optimiser(lr=1e-4),
        epochs=epochs,
        clip_norm=10.0,
        evaluation="loss",
        keep="best",
    )


def image_stage(name: str, objective: VisualAlignment, epochs: int, chosen: bool) -> Stage:
    """Epochs of 10 steps on images only; `chosen` keeps the best one, else the last."""
    return Stage(
        name=name,
        start="previous",
        objective=objective,
        sampling=Sampling(batch=BATCH, what="images", columns=COLUMNS, longest=LONGEST, steps=10),
        optimiser=Optimiser(lr=1e-5),
        epochs=epochs,
        clip_norm=10.0,
        evaluation="loss",
        also_validated_by=("words-rebuilt",) if chosen else (),
        keep="best" if chosen else "last",
    )


PAPER_MODEL = R2M(vector_dropout=False)
ALIGNED = VisualAlignment(distance="mean", image_projection="fitted")


def stages(
    model: R2M = PAPER_MODEL,
    aligned: VisualAlignment = ALIGNED,
    text: ConceptsToSentence | None = None,
    chosen: bool = True,
) -> tuple[Stage, ...]:
    """L_XE; L_XE + beta L_rec^S; L_M^I; L_M^I + gamma L_rec^I, beta = gamma = 1 (section 3.2)."""
    text = text or ConceptsToSentence()
    return (
        text_stage("words", text, 5, model),
        text_stage("words-rebuilt", replace(text, reconstruction=1.0, distance=aligned.distance), 6),
        image_stage("pictures", replace(aligned, distance="sum"), 5, chosen),
        image_stage("pictures-rebuilt", replace(aligned, reconstruction=1.0), 10, chosen),
    )


def longer(four: tuple[Stage, ...]) -> tuple[Stage, ...]:
    """Image stages of 200 steps each at 1e-4, for a model that a KL term keeps grammatical."""
    return tuple(
        replace(stage, epochs=20, optimiser=Optimiser(lr=1e-4)) if stage.sampling.what == "images" else stage
        for stage in four
    )


FULL = stages()

R2M_FULL = Recipe(
    name="r2m",
    paper="R2M, Table 1 and the last rows of Tables 2 and 3",
    about="Captions from unpaired images and sentences: concepts through fusion and recurrent memory.",
    features="vector",
    stages=FULL,
    expected="Paper, Flickr30k with COCO sentences: BLEU-4 11.7, METEOR 13.7, ROUGE-L 35.9, CIDEr 18.1.",
)
R2M_ALL_STEPS = Recipe(
    name="r2m-all-steps",
    paper="R2M, with all steps of the released code",
    about="R2M whose image stages keep their last weights.",
    features="vector",
    stages=stages(chosen=False),
)
R2M_CODE = Recipe(
    name="r2m-code",
    paper="R2M, the authors' released code",
    about="R2M with the released code's triplet loss, each pair among its own negatives, and random projection.",
    features="vector",
    stages=stages(aligned=VisualAlignment(distance="mean", compat="code")),
)
R2M_RANDOM = Recipe(
    name="r2m-random",
    paper="R2M, with the released code's random projection",
    about="R2M whose images are projected to v^ at random instead of by a fitted projection.",
    features="vector",
    stages=stages(aligned=VisualAlignment(distance="mean")),
)
R2M_ANCHORED = Recipe(
    name="r2m-anchored",
    paper="R2M, with a term of ours",
    about="R2M whose image stages are longer and stay close to the captions of the stage before, by a KL term.",
    features="vector",
    stages=longer(stages(aligned=replace(ALIGNED, anchor=1.0))),
)
R2M_ALL_NEGATIVES = Recipe(
    name="r2m-all-negatives",
    paper="R2M, with terms of ours",
    about="The anchored R2M with Eq. 12 averaged over all negatives, since images with the same concepts are alike.",
    features="vector",
    stages=longer(stages(aligned=replace(ALIGNED, anchor=1.0, negatives="all"))),
)
R2M_PRINTED = Recipe(
    name="r2m-printed",
    paper="R2M, Eqs. 10, 11 and 13 as printed",
    about="R2M with sums where the released code has means: over a sentence's words, and over the width of v.",
    features="vector",
    stages=stages(aligned=replace(ALIGNED, distance="sum"), text=ConceptsToSentence(words="sum")),
)

MEMORY_ABLATIONS = (
    Recipe(
        name="r2m-without-fusion",
        paper="R2M, Table 2, D w/o FM",
        about="A linear layer over concepts and word instead of fusion memory.",
        features="vector",
        stages=stages(replace(PAPER_MODEL, fusion_memory=False)),
        expected="Paper, Flickr30k with COCO sentences: BLEU-4 11.2, CIDEr 14.9.",
    ),
    Recipe(
        name="r2m-lstm-decoder",
        paper="R2M, Table 2, D w/o Memory in RM",
        about="An LSTM instead of the decoder's recurrent memory.",
        features="vector",
        stages=stages(replace(PAPER_MODEL, decoder_memory=False)),
        expected="Paper, Flickr30k with COCO sentences: BLEU-4 11.6, CIDEr 16.1.",
    ),
    Recipe(
        name="r2m-lstm-reconstructor",
        paper="R2M, Table 2, R w/o Memory in RM",
        about="An LSTM instead of the reconstructor's recurrent memory.",
        features="vector",
        stages=stages(replace(PAPER_MODEL, reconstructor_memory=False)),
        expected="Paper, Flickr30k with COCO sentences: BLEU-4 10.3, CIDEr 16.3.",
    ),
    Recipe(
        name="r2m-lstm-both",
        paper="R2M, Table 2, D&R w/o Memory in RM",
        about="LSTMs instead of both recurrent memories.",
        features="vector",
        stages=stages(replace(PAPER_MODEL, decoder_memory=False, reconstructor_memory=False)),
        expected="Paper, Flickr30k with COCO sentences: BLEU-4 11.1, CIDEr 16.0.",
    ),
)

LOSS_ABLATIONS = (
    Recipe(
        name="r2m-xe",
        paper="R2M, Table 3, L_XE",
        about="R2M after its first stage: cross-entropy on text.",
        features="vector",
        stages=FULL[:1],
        expected="Paper, Flickr30k with COCO sentences: BLEU-4 10.1, CIDEr 16.4.",
    ),
    Recipe(
        name="r2m-xe-rec",
        paper="R2M, Table 3, L_XE + L_rec^S",
        about="R2M after its second stage: text reconstruction added.",
        features="vector",
        stages=FULL[:2],
        expected="Paper, Flickr30k with COCO sentences: BLEU-4 10.5, CIDEr 16.7.",
    ),
    Recipe(
        name="r2m-aligned",
        paper="R2M, Table 3, + L_M^I",
        about="R2M after its third stage: triplet alignment on images added.",
        features="vector",
        stages=FULL[:3],
        expected="Paper, Flickr30k with COCO sentences: BLEU-4 11.0, CIDEr 17.8.",
    ),
)

CONCEPT_CAPTIONER = replace(PAPER_MODEL, fusion_memory=False, decoder_memory=False, reconstructor_memory=False)
UC_GAN_STAGES = (
    text_stage("words", ConceptsToSentence(), 5, CONCEPT_CAPTIONER),
    Stage(
        name="pseudo",
        model=replace(CONCEPT_CAPTIONER, image_input=True),
        start="words",
        objective=PseudoCaptions("words"),
        sampling=Sampling(batch=BATCH, what="images", columns=COLUMNS, longest=LONGEST, steps=100),
        optimiser=Optimiser(lr=1e-3),
        epochs=10,
        clip_norm=10.0,
        evaluation="loss",
        keep="best",
    ),
    Stage(
        name="rewards",
        start="pseudo",
        objective=ConceptGan(
            every_mention=False, critic_first=500, equal_lengths=True, noisy_sentences=True, critic_dropout=0.2
        ),
        sampling=Sampling(batch=BATCH, what="images", columns=(*COLUMNS, IMAGE_SCORES), longest=LONGEST, steps=50),
        optimiser=Optimiser(lr=1e-3, betas=(0.5, 0.999)),  # as released
        epochs=40,
        clip_norm=10.0,
        evaluation="loss",
        also_validated_by=("words",),
        keep="best",
    ),
)
UC_GAN = Recipe(
    name="uc-gan",
    paper="R2M, Table 1; Feng et al. 2019",
    about="Adversarial, concept and reconstruction rewards for an LSTM captioner that reads images.",
    features="vector",
    stages=UC_GAN_STAGES,
    expected="Paper, COCO with Shutterstock sentences: BLEU-4 5.6, CIDEr 28.6.",
)
UC_GAN_BEFORE = Recipe(
    name="uc-gan-before-rewards",
    paper="R2M, Table 1; Feng et al. 2019, the captioner that rewards start from",
    about="An LSTM captioner that reads images and learned the captions that their concepts lead to.",
    features="vector",
    stages=UC_GAN_STAGES[:2],
)

RECIPES = (
    R2M_FULL,
    R2M_ALL_STEPS,
    R2M_CODE,
    R2M_RANDOM,
    R2M_ANCHORED,
    R2M_ALL_NEGATIVES,
    R2M_PRINTED,
    *MEMORY_ABLATIONS,
    *LOSS_ABLATIONS,
    UC_GAN,
    UC_GAN_BEFORE,
)
