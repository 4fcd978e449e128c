"""Update the index that is served: `tellapart index` as a separate process, so that visitors do not wait for it.

Its priority is low. Readers see its photos chunk by chunk, and its status in the folder of the index.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.runs.bundled import lasting_name
from tellapart.search.photo_index import PhotoIndex
from tellapart.search.update import checked_roots
from tellapart.search.update_status import announce, withdraw

NICENESS = 10
SECONDS_TO_END = 10


class Updater:
    """Updates an index from folders of photos, by default from those that it has photos of."""

    def __init__(self, index: PhotoIndex, folders: Sequence[Path] = ()) -> None:
        store, matcher = index.store, lasting_name(index.matcher.run.folder)
        chosen = list(folders) or [Path(folder) for folder in store.folders()]
        if not chosen:
            raise InputError("The index has no photos yet; name the folders of photos in `update`.")
        models = ("--matcher", matcher, "--captioner", store.about.captioner or "none")
        how = ("--device", index.device, "--precision", index.precision, "--batch", str(index.batch))
        options = ("--out", store.where, *models, *how, *(["--compile"] if index.compile else []), "--no-progress")
        self.command = [sys.executable, "-m", "tellapart", "index", *checked_roots(chosen), *options]
        self.where = store.where
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the update. Its problems appear on the terminal of the server."""
        announce(self.where)
        # In its own group, so that Ctrl-C reaches the server alone, which then ends the update.
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, start_new_session=True)
        with contextlib.suppress(AttributeError, OSError):  # systems without priorities, or an update that has ended
            os.setpriority(os.PRIO_PROCESS, self.process.pid, NICENESS)

    def stop(self) -> None:
        """End the update; the next one continues where it was."""
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.returncode:
            withdraw(self.where)
