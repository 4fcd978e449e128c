"""`python -m tellapart.cli.fit_choice --data PACK --judge RUN --out FOLDER`: the weights of `caption --against`.

The pack holds images that no model was trained on, with the features that captioner and judge read. Run it after
`python -m tellapart.cli.fit_evidence`, on images that its word detectors were not fitted on: the first ones of its
split.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
import tyro

from tellapart.cli.errors import exit_code
from tellapart.core.types import Encoded
from tellapart.data.batches import Batches
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.evaluation.chunks import chunks
from tellapart.inference.apart import propose
from tellapart.inference.caption_generator import CaptionGenerator, open_caption_generator
from tellapart.inference.caption_settings import NEIGHBOURS
from tellapart.inference.choice_terms import Candidates, joined_candidates, outcomes_of, terms_of
from tellapart.inference.confidence import confidences
from tellapart.inference.fit_choice import chosen, fit_choice, means
from tellapart.inference.fit_evidence import fit_calibration, is_true, with_against
from tellapart.inference.generated import GUIDED_BEAM
from tellapart.inference.judge import Judge, open_judge
from tellapart.inference.judging import COMPARED, Judged, second_of, surroundings
from tellapart.inference.light.neighbours import nearest_vectors
from tellapart.inference.pack_captions import Chooser, batches_for, look_alikes_by, references_of
from tellapart.inference.pack_matcher import open_pack_matcher
from tellapart.inference.telling_apart import SECOND
from tellapart.inference.word_evidence import FOLDER, WordEvidence, needed_evidence
from tellapart.metrics.captions.neighbours import LOOK_ALIKES
from tellapart.metrics.captions.ptb.tokenizer import tokenize_groups
from tellapart.runs.bundled import MODELS
from tellapart.runs.fingerprint import fingerprint

TOGETHER = 32


@dataclass(frozen=True)
class ChoiceOptions:
    """Fit the weights of the choice among captions, and calibrate the confidence in the chosen ones."""

    data: Path
    """The pack, with the features that the captioner and the judge read."""
    judge: str
    """A matcher's run, apart from the chooser, that picks images among look-alikes."""
    out: Path
    """Folder for words.safetensors and evidence.json with the new weights."""
    evidence: Path = MODELS / "chooser" / FOLDER
    """Folder with the evidence of the chooser."""
    split: str = "val"
    """The split to fit on; captions are compared with all of its images."""
    images: int = 800
    """How many of its first images to caption."""
    captioner: str = "bundled:captioner"
    """The captioner's run."""
    chooser: str = "bundled:chooser"
    """The matcher's run that chooses captions."""
    chooser_features: str | None = None
    """Name of the pack's features that the chooser reads. Default: the name that it was trained with."""
    judge_features: str | None = None
    """Name of the pack's features that the judge reads. Default: the name that it was trained with."""
    look_alikes_by: str = ""
    """Name of the pack's features that look-alikes are found by. Default: those of the captioner."""


def fit(options: ChoiceOptions) -> None:
    """Fit, write, and print what the weights give."""
    pack, generator, chooser = (
        Pack(options.data),
        open_caption_generator(options.captioner),
        open_judge(options.chooser),
    )
    evidence = needed_evidence(options.evidence, fingerprint(chooser.run.folder), options.chooser)
    chooser.evidence = evidence
    rows = np.array([row for row in pack.split(options.split).images if pack.captions_of[int(row)]])
    count = min(options.images, len(rows))
    batches = batches_for(generator, pack)
    by = Batches(pack, FeatureStore(pack.feature_folder(options.look_alikes_by))) if options.look_alikes_by else batches
    similar = look_alikes_by(by, rows, LOOK_ALIKES)[:count]
    references = tokenize_groups(references_of(pack, rows[:count]))
    album = Chooser(chooser, batches_for(chooser, pack, features=options.chooser_features))
    vectors = album.vectors(rows).numpy()
    second = second_of(chooser, open_judge("bundled") if generator.is_bundled else None)
    found = joined_candidates(_candidates(generator, chooser, second, batches, rows[:count], vectors))
    judge = open_pack_matcher(options.judge, pack, options.judge_features)
    right = np.stack([judge.picks(rows, list(texts), similar).cpu().numpy() for texts in zip(*found.texts)], 1)
    also = _second_evidence(second, batches, rows[:count])
    terms = terms_of(found, evidence, vectors[:count], also)
    outcomes = outcomes_of(found.texts, references, right)
    settings = {**evidence.settings, **fit_choice(terms, outcomes)}
    if second is None:
        settings = {name: value for name, value in settings.items() if not name.startswith(SECOND)}
    places = chosen(terms, settings)
    for name, where in (("plain", np.zeros(count, np.int64)), ("against", places)):
        print(name, {key: round(value, 4) for key, value in means(outcomes, where).items()})
    evidence = _calibrated(replace(evidence, settings=settings), chooser, found, places, (vectors[:count], references))
    evidence.save(options.out)
    print(f"{options.out}: {settings}")


def _second_evidence(
    second: Judge | None, batches: Batches, rows: np.ndarray
) -> tuple[WordEvidence, np.ndarray] | None:
    """The second judge's evidence, and its vectors of images [I, E]."""
    if second is None or second.evidence is None:
        return None
    return second.evidence, Chooser(second, batches).vectors(rows).numpy()


def _calibrated(
    evidence: WordEvidence,
    chooser: Judge,
    found: Candidates,
    places: np.ndarray,
    known: tuple[np.ndarray, list[list[str]]],
) -> WordEvidence:
    """With the confidence in the chosen captions calibrated; known: vectors of their images, and references."""
    rows = np.arange(len(places))
    texts = [texts[place] for texts, place in zip(found.texts, places.tolist())]
    sure = confidences(chooser, evidence, texts, found.log_probability[rows, places], known[0])
    return with_against(evidence, fit_calibration(sure, [is_true(text, said) for text, said in zip(texts, known[1])]))


def _candidates(
    generator: CaptionGenerator,
    chooser: Judge,
    second: Judge | None,
    batches: Batches,
    rows: np.ndarray,
    vectors: np.ndarray,
) -> list[Candidates]:
    """Captions to choose from for each of these images, whose vectors come first among all [A, E]."""
    parts = []
    with torch.inference_mode():
        for places in chunks(np.arange(len(rows)), TOGETHER):
            own = vectors[places]
            around = surroundings(
                Encoded(torch.from_numpy(own)),
                Encoded(torch.from_numpy(vectors)),
                nearest_vectors(own, vectors, COMPARED),
                NEIGHBOURS,
            )
            images = batches.images(rows[places])
            plain = None if second is None else Judged(second, second.encode_images(images))
            found = propose(generator.searches(images), chooser, around, GUIDED_BEAM, plain)
            parts.append(Candidates.of(found, chooser, around))
    return parts


def main() -> int:
    """Fit as the command line says."""
    options = tyro.cli(ChoiceOptions)
    return exit_code(lambda: fit(options))


if __name__ == "__main__":
    sys.exit(main())
