"""Reranking: a second, slower matcher reorders the results. SCAN, say, compares every word with every region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from tellapart.core.errors import InputError
from tellapart.images.indexed_file import indexed_file
from tellapart.images.remote import RemoteFile
from tellapart.inference.light.matching import LightMatcher
from tellapart.inference.matching import PhotoMatcher, load_matcher
from tellapart.models.matchers.ensemble import average_scores
from tellapart.runs.texts import as_texts
from tellapart.search.query import Found

BATCH = 32


@torch.inference_mode()
def rerank(matcher: PhotoMatcher | LightMatcher, found: Sequence[Found], text: str, share: float = 0.5) -> list[Found]:
    """The results in a new order; `share` is the weight of this matcher, the rest that of the index.

    Both scores are standardised over the results first. The matcher extracts its own features from the files, so that
    an index need not hold every region of every photo. Photos that cannot be read come last, without a score.
    """
    if not 0 <= share <= 1:
        raise InputError(f"`share` must be between 0 and 1, not {share}.")
    files = [indexed_file(one.path, one.folder) for one in found]
    places = [place for place, file in enumerate(files) if file is not None]
    paths: list[Path | RemoteFile] = [file for file in files if file is not None]
    if isinstance(matcher, LightMatcher):
        matcher = load_matcher(matcher.run.folder, "cpu", matcher.workers)
    texts = matcher.model.encode_text(as_texts(matcher.run, [text], matcher.device))
    kept: list[int] = []
    scores: list[torch.Tensor] = []
    for extracted in matcher.extractor.extract(paths, BATCH):
        if extracted.places:
            kept += [places[place] for place in extracted.places]
            scores.append(matcher.model.score(matcher.model.encode_image(extracted.images), texts).cpu())  # [I, 1]
    if not kept:
        return list(found)
    first = torch.tensor([[found[place].score] for place in kept])  # [I, 1]
    joint = average_scores([first, torch.cat(scores).float()], [1 - share, share]) if len(kept) > 1 else first
    order = joint[:, 0].argsort(descending=True, stable=True).tolist()
    best = [replace(found[kept[row]], score=float(joint[row, 0])) for row in order]
    lost = [replace(one, score=float("-inf")) for place, one in enumerate(found) if place not in set(kept)]
    return best + lost
