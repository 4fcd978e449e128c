"""Files that are not still images by themselves, opened as one: raw photos by their preview, videos by a key frame.

A raw photo holds a JPEG that the camera made of it. Of a video, up to nine key frames spread over its length are
decoded, and the one with the most detail is taken: the first is often black.
"""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tellapart.images.metadata.exif import CHANGED
from tellapart.images.orientation import ORIENTATION

if TYPE_CHECKING:
    from PIL import Image

KEY_FRAMES = 9
SMALL = (32, 32)
LARGEST_VIDEO = 512 * 1024 * 1024
"""Bytes; a file is read whole, so that its vector belongs to the bytes that were hashed."""
FLIPS = {3: 3, 5: 8, 6: 6}
"""LibRaw's rotations as orientations of EXIF."""


class NoPreview(ValueError):
    """A raw photo without a preview, or a video without a frame."""


def open_raw(file: io.BytesIO | Path) -> Image.Image:
    """The preview in a raw photo, with the EXIF block of the photo if the preview has none."""
    import rawpy
    from PIL import Image

    data = file.read_bytes() if isinstance(file, Path) else file.getvalue()
    with rawpy.imread(io.BytesIO(data)) as raw:
        flip = raw.sizes.flip
        try:
            preview = raw.extract_thumb()
        except rawpy.LibRawError as error:
            raise NoPreview("it has no preview") from error
    if preview.format != rawpy.ThumbFormat.JPEG:
        image = Image.fromarray(np.asarray(preview.data))
    else:
        image = Image.open(io.BytesIO(bytes(preview.data)))
    if "exif" not in image.info:
        image.info["exif"] = _exif_of(data, FLIPS.get(flip, 1)).tobytes()
    return image


def _exif_of(data: bytes, orientation: int) -> Image.Exif:
    """The EXIF block of a raw photo that is a TIFF file, as most are; else only its orientation."""
    from PIL import Image

    exif = Image.Exif()
    try:
        with Image.open(io.BytesIO(data), formats=["TIFF"]) as opened:
            found = opened.getexif()
            for tag in (0x010E, 0x010F, 0x0110, CHANGED):
                if tag in found:
                    exif[tag] = found[tag]
            for block in (0x8769, 0x8825):
                if inside := found.get_ifd(block):
                    exif.get_ifd(block).update(inside)
            orientation = found.get(ORIENTATION, orientation)
    except Exception:  # not a TIFF file, or a broken one: the preview counts
        exif = Image.Exif()
    exif[ORIENTATION] = orientation
    return exif


def open_video(file: io.BytesIO | Path) -> Image.Image:
    """The key frame with the most detail, with the date of the video as its date."""
    import av

    with av.open(str(file) if isinstance(file, Path) else file) as container:
        frames = list(_key_frames(container))
        if not frames:
            raise NoPreview("it has no frame")
        image = max(frames, key=detail)
        if taken := _date(container.metadata.get("creation_time", "")):
            exif = image.getexif()
            exif[CHANGED] = taken
            image.info["exif"] = exif.tobytes()
    return image


def _key_frames(container: Any) -> Iterator[Image.Image]:
    """Up to nine key frames, spread over the length of a video."""
    stream = next(iter(container.streams.video), None)
    if stream is None:
        return
    stream.codec_context.skip_frame = "NONKEY"
    length = container.duration or 0  # in millionths of a second
    if length <= 0:
        yield from (frame.to_image() for frame, _ in zip(container.decode(stream), range(KEY_FRAMES)))
        return
    shown = set()
    for part in range(KEY_FRAMES):
        container.seek(int(length * part / KEY_FRAMES))
        frame = next(container.decode(stream), None)
        if frame is not None and frame.pts not in shown:
            shown.add(frame.pts)
            yield frame.to_image()


def detail(image: Image.Image) -> float:
    """How much the brightness of an image varies: 0 for a black frame."""
    from PIL import ImageStat

    return float(ImageStat.Stat(image.convert("L").resize(SMALL)).stddev[0])


def _date(text: str) -> str:
    """A date of a video as EXIF writes it; empty for none.

    >>> _date("2019-07-21T18:04:33.000000Z"), _date("yesterday")
    ('2019:07:21 18:04:33', '')
    """
    try:
        return datetime.datetime.fromisoformat(text).strftime("%Y:%m:%d %H:%M:%S")
    except ValueError:
        return ""


def largest_page(opened: Image.Image) -> Image.Image:
    """The image at its largest page, the first among equals: a TIFF file may begin with a thumbnail."""
    pages = getattr(opened, "n_frames", 1)
    if opened.format != "TIFF" or pages < 2:
        return opened
    sizes = []
    for page in range(pages):
        opened.seek(page)
        sizes.append(opened.width * opened.height)
    opened.seek(sizes.index(max(sizes)))
    return opened
