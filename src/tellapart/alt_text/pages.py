"""The HTML and Markdown files of a site, and the images on each."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tellapart.alt_text.addresses import Resolved, Site, resolve_first
from tellapart.alt_text.document import HTML, MARKDOWN, Document, read_document
from tellapart.alt_text.html_images import html_images
from tellapart.alt_text.markdown_images import markdown_images
from tellapart.alt_text.page_image import PageImage
from tellapart.core.errors import InputError

NOT_WALKED = ("node_modules", "__pycache__")


@dataclass(frozen=True)
class Page:
    """A page, its images in order, and the file of each."""

    document: Document
    images: list[PageImage]
    files: list[Resolved]

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.document.path


def read_page(path: Path, site: Site) -> Page:
    """Read a page and find its images."""
    document = read_document(path)
    base = ""
    if document.is_html:
        found = html_images(document.text)
        images, base = found.images, found.base
    else:
        images = markdown_images(document.text)
    return Page(document, images, [resolve_first(image.sources, path, site, base) for image in images])


def find_pages(paths: Sequence[Path], root: Path | None = None, address: str = "") -> list[tuple[Path, Site]]:
    """The pages of folders, searched recursively, and files, each with its site; InputError if there are none.

    root: the folder that images may be in, and that addresses with a slash start from. By default a given folder, or
    for a file the working directory if it is in there, otherwise its own folder.
    """
    if root is not None and not root.is_dir():
        raise InputError(f"`root` must be a folder, and {root} is none.")
    found: dict[Path, Site] = {}
    for given in paths:
        path = given.expanduser()
        if path.is_dir():
            for page in _pages_in(path):
                found.setdefault(page, Site(root or path, address))
        elif not path.exists():
            raise InputError(f"{path} does not exist; give a folder, or HTML or Markdown files.")
        elif path.suffix.lower() not in (*HTML, *MARKDOWN):
            raise InputError(f"{path} is not HTML or Markdown ({', '.join((*HTML, *MARKDOWN))}); give such a file.")
        else:
            found.setdefault(path, Site(root or _root_of(path), address))
    if not found:
        raise InputError(f"{', '.join(map(str, paths))}: no HTML or Markdown files; give a folder that has some.")
    return list(found.items())


def _pages_in(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in NOT_WALKED)
        for name in sorted(names):
            path = Path(here) / name
            if path.suffix.lower() in (*HTML, *MARKDOWN) and not name.startswith(".") and path.is_file():
                yield path


def _root_of(page: Path) -> Path:
    here = Path.cwd()
    return here if page.resolve().is_relative_to(here) else page.parent
