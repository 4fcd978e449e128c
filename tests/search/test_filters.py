"""Filters by folder, date, camera, place and orientation, in memory and not."""

import datetime
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from embeds_colours import Colours, fill
from tellapart.core.errors import InputError
from tellapart.search import query
from tellapart.search.filters import Filters, Place, as_orientation, as_place
from tellapart.search.protocol import Store
from tellapart.search.query import Searcher

VIENNA, FIJI = (48.2082, 16.3738), (-17.7134, 179.99)


def shot(path: Path, size: tuple[int, int], camera: str = "", at: tuple[float, float] | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    exif = Image.Exif()
    if camera:
        exif[0x010F], exif[0x0110] = camera.split(" ", 1)
    if at is not None:
        latitude, longitude = at
        exif.get_ifd(0x8825).update(
            {
                1: "N" if latitude >= 0 else "S",
                2: (abs(latitude), 0.0, 0.0),
                3: "E" if longitude >= 0 else "W",
                4: (abs(longitude), 0.0, 0.0),
            }
        )
    Image.new("RGB", size, (200, len(path.name), 10)).save(path, exif=exif)


@pytest.fixture
def photos(tmp_path: Path) -> Store:
    folder = tmp_path / "photos"
    shot(folder / "wide.jpg", (40, 24), "Canon EOS 5D", VIENNA)
    shot(folder / "high.jpg", (24, 40), "Apple iPhone 12", (48.3, 16.37))
    shot(folder / "square.jpg", (32, 32), "", FIJI)
    shot(folder / "none.jpg", (50, 24))
    return fill(tmp_path / "index", Colours(), folder)[0]


def found(store: Store, filters: Filters) -> set[str]:
    return {Path(one.path).stem for one in Searcher(store).nearest(np.asarray([1.0, 0, 0]), 9, filters)}


CASES = [
    (Filters(camera="canon"), {"wide"}),
    (Filters(camera="IPHONE"), {"high"}),
    (Filters(place=Place(*VIENNA)), {"wide"}),
    (Filters(place=Place(*VIENNA, km=12)), {"wide", "high"}),
    (Filters(place=Place(-17.7, -179.99, 5)), {"square"}),  # across the date line
    (Filters(place=Place(48.2082, 16.3738 + 0.1, 7)), set()),  # 0.1 degrees of longitude are 7.4 km here
    (Filters(place=Place(48.2082, 16.3738 + 0.1, 8)), {"wide"}),
    (Filters(orientation="landscape"), {"wide", "none"}),
    (Filters(orientation="portrait"), {"high"}),
    (Filters(orientation="square"), {"square"}),
    (Filters(orientation="landscape", camera="canon", place=Place(*VIENNA)), {"wide"}),
    (Filters(camera="it's"), set()),
]


@pytest.mark.parametrize("held", [True, False], ids=["in memory", "from the disk"])
def test_filters_keep_the_right_photos(photos: Store, held: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not held:
        monkeypatch.setattr(query, "IN_MEMORY", 0)
    for filters, expected in CASES:
        assert found(photos, filters) == expected, filters


def test_a_row_has_camera_and_place(photos: Store) -> None:
    rows = {Path(one.path).stem: one for one in Searcher(photos).nearest(np.asarray([1.0, 0, 0]), 9)}
    assert rows["wide"].camera == "Canon EOS 5D" and rows["none"].camera is None
    assert (rows["square"].latitude, rows["square"].longitude) == pytest.approx(FIJI, abs=1e-4)
    assert rows["none"].latitude is None


def test_filters_are_read_from_text() -> None:
    assert as_place("48.2,16.37,5") == Place(48.2, 16.37, 5) and as_place("") is None
    for wrong in ("vienna", "91,0", "0,181", "1", "1,2,3,4", "1,2,-3", "1,2,nan", "nan,1"):
        with pytest.raises(InputError, match="`place` must be"):
            as_place(wrong)
    assert as_orientation("portrait") == "portrait" and as_orientation("") is None
    with pytest.raises(InputError, match="`orientation` must be landscape, portrait or square"):
        as_orientation("tall")
    assert Filters(after=datetime.date(2020, 1, 1)) != Filters()
