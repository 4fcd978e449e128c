"""From the address of an image on a page to its file. Nothing is ever fetched."""

from __future__ import annotations

import os
import re
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_TEMPLATE = re.compile(r"\{\{|\{%|<%|<\?|\$\{|@@")


@dataclass(frozen=True)
class Site:
    """The folder of a site, and its public address, for pages that name their images by it."""

    root: Path
    address: str = ""


@dataclass(frozen=True)
class Resolved:
    """The file of an image, or why it has none."""

    file: Path | None = None
    fault: str = ""


def resolve(source: str, page: Path, site: Site, base: str = "") -> Resolved:
    """The file that an address names: from the folder of its page, or, with a slash, from the folder of the site.

    base: `<base href>` of the page.
    """
    if _TEMPLATE.search(source):
        return Resolved(fault="its address is filled in by a template")
    address = _within_site(urllib.parse.urljoin(base, source) if base else source, site)
    if address.startswith("data:"):
        return Resolved(fault="it is part of the page (data:), not a file")
    if address.startswith("//") or (_SCHEME.match(address) and not re.match(r"[A-Za-z]:[\\/]", address)):
        return Resolved(fault="it is on another site, and nothing is fetched")
    plain = re.split(r"[?#]", address, maxsplit=1)[0]
    names = dict.fromkeys((urllib.parse.unquote(plain), plain, urllib.parse.unquote(address)))
    folder = site.root if plain.startswith("/") else page.parent
    for name in names:
        path = folder / name.replace("\\", "/").lstrip("/")
        if "\0" not in name and os.path.isfile(path):
            return _inside(path, site)
    return Resolved(fault="its file does not exist")


def resolve_first(sources: tuple[str, ...], page: Path, site: Site, base: str = "") -> Resolved:
    """The first of several addresses that names a file; otherwise the fault of the first."""
    found = [resolve(source, page, site, base) for source in sources]
    there = next((one for one in found if one.file is not None), None)
    return there or next(iter(found), Resolved(fault="it has no address"))


def _within_site(address: str, site: Site) -> str:
    """An address below the public address of the site, from the root of the site."""
    for prefix in (site.address, site.address.partition(":")[2]):
        if prefix and address.startswith(prefix.rstrip("/") + "/"):
            return address[len(prefix.rstrip("/")) :]
    return address


def _inside(path: Path, site: Site) -> Resolved:
    """Whoever writes a page must not choose what else is read: files outside of the site are not."""
    file, root = os.path.realpath(path), os.path.realpath(site.root)
    if not file.startswith(os.path.join(root, "")):
        return Resolved(fault=f"it is outside of {site.root}; give a folder around both as `root`")
    return Resolved(Path(file))
