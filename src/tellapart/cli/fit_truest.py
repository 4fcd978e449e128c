"""`python -m tellapart.cli.fit_truest --data PACK --out FOLDER`: the weights by which plain captions are chosen.

Only the bundled captioner's captions are chosen so, with the bundled matcher.

The pack holds images that no model was trained on, with the features that the captioner reads. Run it after
`python -m tellapart.cli.fit_evidence` and before `python -m tellapart.cli.fit_choice`, on the same images as the
latter: the first ones of its split.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
import torch
import tyro

from tellapart.cli.errors import exit_code
from tellapart.data.batches import Batches
from tellapart.data.pack import Pack
from tellapart.evaluation.chunks import chunks
from tellapart.inference.caption_generator import CaptionGenerator, open_caption_generator
from tellapart.inference.choice_terms import outcomes_of
from tellapart.inference.confidence import confidences
from tellapart.inference.fit_choice import means
from tellapart.inference.fit_evidence import fit_calibration, is_true, with_plain
from tellapart.inference.fit_truest import different_words, fit_truest
from tellapart.inference.judge import Judge, open_judge
from tellapart.inference.pack_captions import batches_for, references_of
from tellapart.inference.proposals import join_proposals
from tellapart.inference.truest import PREFIX, TRUE_BEAM, WEIGHTS, PlainTerms, chosen_plain, plain_terms
from tellapart.inference.word_evidence import FOLDER, WordEvidence, needed_evidence
from tellapart.metrics.captions.ptb.tokenizer import tokenize_groups
from tellapart.runs.bundled import MODELS
from tellapart.runs.fingerprint import fingerprint

TOGETHER = 64


@dataclass(frozen=True)
class PlainOptions:
    """Fit the weights of the choice of plain captions, and calibrate the confidence in them."""

    data: Path
    """The pack, with the features that the captioner reads."""
    out: Path
    """Folder for words.safetensors and evidence.json with the new weights."""
    evidence: Path = MODELS / FOLDER
    """Folder with the evidence of the matcher."""
    split: str = "val"
    """The split to fit on."""
    images: int = 5000
    """How many of its first images to caption."""
    captioner: str = "bundled:captioner"
    """The captioner's run."""
    matcher: str = "bundled"
    """The matcher's run."""


@dataclass(frozen=True)
class Beams:
    """All captions of the beams of some images, with what their choice depends on."""

    texts: list[list[str]]  # [I][K]
    log_probability: np.ndarray  # [I, K]
    terms: PlainTerms
    vectors: np.ndarray  # [I, E] the matcher's, of the images


def fit(options: PlainOptions) -> None:
    """Fit, write, and print what the weights give."""
    pack, generator, judge = (
        Pack(options.data),
        open_caption_generator(options.captioner),
        open_judge(options.matcher),
    )
    evidence = needed_evidence(options.evidence, fingerprint(judge.run.folder), options.matcher)
    rows = np.array([row for row in pack.split(options.split).images if pack.captions_of[int(row)]])[: options.images]
    found = _beams(generator, judge, evidence, batches_for(generator, pack), rows)
    references = tokenize_groups(references_of(pack, rows))
    outcomes = outcomes_of(found.texts, references, np.zeros(found.terms.usable.shape))
    fitted = fit_truest(found.terms, outcomes, found.texts)
    places = chosen_plain(found.terms, {name: fitted[PREFIX + name] for name in WEIGHTS})
    texts = {}
    for name, where in (("likeliest", np.zeros(len(rows), np.int64)), ("chosen", places)):
        texts[name] = [captions[place] for captions, place in zip(found.texts, where.tolist())]
        values = {key: round(value, 4) for key, value in means(outcomes, where).items() if key != "right"}
        print(name, {**values, "words": different_words(texts[name])})
    evidence = replace(evidence, settings={**evidence.settings, **fitted})
    chance = found.log_probability[np.arange(len(places)), places]
    sure = confidences(judge, evidence, texts["chosen"], chance, found.vectors)
    calibration = fit_calibration(sure, [is_true(text, said) for text, said in zip(texts["chosen"], references)])
    with_plain(evidence, calibration).save(options.out)
    print(f"{options.out}: {fitted}")


@torch.inference_mode()
def _beams(
    generator: CaptionGenerator, judge: Judge, evidence: WordEvidence, batches: Batches, rows: np.ndarray
) -> Beams:
    parts = []
    for some in chunks(rows, TOGETHER):
        images = batches.images(some)
        vectors = judge.image_vectors(judge.encode_images(images))
        captions = generator.searches(images).whole_beam(TRUE_BEAM)
        proposals = join_proposals([captions], len(some), generator.run.vocabulary)
        terms = plain_terms(proposals, evidence, vectors)
        parts.append(Beams(proposals.texts, proposals.log_probability, terms, vectors))
    terms = PlainTerms(
        *(np.concatenate([getattr(part.terms, field.name) for part in parts]) for field in fields(PlainTerms))
    )
    return Beams(
        [texts for part in parts for texts in part.texts],
        np.concatenate([part.log_probability for part in parts]),
        terms,
        np.concatenate([part.vectors for part in parts]),
    )


def main() -> int:
    """Fit as the command line says."""
    options = tyro.cli(PlainOptions)
    return exit_code(lambda: fit(options))


if __name__ == "__main__":
    sys.exit(main())
