"""Edits that leave an index and enter another one, and whole indexes in one file."""

import json
import zipfile
from pathlib import Path

import pytest

from embeds_colours import Colours, fill, paint
from index_rows import all_rows
from tellapart.cli.main import main
from tellapart.core.errors import InputError
from tellapart.search.backup import back_up, restore
from tellapart.search.edits import StoredEdit, edits_of, import_edits, read_edits, write_edits
from tellapart.search.protocol import Store
from tellapart.search.store import open_store

AWKWARD = 'Whiskers, "our" grumpy; calico — für Oma'


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for name, colour in (("red", (200, 0, 0)), ("green", (0, 200, 0)), ("blue", (0, 0, 200))):
        paint(tmp_path / "photos" / "2019" / f"{name}.png", colour)
    return tmp_path / "photos"


@pytest.fixture
def store(photos: Path, tmp_path: Path) -> Store:
    store = fill(tmp_path / "index", Colours(), photos)[0]
    store.edit(str(photos / "2019" / "red.png"), AWKWARD)
    store.edit(str(photos / "2019" / "green.png"), "The garden")
    return store


def captions(store: Store) -> dict[str, str]:
    return {Path(edit.image).name: edit.caption for edit in edits_of(store)}


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_edits_survive_a_rebuild(suffix: str, photos: Path, store: Store, tmp_path: Path) -> None:
    file = tmp_path / f"edits.{suffix}"
    assert main(["export-edits", store.where, str(file)]) == 0
    assert read_edits(file) == edits_of(store) and len(edits_of(store)) == 2
    new = fill(tmp_path / "new", Colours(), photos)[0]
    assert captions(new) == {}
    assert main(["import-edits", new.where, str(file)]) == 0
    again = open_store(new.where)
    assert captions(again) == captions(store) == {"red.png": AWKWARD, "green.png": "The garden"}
    history = again.history(edits_of(again)[0].content, [])
    assert [edit.caption for edit in history] == ["The garden"]
    assert import_edits(again, read_edits(file)).unchanged == 2


def test_photos_are_found_by_bytes_then_by_path_then_inside_their_folder(
    photos: Path, store: Store, tmp_path: Path
) -> None:
    edits = edits_of(store)
    (photos / "2019").rename(photos / "moved")  # same bytes at other paths
    moved = fill(tmp_path / "moved", Colours(), photos)[0]
    assert import_edits(moved, edits).imported == 2
    (photos / "moved").rename(photos / "2019")
    paint(photos / "2019" / "red.png", (210, 0, 0))  # other bytes at the same path
    changed = fill(tmp_path / "changed", Colours(), photos)[0]
    assert import_edits(changed, edits).imported == 2
    photos.rename(tmp_path / "elsewhere")  # other bytes in another folder
    elsewhere = fill(tmp_path / "third", Colours(), tmp_path / "elsewhere")[0]
    assert import_edits(elsewhere, edits).imported == 2
    assert captions(elsewhere) == captions(store)


def test_relative_paths_are_found_inside_the_indexed_folder(photos: Path, tmp_path: Path) -> None:
    """A table of another program names files from the folder that was indexed, wherever the command runs."""
    paint(photos / "2020" / "red.png", (90, 0, 0))
    store = fill(tmp_path / "fresh", Colours(), photos)[0]
    edits = [StoredEdit("2019/red.png", "Red"), StoredEdit("red.png", "Which?"), StoredEdit("/2019/blue.png", "Blue")]
    result = import_edits(store, edits)
    assert (result.imported, result.unknown) == (1, ["red.png", "/2019/blue.png"])
    assert edits_of(store)[0].image == str(photos / "2019" / "red.png")
    again = fill(tmp_path / "twice", Colours(), photos, photos / "2019")[0]  # no file is found in two ways
    assert import_edits(again, edits[:1]).imported == 1


def test_captions_of_the_index_stay_unless_replaced(store: Store) -> None:
    path = edits_of(store)[0].image
    edits = [StoredEdit(path, "another"), StoredEdit("/none.png", "x")]
    result = import_edits(store, edits)
    assert (result.imported, result.kept, result.unknown) == (0, [path], ["/none.png"])
    assert import_edits(store, edits, replace=True).imported == 1 and captions(store)["green.png"] == "another"


def test_captions_of_other_programs(tmp_path: Path, store: Store) -> None:
    """`tellapart caption --csv` and many others write image and caption; a line without a caption is no edit."""
    path = edits_of(store)[0].image
    (tmp_path / "c.csv").write_text(f'image,caption\n"{path}",A new\n"{path}",\n')
    assert read_edits(tmp_path / "c.csv") == [StoredEdit(path, "A new")]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "", "must end in .csv or .jsonl"),
        ("a.csv", "photo,text\na,b\n", "line 2: no image and caption"),
        ("a.jsonl", '{"image": "a", "caption": "b"}\n{"image": 3}\n', "line 2: no image and caption"),
        ("a.jsonl", "{", "line 1: broken JSON"),
        ("none.csv", None, "none.csv does not exist"),
    ],
)
def test_errors_name_the_line(
    name: str, text: str | None, message: str, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    assert main(["import-edits", store.where, str(tmp_path / name)]) == 1
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    (tmp_path / "there.csv").touch()
    assert main(["export-edits", store.where, str(tmp_path / "there.csv")]) == 1
    assert "replace it with --overwrite" in capsys.readouterr().err
    write_edits(tmp_path / "there.csv", [])
    assert read_edits(tmp_path / "there.csv") == []


def test_a_backup_gives_the_index_back(store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, new = tmp_path / "photos.backup", tmp_path / "restored"
    assert main(["backup", store.where, "--out", str(file)]) == 0
    assert "3 photos, 2 captions that people wrote" in capsys.readouterr().out
    store.edit(edits_of(store)[0].image, "after the backup")
    assert main(["restore", str(file), "--out", str(new)]) == 0
    again = open_store(str(new))
    assert captions(again)["green.png"] == "The garden" and len(again) == 3
    assert [row["vector"] for row in all_rows(again)] == [row["vector"] for row in all_rows(store)]
    content = edits_of(again)[0].content
    assert [edit.caption for edit in again.history(content, [])] == ["The garden"]
    again.edit(edits_of(again)[0].image, "edited later")
    assert len(zipfile.ZipFile(file).read("edits.jsonl").splitlines()) == 2
    assert main(["backup", store.where, "--out", str(file)]) == 1
    assert main(["restore", str(file), "--out", str(new)]) == 1
    assert "exists; choose another --out" in capsys.readouterr().err


def test_every_damaged_byte_of_a_backup_is_noticed(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "photos.backup"
    back_up(store.where, file)
    whole = file.read_bytes()
    name = next(one.filename for one in zipfile.ZipFile(file).infolist() if one.filename.endswith(".sqlite"))
    place = whole.index(name.encode()) + len(name) + 40
    for damaged in (whole[:place] + bytes((whole[place] ^ 1,)) + whole[place + 1 :], whole[:-30], b"", b"no zip"):
        file.write_bytes(damaged)
        with pytest.raises(InputError):
            restore(file, tmp_path / "restored")
        assert not (tmp_path / "restored").exists() and not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil", "C:/evil", "a\\..\\evil"])
def test_a_backup_writes_nothing_outside_of_its_folder(name: str, tmp_path: Path) -> None:
    file = tmp_path / "photos.backup"
    facts = {"form": 1, "photos": 0, "edits": 0, "bytes": 4, "created": "", "files": {name: [4, "x"]}}
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"index/{name}", "evil")
        archive.writestr("backup.json", json.dumps(facts))
    with pytest.raises(InputError, match="outside of the index"):
        restore(file, tmp_path / "a" / "restored")
    assert not list(tmp_path.rglob("evil"))


def test_only_an_index_on_a_disk_is_backed_up(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Export its edits"):
        back_up("s3://bucket/index", tmp_path / "x")
