"""A file whose bytes were hashed before: it is read again only as long as the bytes are the same."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

from tellapart.images.opening import UnreadableImage
from tellapart.images.remote import RemoteFile


def hash_of(data: bytes) -> str:
    """The hash of the bytes of a file: 32 hexadecimal digits.

    >>> hash_of(b"")
    'cae66941d9efbd404e4d88758ea67670'
    """
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class VerifiedFile:
    """The path of an image and the hash that its bytes must have when they are decoded.

    A vector made from it belongs to the hash, even if another program writes the file between hashing and decoding.
    """

    def __init__(self, path: Path | RemoteFile, content: str) -> None:
        self.path, self.content = path, content
        self.changed = False
        """Whether the file had other bytes, or was gone, when it was read again."""

    def read(self) -> io.BytesIO:
        """The bytes that were hashed; UnreadableImage, and `changed` is set, if the file has others now."""
        try:
            data = self.path.read_kept() if isinstance(self.path, RemoteFile) else self.path.read_bytes()
        except FileNotFoundError as error:
            self.changed = True
            raise UnreadableImage(f"{self.path} does not exist any more") from error
        if hash_of(data) != self.content:
            self.changed = True
            raise UnreadableImage(f"{self.path} changed while it was being read")
        return io.BytesIO(data)
