"""The Flickr8k judgements (Hodosh et al. 2013), and Kendall's tau of a metric with them.

Three experts rated each (image, caption) pair from 1 to 4. Each rating is a row, and agreement is tau-c, as published
with SPICE (Anderson et al. 2016). CrowdFlower workers answered yes or no: the rating is the share of yes, and agreement
is tau-b. Pairs of an image and its own caption are excluded, as that caption is among the references.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tellapart.core.errors import InputError
from tellapart.metrics.captions.ptb.tokenizer import tokenize
from tellapart.metrics.people.kendall import tau_b, tau_c

FILES = {"expert": "ExpertAnnotations.txt", "crowdflower": "CrowdFlowerAnnotations.txt"}


@dataclass(frozen=True)
class Judgements:
    """Captions of other images, the references of the image they were shown with, and the ratings."""

    candidates: list[str]
    references: list[list[str]]
    ratings: np.ndarray
    """[pairs, raters]"""

    def agreement(self, each: np.ndarray) -> float:
        """Tau between a metric's value per pair [pairs] and the ratings, one row per rater."""
        raters = self.ratings.shape[1]
        tau = tau_c if raters > 1 else tau_b
        return tau(np.repeat(each, raters), self.ratings.reshape(-1))


def read_judgements(folder: Path, kind: str) -> Judgements:
    """The judgements of one kind ("expert" or "crowdflower") and the captions from a Flickr8k folder."""
    captions = _captions(folder / "Flickr8k.token.txt")
    path = folder / FILES[kind]
    lines = _read(path).splitlines()
    chosen: list[tuple[str, str]] = []
    ratings: list[list[float]] = []
    for number, line in enumerate(lines, start=1):
        parts = line.split("\t")
        if len(parts) != 5:
            raise InputError(f"{path}, line {number}: expected 5 columns separated by tabs, found {len(parts)}.")
        image, caption = parts[0], parts[1]
        if caption.split("#")[0] == image:
            continue
        if caption not in captions or f"{image}#0" not in captions:
            raise InputError(f"{path}, line {number}: {caption} or {image} is not in Flickr8k.token.txt.")
        chosen.append((image, caption))
        ratings.append([float(rating) for rating in (parts[2:] if kind == "expert" else parts[2:3])])
    tokens = dict(zip(captions, tokenize(captions.values())))
    own_tokens = {name: [tokens[f"{name}#{index}"] for index in range(5)] for name, _ in chosen}
    return Judgements(
        [tokens[caption] for _, caption in chosen], [own_tokens[name] for name, _ in chosen], np.array(ratings)
    )


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}): give the folder with the Flickr8k text files.") from error


def _captions(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(_read(path).splitlines(), start=1):
        name, tab, caption = line.partition("\t")
        if not tab:
            raise InputError(f"{path}, line {number}: no tab between the caption's name and the caption.")
        found[name] = caption
    return found
