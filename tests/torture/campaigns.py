"""The campaigns by name."""

from __future__ import annotations

from torture.campaign import Campaign
from torture.changing_files import CHANGING_FILES
from torture.foreign_origins import FOREIGN_ORIGINS
from torture.full_disk import FULL_DISK
from torture.kills import KILLS
from torture.mutated_data import MUTATED_DATA
from torture.mutated_folders import MUTATED_FOLDERS
from torture.mutated_images import MUTATED_IMAGES
from torture.offline import OFFLINE
from torture.power_loss import POWER_LOSS
from torture.server_clients import SERVER_CLIENTS
from torture.server_fuzz import SERVER_FUZZ
from torture.slow_clients import SLOW_CLIENTS
from torture.token_guessing import TOKEN_GUESSING
from torture.training import GLOO, JUMPING_CLOCK, SPOILED_GRADIENTS
from torture.writers import TWO_WRITERS

CAMPAIGNS: dict[str, Campaign] = {
    "kills": KILLS,
    "full-disk": FULL_DISK,
    "power-loss": POWER_LOSS,
    "two-writers": TWO_WRITERS,
    "changing-files": CHANGING_FILES,
    "mutated-images": MUTATED_IMAGES,
    "mutated-data": MUTATED_DATA,
    "mutated-folders": MUTATED_FOLDERS,
    "server-fuzz": SERVER_FUZZ,
    "slow-clients": SLOW_CLIENTS,
    "token-guessing": TOKEN_GUESSING,
    "foreign-origins": FOREIGN_ORIGINS,
    "gloo": GLOO,
    "spoiled-gradients": SPOILED_GRADIENTS,
    "jumping-clock": JUMPING_CLOCK,
    "offline": OFFLINE,
    "fifty-clients": SERVER_CLIENTS,
}
