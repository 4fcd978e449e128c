"""Photos at addresses, fetched into files of this machine while the server runs."""

from __future__ import annotations

import os
import tempfile
import threading
from collections import OrderedDict
from pathlib import Path

from tellapart.images.opening import UnreadableImage
from tellapart.images.remote import RemoteFile
from tellapart.images.verified_file import VerifiedFile

MOST_BYTES = 1024**3


class FetchedPhotos:
    """Files of photos by the hash of their bytes; the least recently used ones go first. Safe to use from several
    threads."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes, self.size = most_bytes, 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._files: OrderedDict[str, tuple[Path, int]] = OrderedDict()
        self._lock = threading.Lock()

    def file(self, address: str, content: str) -> Path | None:
        """The file of a photo whose bytes have this hash; None if there is none at the address any more."""
        with self._lock:
            kept = self._files.get(content)
            if kept is not None and kept[0].is_file():  # machines clear their folders of temporary files
                self._files.move_to_end(content)
                return kept[0]
        remote = RemoteFile(address)
        try:
            data = VerifiedFile(remote, content).read().getvalue()
        except (OSError, UnreadableImage):
            return None
        with self._lock:
            return self._keep(content, remote.suffix, data)

    def _keep(self, content: str, suffix: str, data: bytes) -> Path:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="tellapart-")
        file = Path(self._folder.name) / f"{content}{suffix.lower()}"
        file.parent.mkdir(exist_ok=True)
        partial = file.with_name(f"{file.name}.{threading.get_ident()}")
        partial.write_bytes(data)
        os.replace(partial, file)
        self.size += len(data) - self._files.pop(content, (file, 0))[1]
        self._files[content] = file, len(data)
        while self.size > self.most_bytes and len(self._files) > 1:
            _, (oldest, size) = self._files.popitem(last=False)
            oldest.unlink(missing_ok=True)
            self.size -= size
        return file
