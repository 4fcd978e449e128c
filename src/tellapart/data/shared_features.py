"""Sharing features between packs of the same images. Finished features never change, so one copy is enough."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tellapart.data.pack import Pack


def share_features(pack: Pack, folder: Path) -> None:
    """Put all features of a pack into the folder of another: hard links if the disk allows them, else copies."""
    for name in pack.feature_names():
        own = pack.feature_folder(name)
        shutil.copytree(own, folder / own.relative_to(pack.folder), copy_function=_link_or_copy)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk, or one without hard links
        shutil.copyfile(source, target)
