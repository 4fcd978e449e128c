"""The file of a photo as it is, with its metadata, for visitors who may have it."""

from __future__ import annotations

from pathlib import Path

from fastapi.responses import FileResponse

SHOWN = {
    ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".webp": "image/webp", ".gif": "image/gif",
    ".avif": "image/avif", ".bmp": "image/bmp", ".mp4": "video/mp4", ".m4v": "video/mp4", ".webm": "video/webm",
}  # fmt: skip
"""Formats that every browser shows. The browser takes no file for another type than this, whatever its bytes are."""

HEADERS = {
    "cache-control": "private, no-cache",
    "content-security-policy": "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; "
    "frame-ancestors 'none'",
}
"""The browser's own view of an image or video has styles in it; no script may run."""


def original_file(file: Path, name: str) -> FileResponse:
    """A file to show in the browser, or to save under this name if browsers cannot show its format."""
    media_type = SHOWN.get(file.suffix.lower())
    return FileResponse(
        file,
        media_type=media_type or "application/octet-stream",
        filename=name,
        content_disposition_type="inline" if media_type else "attachment",
        headers=HEADERS,
    )
