"""What an index stores about the models that fill it."""

from __future__ import annotations

from tellapart.inference.captioning import PhotoCaptioner
from tellapart.inference.matching import PhotoMatcher
from tellapart.runs.bundled import lasting_name
from tellapart.search.table import About


def about_models(matcher: PhotoMatcher, captioner: PhotoCaptioner | None) -> About:
    """The fingerprint of a matcher, and names under which other processes open the models."""
    name = "" if captioner is None else lasting_name(captioner.generator.run.folder)
    return About(matcher.fingerprint, lasting_name(matcher.run.folder), name, matcher.width)
