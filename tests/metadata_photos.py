"""Photos with metadata, and exiftool as the second opinion on them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import pytest
from PIL import Image


def exiftool(*arguments: str) -> str:
    """Run exiftool; the test is skipped where it is not installed."""
    if shutil.which("exiftool") is None:
        pytest.skip("exiftool is not installed (Debian: libimage-exiftool-perl)")
    done = subprocess.run(
        ["exiftool", "-charset", "iptc=UTF8", "-charset", "exif=UTF8", *arguments],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout


def all_tags(photo: Path, *groups: str) -> dict[str, Any]:
    """What exiftool reads from a photo, without facts of the file itself."""
    read = json.loads(exiftool("-json", "-G1", "-a", "-n", *groups, str(photo)))[0]
    return {
        name: value for name, value in read.items()
        if name.split(":")[0] not in ("SourceFile", "System", "File", "ExifTool", "Composite")
    }  # fmt: skip


def jpeg(path: Path, *, xmp: bytes | None = None, description: str | None = None) -> Path:
    """A photo of noise, with EXIF of a camera."""
    exif = Image.Exif()
    exif[0x010F], exif[0x0110], exif[0x0112] = "Canon", "Canon EOS 5D", 6
    if description is not None:
        exif[0x010E] = description
    exif.get_ifd(0x8769)[0x9003] = "2019:07:21 18:04:33"
    pixels = np.random.default_rng(0).integers(0, 256, (24, 32, 3), np.uint8)
    more = {} if xmp is None else {"xmp": xmp}
    Image.fromarray(pixels).save(path, exif=exif, comment=b"a comment of somebody", **more)
    return path


def xmp_packet(description: str, generated: str = "") -> bytes:
    """A packet with a description, a creator, and perhaps the mark of a generated caption."""
    mark = f' xmlns:tellapart="urn:tellapart:xmp:1.0:" tellapart:generated="{escape(generated)}"' if generated else ""
    return f"""<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"{mark}>
<dc:creator><rdf:Seq><rdf:li>Ann</rdf:li></rdf:Seq></dc:creator>
<dc:description><rdf:Alt><rdf:li xml:lang="x-default">{escape(description)}</rdf:li></rdf:Alt></dc:description>
</rdf:Description></rdf:RDF></x:xmpmeta>
<?xpacket end="w"?>""".encode()
