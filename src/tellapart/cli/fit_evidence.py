"""`python -m tellapart.cli.fit_evidence --data PACK --out FOLDER`: what a matcher sees of words, and confidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
import tyro

from tellapart.cli.errors import exit_code
from tellapart.core.errors import InputError
from tellapart.core.types import Encoded
from tellapart.data.pack import Pack
from tellapart.images.opening import open_image
from tellapart.images.sources import ImageInput
from tellapart.inference.caption_settings import NEIGHBOURS
from tellapart.inference.captioning import PhotoCaptioner, load_captioner, readers_of
from tellapart.inference.feature_extractor import FeatureExtractor
from tellapart.inference.fit_evidence import (
    Examples,
    Seen,
    fit_calibration,
    fit_confidence,
    fit_plain,
    fit_truth,
    is_true,
    with_thresholds,
    word_statistics,
)
from tellapart.inference.judge import Judge, open_judge
from tellapart.inference.judging import COMPARED, surroundings
from tellapart.inference.light.neighbours import nearest_vectors
from tellapart.inference.own_extractor import OwnExtractor
from tellapart.inference.strange_images import strange_images
from tellapart.inference.word_evidence import WordEvidence


@dataclass(frozen=True)
class FitOptions:
    """Fit word evidence and confidence of a captioner and a matcher on images that neither was trained on."""

    data: Path
    """A pack with image files. Words are counted in its training split."""
    out: Path
    """Folder for words.safetensors and evidence.json."""
    split: str = "val"
    """The split to fit on."""
    captioner: str = "bundled:captioner"
    """A captioner's run."""
    matcher: str = "bundled:matcher"
    """A matcher's run, with one vector per image."""
    images: int = 1600
    """How many images to caption at most."""
    others: int = 3400
    """How many further images of the split to fit word detectors on at most; without any, those that are captioned."""
    trained: int = 20000
    """How many images of the training split to add to these for the detectors at most."""
    strange: int = 120
    """How many of them also give an enlarged detail, and how many patterns are drawn."""
    beam: int = 10
    """Captions per image whose words are examples of true and untrue ones."""
    against: int = 400
    """How many of the images are captioned against all others, to calibrate the confidence of `caption --against`; 0
    for no separate calibration."""


def fit(options: FitOptions) -> None:
    """Fit and write."""
    pack, captioner, judge = Pack(options.data), load_captioner(options.captioner), open_judge(options.matcher)
    if not judge.has_vectors:
        raise InputError(f"{options.matcher} must have one vector per image; choose another matcher.")
    readers = readers_of(captioner, judge)
    album = ImageVectors(judge, readers.own or readers.captioner)
    chosen = pack.split(options.split).images[: options.images + options.others].tolist()
    rows, further = chosen[: options.images], chosen[options.images :]
    references = _references(pack, rows)
    training = pack.split("train")
    counts = Counter(word for row in training.captions.tolist() for word in pack.captions[row].words)
    known = {word: count for word, count in counts.items() if word in captioner.generator.run.vocabulary.ids}
    paths: list[ImageInput] = [pack.image_path(row) for row in rows]
    captions, proposed, chance = _described(captioner, paths, options.beam)
    vectors = album.of(paths)
    seen = album.of([pack.image_path(row) for row in further]) if further else vectors
    unseen = Seen(seen, _references(pack, further or rows))
    trained = _trained(album, pack, options.trained)
    evidence = word_statistics(judge, known, len(training.images), unseen, trained)
    evidence = fit_truth(evidence, vectors, proposed, references)
    photos = [open_image(pack.image_path(row)) for row in rows[: options.strange]]
    strange = _strange(captioner, album, list(strange_images(photos, options.strange)), options.beam)
    examples = Examples(vectors, references, captions, chance)
    evidence = fit_plain(fit_confidence(evidence, judge, examples, strange), judge, examples)
    if options.against:
        everyone = np.concatenate([vectors, seen]) if further else vectors
        texts, found = _against(captioner, album, evidence, paths[: options.against], everyone)
        true = [is_true(text, said) for text, said in zip(texts, references)]
        evidence = replace(evidence, against=fit_calibration(found, true))
    evidence = with_thresholds(evidence, judge, strange)
    evidence.save(options.out)
    print(f"{options.out}: {len(evidence.words)} words, fitted on {len(chosen)} images; {dict(evidence.settings)}")


@dataclass(frozen=True)
class ImageVectors:
    """A judge with what reads images for it."""

    judge: Judge
    extractor: FeatureExtractor | OwnExtractor

    @torch.inference_mode()
    def of(self, images: list[ImageInput]) -> np.ndarray:
        """The judge's vectors of images [N, E]."""
        extracted = (one.images for one in self.extractor.extract(images))
        return np.concatenate([self.judge.image_vectors(self.judge.encode_images(some)) for some in extracted])


def _trained(album: ImageVectors, pack: Pack, count: int) -> Seen | None:
    """Some images of the training split, drawn at random with a fixed seed."""
    images = pack.split("train").images
    rows = np.sort(np.random.default_rng(0).permutation(images)[:count]).tolist()
    if not rows:
        return None
    return Seen(album.of([pack.image_path(row) for row in rows]), _references(pack, rows))


def _references(pack: Pack, rows: Sequence[int]) -> list[list[str]]:
    return [[" ".join(pack.captions[caption].words) for caption in pack.captions_of[row]] for row in rows]


def _strange(captioner: PhotoCaptioner, album: ImageVectors, images: list[ImageInput], beam: int) -> Examples:
    captions, _, chance = _described(captioner, images, beam)
    return Examples(album.of(images), [[] for _ in captions], captions, chance)


@torch.inference_mode()
def _against(
    captioner: PhotoCaptioner,
    album: ImageVectors,
    evidence: WordEvidence,
    images: list[ImageInput],
    vectors: np.ndarray,
) -> tuple[list[str], list[float]]:
    """Captions of the images, whose vectors [N, E] come first, against all; confidences that are not calibrated."""
    judge, second = album.judge, readers_of(captioner, album.judge).second  # None for the bundled matcher itself
    judge.evidence = replace(evidence, plain=None, against=None)
    texts: list[str] = []
    found: list[float] = []
    for extracted in captioner.extractor.extract(images):
        own = vectors[extracted.places]
        around = surroundings(
            Encoded(torch.from_numpy(own)),
            Encoded(torch.from_numpy(vectors)),
            nearest_vectors(own, vectors, COMPARED),
            NEIGHBOURS,
        )
        captions = captioner.generator.generate_apart(extracted.images, judge, around, second=second)
        texts += captions.texts
        found += captions.confidence or []
    return texts, found


@torch.inference_mode()
def _described(
    captioner: PhotoCaptioner, images: list[ImageInput], beam: int
) -> tuple[list[str], list[list[str]], np.ndarray]:
    """Plain captions, all captions of a beam, and ln p of the plain ones [N]."""
    generator = captioner.generator
    captions, proposed, chance = [], [], []
    for extracted in captioner.extractor.extract(images):
        plain = generator.generate(extracted.images)
        captions += plain.texts
        chance += plain.log_probability
        proposed += generator.proposed(extracted.images, beam)
    return captions, proposed, np.asarray(chance, np.float32)


def main() -> int:
    """Fit as the command line says."""
    options = tyro.cli(FitOptions)
    return exit_code(lambda: fit(options))


if __name__ == "__main__":
    raise SystemExit(main())
