"""Why an upload is rejected: an unknown format, a HEIC photo without the extra, or a broken image."""

import io
from pathlib import Path

import pytest
from PIL import Image

from tellapart.serve.uploads import RejectedUpload, save_upload

HEIC = (Path(__file__).parents[1] / "images" / "tiny.heic").read_bytes()
UNKNOWN = "The file is not an image in a format that this server opens; send a JPEG, PNG"
MISSING = "This server does not open HEIC photos (its extra `heic` is missing); send a JPEG, PNG"
BROKEN = "The file is not a complete image; send a JPEG, PNG"


def png() -> bytes:
    written = io.BytesIO()
    Image.new("RGB", (96, 64), "red").save(written, "PNG")
    return written.getvalue()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", UNKNOWN),
        (b"hello", UNKNOWN),
        (HEIC, MISSING),
        (b"\0\0\0\x18ftypmp42" + bytes(64), UNKNOWN),
        (png()[:-60], BROKEN),
    ],
)
def test_the_reason_fits_the_file(data: bytes, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tellapart.serve.uploads._formats", lambda: ["JPEG", "PNG", "TIFF"])  # without pillow-heif
    with pytest.raises(RejectedUpload) as raised:
        save_upload(data, 1_000_000, tmp_path)
    assert str(raised.value).startswith(reason) and str(raised.value).endswith("or TIFF file.")
