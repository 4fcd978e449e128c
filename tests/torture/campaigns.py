"""The campaigns by name."""

from __future__ import annotations

from torture.campaign import Campaign
from torture.full_disk import FULL_DISK
from torture.kills import KILLS
from torture.mutated_data import MUTATED_DATA
from torture.mutated_folders import MUTATED_FOLDERS
from torture.mutated_images import MUTATED_IMAGES

CAMPAIGNS: dict[str, Campaign] = {
    "kills": KILLS,
    "full-disk": FULL_DISK,
    "mutated-images": MUTATED_IMAGES,
    "mutated-data": MUTATED_DATA,
    "mutated-folders": MUTATED_FOLDERS,
}
