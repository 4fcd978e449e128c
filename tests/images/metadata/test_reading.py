"""EXIF, IPTC and XMP of photos: what is read, which text counts first, and that broken metadata harm nobody."""

import datetime
import io
import random
from pathlib import Path

import pytest
from PIL import Image

from metadata_photos import exiftool, jpeg, xmp_packet
from tellapart.images.metadata.exif import exif_facts
from tellapart.images.metadata.iptc import datasets, iptc_caption, with_iptc_caption
from tellapart.images.metadata.photo_metadata import PhotoMetadata, read_metadata
from tellapart.images.metadata.text import clean_text, written_by_people
from tellapart.images.metadata.xmp import DESCRIPTION, BrokenXmp, read_xmp

TAKEN = datetime.datetime(2019, 7, 21, 18, 4, 33)


def read(path: Path) -> PhotoMetadata:
    with Image.open(path) as opened:
        return read_metadata(opened, path)


def test_exif_facts_of_a_photo(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x010F], exif[0x0110], exif[0x010E] = "Canon", "Canon EOS 5D", "Our cat on the roof"
    exif.get_ifd(0x8769)[0x9003] = "2019:07:21 18:04:33"
    exif.get_ifd(0x8825).update({1: "N", 2: (52.0, 30.0, 36.0), 3: "W", 4: (13.0, 22.0, 30.0)})
    photo = tmp_path / "cat.jpg"
    Image.new("RGB", (8, 8)).save(photo, exif=exif)
    assert read(photo) == PhotoMetadata(TAKEN, "Canon EOS 5D", 52.51, -13.375, "Our cat on the roof")


def test_the_date_of_the_last_change_serves_where_there_is_no_other() -> None:
    exif = Image.Exif()
    exif[0x0132] = "2019:07:21 18:04:33"
    assert exif_facts(exif).taken == TAKEN


def test_a_place_that_no_satellite_gave_is_none() -> None:
    exif = Image.Exif()
    exif.get_ifd(0x8825).update({1: "N", 2: (0.0, 0.0, 0.0), 3: "E", 4: (0.0, 0.0, 0.0)})
    facts = exif_facts(exif)
    assert (facts.latitude, facts.longitude) == (None, None)


def test_exiftool_reads_the_same(tmp_path: Path) -> None:
    """What exiftool writes, with texts in several scripts, is read as it was written."""
    photo = jpeg(tmp_path / "cat.jpg")
    exiftool("-overwrite_original", "-EXIF:ImageDescription=Über den Dächern", "-IPTC:Caption-Abstract=猫が屋根に",
             "-IPTC:CodedCharacterSet=UTF8", "-XMP-dc:Description=Кот на крыше", "-EXIF:Make=Apple",
             "-EXIF:Model=iPhone 12", "-EXIF:GPSLatitude=48.8583", "-EXIF:GPSLatitudeRef=N",
             "-EXIF:GPSLongitude=2.2945", "-EXIF:GPSLongitudeRef=E",
             "-EXIF:DateTimeOriginal=2019:07:21 18:04:33", str(photo))  # fmt: skip
    facts = read(photo)
    assert facts.description == "Кот на крыше" and facts.camera == "Apple iPhone 12" and facts.taken == TAKEN
    assert facts.latitude == pytest.approx(48.8583, abs=1e-4) and facts.longitude == pytest.approx(2.2945, abs=1e-4)
    exiftool("-overwrite_original", "-XMP-dc:Description=", str(photo))
    assert read(photo).description == "猫が屋根に"
    exiftool("-overwrite_original", "-IPTC:all=", str(photo))
    assert read(photo).description == "Über den Dächern"


@pytest.mark.parametrize("suffix", ["png", "webp", "tif"])
def test_other_formats(tmp_path: Path, suffix: str) -> None:
    photo = tmp_path / f"cat.{suffix}"
    Image.new("RGB", (8, 8)).save(photo)
    exiftool("-overwrite_original", "-XMP-dc:Description=A cat", str(photo))
    assert read(photo).description == "A cat"


def test_sidecars_count_first_and_the_longer_name_before_the_shorter(tmp_path: Path) -> None:
    photo = jpeg(tmp_path / "cat.jpg", xmp=xmp_packet("inside"))
    assert read(photo).description == "inside"
    (tmp_path / "cat.xmp").write_bytes(xmp_packet("Adobe's sidecar"))
    assert read(photo).description == "Adobe's sidecar"
    (tmp_path / "cat.jpg.xmp").write_bytes(xmp_packet("darktable's sidecar"))
    assert read(photo).description == "darktable's sidecar"
    with Image.open(photo) as opened:
        assert read_metadata(opened).description == "inside"


def test_what_cameras_write_is_not_peoples_own(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x010E] = "OLYMPUS DIGITAL CAMERA         "
    photo = tmp_path / "cat.jpg"
    Image.new("RGB", (8, 8)).save(photo, exif=exif)
    assert read(photo).description is None
    assert written_by_people("Photo") is None and written_by_people("Photo of us") == "Photo of us"


def test_a_generated_caption_that_was_written_back_is_not_peoples_own(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x010E] = "a cat on a roof"
    photo = tmp_path / "cat.jpg"
    Image.new("RGB", (8, 8)).save(photo, exif=exif, xmp=xmp_packet("a cat on a roof", generated="a cat on a roof"))
    assert read(photo).description is None
    Image.new("RGB", (8, 8)).save(photo, xmp=xmp_packet("Tom on the roof", generated="a cat on a roof"))
    assert read(photo).description == "Tom on the roof"


def test_languages_of_xmp() -> None:
    packet = xmp_packet("eine Katze").replace(b"x-default", b"de-DE")
    assert read_xmp(packet).text(DESCRIPTION) == "eine Katze"
    both = packet.replace(b"</rdf:Alt>", b'<rdf:li xml:lang="en-GB">a cat</rdf:li></rdf:Alt>')
    assert read_xmp(both).text(DESCRIPTION) == "a cat"
    default = both.replace(b"</rdf:Alt>", b'<rdf:li xml:lang="x-default">Katze</rdf:li></rdf:Alt>')
    assert read_xmp(default).text(DESCRIPTION) == "Katze"


def test_alt_text_of_iptc_core(tmp_path: Path) -> None:
    photo = jpeg(tmp_path / "cat.jpg")
    exiftool("-overwrite_original", "-XMP-iptcCore:AltTextAccessibility=A grey cat sleeps", str(photo))
    facts = read(photo)
    assert (facts.alt_text, facts.description) == ("A grey cat sleeps", "A grey cat sleeps")


ENTITIES = b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>
<x xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:description>&b;</dc:description></x>"""


@pytest.mark.parametrize(
    "packet",
    [
        ENTITIES,
        ENTITIES.replace(b'"ha"', b'SYSTEM "file:///etc/hostname"'),
        b"<x>" * 100_000,
        b"\0",
        b"no xml",
        b"<x/>" * 2,
    ],
)
def test_hostile_xmp_is_rejected(packet: bytes) -> None:
    with pytest.raises(BrokenXmp):
        read_xmp(packet)


def test_xmp_is_bounded() -> None:
    with pytest.raises(BrokenXmp, match="1 MB"):
        read_xmp(b"<x>" + b" " * (1 << 20) + b"</x>")
    with pytest.raises(BrokenXmp, match="nested"):
        read_xmp(b"<x>" * 65 + b"</x>" * 65)


def test_iptc_datasets_by_hand() -> None:
    block = b"\x1c\x02\x78\x00\x05A cat" + b"\x1c\x02\x7a\x80\x02\x00\x03Tom"
    assert [(record, number, value) for record, number, value, _ in datasets(block)] == [
        (2, 120, b"A cat"), (2, 122, b"Tom")
    ]  # fmt: skip
    assert iptc_caption(block) == "A cat" and iptc_caption(b"\x1c\x02\x78\x00\x09A cat") is None
    changed = with_iptc_caption(block, "A dog")
    assert changed == block.replace(b"A cat", b"A dog") and with_iptc_caption(b"", "A dog").startswith(b"\x1c\x01\x5a")


def test_latin_1_in_iptc_stays_latin_1() -> None:
    block = b"\x1c\x02\x50\x00\x05Andr\xe9"
    changed = with_iptc_caption(block, "Café")
    assert changed == block + b"\x1c\x02\x78\x00\x04Caf\xe9" and iptc_caption(changed) == "Café"


def test_broken_metadata_never_raise(tmp_path: Path) -> None:
    """Any byte of the metadata may be wrong."""
    photo = jpeg(tmp_path / "cat.jpg", xmp=xmp_packet("A cat"), description="A cat")
    whole = photo.read_bytes()
    chooser, opened_photos = random.Random(0), 0
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(chooser.randint(1, 20)):
            data[chooser.randrange(20, len(data))] = chooser.randrange(256)
        try:
            opened = Image.open(io.BytesIO(bytes(data)))
        except Exception:
            continue
        description = read_metadata(opened).description
        opened_photos += 1
        assert description is None or isinstance(description, str)
    assert opened_photos > 50


def test_texts_are_cleaned() -> None:
    assert (
        clean_text("a\0junk") == "a" and clean_text("\ud800") is None and len(clean_text("x" * 20_000) or "") == 10_000
    )
