"""Descriptions written into photos: they are read again, and nothing else in a file changes."""

import random
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from metadata_photos import all_tags, exiftool, jpeg, xmp_packet
from tellapart.core.errors import InputError
from tellapart.images.metadata.jpeg_editing import header
from tellapart.images.metadata.photo_metadata import PhotoMetadata, read_metadata
from tellapart.images.metadata.tiff_tags import ASCII, UnknownStructure, new_block, with_tags
from tellapart.images.metadata.writing import Where, write_description
from tellapart.images.metadata.xmp import DESCRIPTION, BrokenXmp, read_xmp
from tellapart.images.metadata.xmp_editing import NEW_PACKET, with_description

TEXT = 'Whiskers & co: "grumpy" <calico>, für Oma 猫'
DESCRIBED = ("IFD0:ImageDescription", "IPTC:Caption-Abstract", "XMP-dc:Description", "XMP-tellapart:Generated")
WRITTEN = (*DESCRIBED, "IPTC:CodedCharacterSet", "IPTC:ApplicationRecordVersion", "XMP-x:XMPToolkit",
           "Photoshop:IPTCDigest", "PNG:Filter", "RIFF:WebP_Flags")  # fmt: skip
MAKES = {
    "jpg": lambda path: jpeg(path, xmp=xmp_packet("old"), description="old"),
    "plain.jpg": lambda path: drawn().save(path),
    "png": lambda path: drawn().save(path),
    "webp": lambda path: drawn().save(path, quality=80),
    "lossless.webp": lambda path: drawn().convert("RGBA").save(path, lossless=True),
    "extended.webp": lambda path: drawn().save(path, icc_profile=b"x" * 300, xmp=xmp_packet("old")),
    "tif": lambda path: drawn().save(path, compression="tiff_lzw"),
    "mono.tif": lambda path: drawn().convert("L").save(path),
}


def drawn() -> Image.Image:
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (25, 33, 3), np.uint8))


def read(path: Path) -> PhotoMetadata:
    with Image.open(path) as opened:
        return read_metadata(opened, path)


def pixels(path: Path) -> bytes:
    with Image.open(path) as opened:
        return opened.tobytes()


@pytest.fixture(params=list(MAKES))
def photo(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"cat.{request.param}"
    MAKES[request.param](path)
    return path


def test_a_description_is_read_again_and_pixels_stay(photo: Path) -> None:
    before, original = pixels(photo), photo.read_bytes()
    photo.chmod(0o640)
    assert write_description(photo, TEXT, "embedded") == photo
    assert read(photo).description == TEXT and pixels(photo) == before
    assert stat.S_IMODE(photo.stat().st_mode) == 0o640
    assert photo.with_name(photo.name + "_original").read_bytes() == original
    write_description(photo, "Tom", "embedded")
    assert read(photo).description == "Tom" and pixels(photo) == before
    assert photo.with_name(photo.name + "_original").read_bytes() == original  # the first one stays


def test_exiftool_reads_it_and_finds_all_else_unchanged(photo: Path, tmp_path: Path) -> None:
    camera = ["-EXIF:Make=Canon", "-EXIF:Copyright=Ann", "-XMP-dc:Subject=cat", "-XMP-xmp:Rating=4"]
    iptc = ["-IPTC:Keywords=cat", "-IPTC:City=Köln", "-IPTC:CodedCharacterSet=UTF8"] if photo.suffix == ".jpg" else []
    exiftool("-overwrite_original", *camera, *iptc, str(photo))
    before = all_tags(photo)
    write_description(photo, TEXT, "embedded")
    after = all_tags(photo)
    assert after["XMP-dc:Description"] == TEXT
    if photo.suffix == ".jpg":
        assert after["IFD0:ImageDescription"] == after["IPTC:Caption-Abstract"] == TEXT
    assert "Warning" not in after and "ExifTool:Warning" not in exiftool("-warning", str(photo))
    kept = {name: value for name, value in before.items() if name not in WRITTEN and "Offset" not in name}
    assert {name: after.get(name) for name in kept} == kept
    assert {name for name in after if name not in before} <= set(WRITTEN)


def test_all_other_segments_of_a_jpeg_keep_their_bytes(tmp_path: Path) -> None:
    photo = jpeg(tmp_path / "cat.jpg", xmp=xmp_packet("old"), description="old")
    segments, rest = header(photo.read_bytes())
    write_description(photo, TEXT, "embedded")
    after, same = header(photo.read_bytes())
    assert same == rest  # tables, pixels and all that follows
    names = (b"Exif", b"http://ns.adobe.com", b"Photoshop")
    assert [one for one in after if not one.content.startswith(names)] == [
        one for one in segments if not one.content.startswith(names)
    ]
    (exif,) = [one.content for one in after if one.content.startswith(b"Exif")]
    (was,) = [one.content for one in segments if one.content.startswith(b"Exif")]
    changed = [place for place, (one, other) in enumerate(zip(was, exif)) if one != other]
    assert len(exif) > len(was) and len(changed) <= 8  # length and place of one entry; the rest is appended


def test_an_exif_block_by_hand() -> None:
    block = with_tags(new_block(), {0x010E: (ASCII, b"A cat\0")})
    assert block == b"II*\0" + b"\x14\0\0\0" + b"\0\0" + b"\0\0\0\0" + b"A cat\0" + (
        b"\x01\0" + b"\x0e\x01\x02\0\x06\0\0\0\x0e\0\0\0" + b"\0\0\0\0"
    )
    again = with_tags(block, {0x010E: (ASCII, b"Tom\0")})  # four bytes fit into the entry itself
    assert again == block.replace(b"\x06\0\0\0\x0e\0\0\0", b"\x04\0\0\0Tom\0")
    for broken in (b"", b"II+\0\x08\0\0\0", b"II*\0\xff\xff\0\0", b"II*\0\x08\0\0\0\xff\xff"):
        with pytest.raises(UnknownStructure):
            with_tags(broken, {0x010E: (ASCII, b"A cat\0")})


def test_makers_notes_stay_where_they_are(tmp_path: Path) -> None:
    """Their offsets count from the start of the block, so that one byte more before them would break them."""
    photo = jpeg(tmp_path / "cat.jpg")
    block = next(one.content for one in header(photo.read_bytes())[0] if one.content.startswith(b"Exif"))
    write_description(photo, TEXT, "embedded")
    after = next(one.content for one in header(photo.read_bytes())[0] if one.content.startswith(b"Exif"))
    assert after[6 + 8 : len(block)] == block[6 + 8 :]


@pytest.mark.parametrize("where", ["sidecar", "embedded"])
def test_generated_captions_are_marked(tmp_path: Path, where: Where) -> None:
    photo = jpeg(tmp_path / "cat.jpg")
    write_description(photo, "a cat on a roof", where, generated=True)
    assert read(photo).description is None
    assert "a cat on a roof" in (photo if where == "embedded" else tmp_path / "cat.jpg.xmp").read_text(errors="replace")
    write_description(photo, "Tom on the roof", where)
    assert read(photo).description == "Tom on the roof"
    write_description(photo, "a cat on a roof", where)  # now a person says so
    assert read(photo).description == "a cat on a roof"


def test_sidecars(tmp_path: Path) -> None:
    photo = jpeg(tmp_path / "cat.jpg")
    before = photo.read_bytes()
    assert write_description(photo, TEXT, "sidecar") == tmp_path / "cat.jpg.xmp"
    assert photo.read_bytes() == before and read(photo).description == TEXT
    assert exiftool("-s3", "-XMP-dc:Description", str(tmp_path / "cat.jpg.xmp")).strip() == TEXT
    other = jpeg(tmp_path / "dog.jpg")
    (tmp_path / "dog.xmp").write_bytes(xmp_packet("old"))
    assert write_description(other, TEXT, "sidecar") == tmp_path / "dog.xmp"
    assert (tmp_path / "dog.xmp_original").read_bytes() == xmp_packet("old")
    written = (tmp_path / "dog.xmp").read_bytes()
    start = written.index(b'x-default">') + len(b'x-default">')
    old = xmp_packet("old")
    assert written[:start] == old[:start] and written.endswith(old[start + len("old") :])


def test_formats_without_metadata_have_sidecars(tmp_path: Path) -> None:
    photo = tmp_path / "cat.gif"
    drawn().save(photo)
    with pytest.raises(InputError, match="embedded in GIF files\\); use a sidecar"):
        write_description(photo, TEXT, "embedded")
    write_description(photo, TEXT, "sidecar")
    assert read(photo).description == TEXT


def test_raw_photos_are_never_edited(tmp_path: Path) -> None:
    """Most raw formats are TIFF inside."""
    photo = tmp_path / "cat.nef"
    drawn().save(photo, format="TIFF")
    with pytest.raises(InputError, match="embedded in raw files\\); use a sidecar"):
        write_description(photo, TEXT, "embedded")


PACKETS = {
    "another language": xmp_packet("alt").replace(b"x-default", b"de-DE"),
    "self-closed": b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    b'<r:Description r:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" dc:description="old" dc:format="a/>b"/>'
    b"</r:RDF></x:xmpmeta>",
    "plain text": xmp_packet("x").replace(b'<rdf:Alt><rdf:li xml:lang="x-default">x</rdf:li></rdf:Alt>', b"plain"),
    "empty": xmp_packet("x").replace(b'<rdf:Alt><rdf:li xml:lang="x-default">x</rdf:li></rdf:Alt>', b"<rdf:Alt/>"),
    "new": NEW_PACKET,
    "padded": xmp_packet("old") + b" " * 100 + b"\n\0",
}


@pytest.mark.parametrize("name", PACKETS)
def test_packets_of_other_programs(name: str) -> None:
    packet = PACKETS[name]
    edited = with_description(packet, TEXT, generated=False)
    assert read_xmp(edited).text(DESCRIPTION) == TEXT
    assert with_description(edited, TEXT, generated=False) == edited
    if name == "another language":
        assert read_xmp(edited).texts[DESCRIPTION]["de-DE"] == "alt"
    if name == "self-closed":
        assert b'dc:format="a/>b"' in edited and b'"old"' not in edited
    if b"creator" in packet:
        assert b"<dc:creator><rdf:Seq><rdf:li>Ann</rdf:li></rdf:Seq></dc:creator>" in edited
    assert read_xmp(with_description(edited, "b", generated=True)).text(DESCRIPTION) == "b"


def test_a_packet_without_rdf_is_rejected() -> None:
    with pytest.raises(BrokenXmp):
        with_description(b"<x/>", TEXT, generated=False)


def test_broken_photos_stay_as_they_are(photo: Path) -> None:
    """Whatever is wrong with a file: it is written whole, or an error is raised and it stays as it was."""
    whole, chooser = photo.read_bytes(), random.Random(0)
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(chooser.randint(1, 8)):
            data[chooser.randrange(len(data))] = chooser.randrange(256)
        photo.write_bytes(data[: chooser.choice((len(data), len(data) // 2))])
        broken = photo.read_bytes()
        try:
            write_description(photo, TEXT, "embedded", backup=False)
        except InputError:
            assert photo.read_bytes() == broken
        else:
            assert read(photo).description == TEXT


def test_several_images_in_one_file_keep_their_places(tmp_path: Path) -> None:
    photo = tmp_path / "cat.jpg"
    drawn().save(photo, format="MPO", save_all=True, append_images=[drawn().rotate(90)], exif=b"Exif\0\0" + new_block())
    write_description(photo, TEXT, "embedded")
    with Image.open(photo) as opened:
        assert opened.n_frames == 2
        opened.seek(1)
        opened.load()
    assert read(photo).description == TEXT


def test_an_empty_description_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least one letter"):
        write_description(jpeg(tmp_path / "cat.jpg"), " \n", "sidecar")


def test_a_full_segment_needs_a_sidecar(tmp_path: Path) -> None:
    photo = tmp_path / "cat.jpg"
    drawn().save(photo, exif=b"Exif\0\0" + with_tags(new_block(), {0x9C9C: (1, b"x" * 65_000)}))
    before = shutil.copy(photo, tmp_path / "copy.jpg")
    with pytest.raises(InputError, match="use a sidecar"):
        write_description(photo, "word " * 200, "embedded")
    assert photo.read_bytes() == Path(before).read_bytes()
