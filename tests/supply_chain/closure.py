"""The packages that Tellapart needs at run time, direct and indirect, as they are installed here."""

from __future__ import annotations

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
EXTRAS = ("all",)
"""Extras whose packages count as run time; `ray`, `timm` and the tools of developers do not."""
LEFT_OUT = ("nvidia-", "cuda-", "triton", "setuptools")
"""Parts of torch that differ between its builds for CPUs and GPUs, and what installs packages."""


def normalised(name: str) -> str:
    """A name as indexes compare it.

    >>> normalised("HanTa"), normalised("huggingface_hub")
    ('hanta', 'huggingface-hub')
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements() -> list[Requirement]:
    """What pyproject.toml asks for: dependencies, and those of the extras."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = [Requirement(text) for text in project["dependencies"]]
    pending, seen = list(EXTRAS), set()
    while pending:
        extra = pending.pop()
        if extra not in seen:
            seen.add(extra)
            for text in project["optional-dependencies"][extra]:
                one = Requirement(text)
                if one.name == "tellapart":
                    pending += sorted(one.extras)
                else:
                    found.append(one)
    return found


def closure() -> dict[str, Distribution]:
    """Installed distributions by name, in alphabetical order; what is not installed is left out."""
    found: dict[str, Distribution] = {}
    pending = [(normalised(one.name), one.extras) for one in requirements()]
    while pending:
        name, extras = pending.pop()
        if name.startswith(LEFT_OUT):
            continue
        try:
            one = found.get(name) or distribution(name)
        except PackageNotFoundError:
            continue
        known = name in found
        found[name] = one
        for text in one.requires or () if not known or extras else ():
            needed = Requirement(text)
            wanted = [{"extra": extra} for extra in extras] or [{"extra": ""}]
            applies = needed.marker is None or any(needed.marker.evaluate(values) for values in wanted)
            if applies and normalised(needed.name) not in found:
                pending.append((normalised(needed.name), needed.extras))
    return dict(sorted(found.items()))
