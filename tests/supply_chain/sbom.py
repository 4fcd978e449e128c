"""The list of packages in the wheel: tellapart/sbom.cdx.json, in the form of CycloneDX 1.6."""

from __future__ import annotations

import json
from importlib.metadata import Distribution
from typing import Any

from supply_chain.closure import ROOT
from supply_chain.licences import READ, licence_of
from supply_chain.pins import pinned

FILE = ROOT / "src" / "tellapart" / "sbom.cdx.json"
LICENCE_IDS = ("MIT", "Apache-2.0", "BSD-3-Clause", "BSD-2-Clause", "ISC", "PSF-2.0", "MPL-2.0", "Unlicense")


def sbom(packages: dict[str, Distribution]) -> dict[str, Any]:
    """All packages at run time with pinned versions and licences; the same bytes for the same packages."""
    own = {
        "type": "library",
        "bom-ref": "tellapart",
        "name": "tellapart",
        "licenses": [{"license": {"id": "Apache-2.0"}}],
    }
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": [_component(name, package) for name, package in packages.items()],
    }


def _component(name: str, package: Distribution) -> dict[str, Any]:
    version = pinned().get(name, package.version)
    licence = licence_of(package) or READ.get(name, "")
    shown = {"id": licence} if licence in LICENCE_IDS else {"name": licence}
    address = f"pkg:pypi/{name}@{version}"
    found = {"type": "library", "bom-ref": address, "name": name, "version": version, "purl": address}
    return found | ({"licenses": [{"license": shown}]} if licence else {})


def text(packages: dict[str, Distribution]) -> str:
    """The file."""
    return json.dumps(sbom(packages), indent=1, ensure_ascii=False) + "\n"


def faults(packages: dict[str, Distribution]) -> list[str]:
    """Packages that the stored list lacks, or has in another version."""
    if not FILE.is_file():
        return [f"{FILE} does not exist; run `python -m supply_chain write-sbom`."]
    stored = {one["name"]: one["version"] for one in json.loads(FILE.read_text())["components"]}
    wanted = {one["name"]: one["version"] for one in sbom(packages)["components"]}
    wrong = sorted(name for name in wanted if stored.get(name) != wanted[name])
    return [f"{FILE.name} lacks {', '.join(wrong)}; run `python -m supply_chain write-sbom`."] if wrong else []
