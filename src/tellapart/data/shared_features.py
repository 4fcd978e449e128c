"""Sharing features and pixels between packs of the same images. They never change, so one copy is enough."""

from __future__ import annotations

import shutil
from pathlib import Path

from tellapart.core.files import link_or_copy
from tellapart.data.pack import Pack
from tellapart.data.stored_pixels import FOLDER, has_pixels


def share_features(pack: Pack, folder: Path) -> None:
    """Put all features and stored pixels of a pack into the folder of another: hard links if the disk allows them."""
    pixels = [pack.folder / FOLDER] if has_pixels(pack) else []
    for own in (*pixels, *(pack.feature_folder(name) for name in pack.feature_names())):
        shutil.copytree(own, folder / own.relative_to(pack.folder), copy_function=link_or_copy)
