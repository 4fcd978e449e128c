"""The built-in scenes: deterministic, described truly, with look-alikes in one split."""

from pathlib import Path

import pytest
from PIL import Image

from tellapart.cli.prepare import PrepareOptions, prepare
from tellapart.core.errors import InputError
from tellapart.data.pack import Pack
from tellapart.data.scenes import make_scenes, scenes_of
from tellapart.data.scenes.drawing import COLOURS, GROUNDS, SHAPES
from tellapart.data.scenes.layout import FAMILY, Thing
from tellapart.data.scenes.wording import relation


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    return make_scenes(tmp_path_factory.mktemp("scenes") / "pack", count=48, seed=3, size=96)


def test_counts_and_splits(pack: Pack) -> None:
    assert len(pack.images) == 48 and len(pack.captions) == 240
    assert [len(pack.split(name).images) for name in ("train", "val", "test")] == [40, 4, 4]
    for row in range(48):
        assert len({pack.captions[c].text for c in pack.captions_of[row]}) == 5
        with Image.open(pack.image_path(row)) as image:
            assert image.size == (96, 96) == (pack.images[row].width, pack.images[row].height)


def test_same_seed_same_bytes(pack: Pack, tmp_path: Path) -> None:
    again = make_scenes(tmp_path / "again", count=48, seed=3, size=96)
    assert again.fingerprint == pack.fingerprint
    for file in (
        "captions.jsonl",
        "phrases.jsonl",
        "detections.jsonl",
        "images/scene-00007.png",
        "columns/nouns.npy",
    ):
        assert (again.folder / file).read_bytes() == (pack.folder / file).read_bytes()
    other = make_scenes(tmp_path / "other", count=48, seed=4, size=96)
    assert other.fingerprint != pack.fingerprint


def test_more_scenes_leave_the_earlier_ones(pack: Pack) -> None:
    assert scenes_of(48, 3) == scenes_of(100, 3)[:48]


def test_families_differ_but_little_and_stay_in_one_split(pack: Pack) -> None:
    scenes = scenes_of(48, 3)
    for first in range(0, 48, FAMILY):
        family = scenes[first : first + FAMILY]
        assert len(set(family)) == FAMILY
        assert len({pack.images[row].split for row in range(first, first + FAMILY)}) == 1
        for other in family[1:]:
            changed = sum(a != b for a, b in zip(family[0].things, other.things, strict=True))
            assert 1 <= changed <= 2 and other.ground == family[0].ground


def test_phrases_say_what_is_drawn(pack: Pack) -> None:
    scenes = scenes_of(48, 3)
    assert {caption for caption in range(240)} == {phrase.caption for phrase in pack.phrases}
    for phrase in pack.phrases:
        caption = pack.captions[phrase.caption]
        words = caption.words[phrase.first : phrase.last]
        things = [scenes[caption.image].things[int(row)] for row in phrase.entity.split("+")]
        assert phrase.boxes == tuple(thing.box for thing in things)
        if len(things) == 1:
            assert words[-1] == things[0].kind
            assert set(words) & set(COLOURS) <= {things[0].colour}
            assert set(words) & {"large", "small"} <= {"large" if things[0].large else "small"}
        else:
            assert words[-1] == "things"


def test_things_are_where_their_boxes_say(pack: Pack) -> None:
    """The middle of each box differs from the ground, and its corners outside do not hold the thing's colour alone."""
    scenes = scenes_of(48, 3)
    for row in (0, 9, 30):
        with Image.open(pack.image_path(row)) as image:
            for thing in scenes[row].things:
                x1, y1, x2, y2 = (round(edge * 96) for edge in thing.box)
                assert 0 <= x1 < x2 <= 96 and 0 <= y1 < y2 <= 96
                colours = image.crop((x1, y1, x2, y2)).getcolors(10_000) or []
                assert any(colour != GROUNDS[scenes[row].ground] for _, colour in colours)
                assert COLOURS[thing.colour] in [colour for _, colour in colours]


def test_relations() -> None:
    def at(cell: int) -> Thing:
        return Thing("ball", "red", True, cell, (0, 0))

    assert relation(at(0), at(2)) == "to the left of" and relation(at(2), at(0)) == "to the right of"
    assert relation(at(1), at(7)) == "above" and relation(at(7), at(1)) == "below"


def test_every_shape_can_be_drawn(pack: Pack) -> None:
    drawn = {label for found in pack.detections.values() for label in found.labels}
    assert drawn == set(SHAPES)


def test_reached_by_prepare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pack = prepare(PrepareOptions("scenes", tmp_path / "pack", scene_count=12, scene_size=32))
    assert len(pack.images) == 12 and "nothing was skipped" in capsys.readouterr().out
    with pytest.raises(InputError, match="at least 12"):
        make_scenes(tmp_path / "few", count=3)
