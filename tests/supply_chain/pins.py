"""Pinned versions: constraints.txt has every package at run time, in the version that is installed here."""

from __future__ import annotations

from importlib.metadata import Distribution

from supply_chain.closure import ROOT, normalised, requirements


def pinned() -> dict[str, str]:
    """Versions by name, as constraints.txt has them."""
    lines = [line.partition("#")[0].strip() for line in (ROOT / "constraints.txt").read_text().splitlines()]
    return {normalised(line.partition("==")[0]): line.partition("==")[2] for line in lines if line}


def faults(packages: dict[str, Distribution]) -> list[str]:
    """Packages without a pin."""
    known = pinned()
    missing = [name for name in packages if name not in known]
    unpinned = [normalised(one.name) for one in requirements() if normalised(one.name) not in known]
    loose = [f"{name} has no exact version in constraints.txt." for name, version in known.items() if not version]
    return [f"{name} has no version in constraints.txt." for name in sorted({*missing, *unpinned})] + loose
