"""What an index stores about the models that fill it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tellapart.runs.bundled import lasting_name
from tellapart.search.table import About

if TYPE_CHECKING:
    from tellapart.inference.captioning import PhotoCaptioner
    from tellapart.inference.light.captioning import LightCaptioner
    from tellapart.inference.light.matching import LightMatcher
    from tellapart.inference.matching import PhotoMatcher


def about_models(matcher: PhotoMatcher | LightMatcher, captioner: PhotoCaptioner | LightCaptioner | None) -> About:
    """The fingerprint of a matcher, and names under which other processes open the models."""
    name = "" if captioner is None else lasting_name(captioner.run.folder)
    return About(matcher.fingerprint, lasting_name(matcher.run.folder), name, matcher.width)
