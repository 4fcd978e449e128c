"""The answer to a query: captions count, people's own first; weak matches last; copies and bursts once; hubs damped."""

import datetime
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from embeds_colours import Colours, fill, paint
from tellapart.search.answer import Answer, Query, answer
from tellapart.search.calibration import (
    Background,
    Calibration,
    QueryCentre,
    probability,
    read_calibration,
    write_calibration,
)
from tellapart.search.copies import SAME, Shot, collapsed
from tellapart.search.filters import Filters
from tellapart.search.fit_calibration import CaptionedPhotos, fit_background, fit_calibration
from tellapart.search.lexicon import Lexicon, UnknownWord
from tellapart.search.protocol import Store
from tellapart.search.query import Searcher
from tellapart.search.store import open_store

RED, GREEN, BLUE = np.eye(3, dtype=np.float32)
PLAIN = Calibration(
    QueryCentre(np.zeros(3), np.zeros(3)),
    Background(np.zeros(3), np.eye(3), 0.0),
    {"constant": -5.0, "cosine": 8.0, "standardised": 0.0, "caption": 1.0, "words": 0.0},
    clear=0.5,
    shown=0.1,
)


@pytest.fixture
def photos(tmp_path: Path) -> Store:
    """Six photos whose captions are generated as red, green or blue."""
    folder = tmp_path / "photos"
    for number, colour in enumerate(
        [(250, 0, 0), (200, 130, 0), (0, 250, 0), (0, 200, 120), (0, 0, 250), (60, 60, 250)]
    ):
        paint(folder / f"{number}.png", colour)
    return fill(tmp_path / "index", Colours(), folder)[0]


def names(found: Answer) -> list[str]:
    return [Path(one.path).stem for one in found]


def asked(store: Store, text: str, vector: np.ndarray, calibration: Calibration | None = None, **more: bool) -> Answer:
    return answer(Searcher(store), Query(vector, text, (), calibration), 9, **more)


def test_a_caption_that_its_owner_wrote_is_first(photos: Store, tmp_path: Path) -> None:
    path = tmp_path / "photos" / "4.png"
    assert names(asked(photos, "whiskers", RED))[0] == "0"
    photos.edit(str(path), "Whiskers, our grumpy calico")
    for text in ("whiskers", "a grumpy whisker", "Whiskers!", "our CALICO"):
        found = asked(photos, text, RED)
        assert names(found)[0] == "4" and found[0].by_caption, text
        assert asked(photos, text, RED, PLAIN)[0].probability == 1.0
    assert not asked(photos, "whiskers the dog", RED)[0].by_caption  # one of two words
    fill(tmp_path / "index", Colours(), tmp_path / "photos")  # an update adds the caption to the full-text index
    assert names(asked(open_store(photos.where), "whiskers", RED))[0] == "4"
    photos.edit(str(path), None)
    assert names(asked(photos, "whiskers", RED))[0] == "0"


def test_a_description_in_the_file_counts_like_an_edited_caption(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x010E] = "Grandma at the lake"
    (tmp_path / "photos").mkdir()
    Image.new("RGB", (40, 24), (0, 0, 250)).save(tmp_path / "photos" / "lake.jpg", exif=exif)
    paint(tmp_path / "photos" / "red.jpg", (250, 0, 0))
    store, _ = fill(tmp_path / "index", Colours(), tmp_path / "photos")
    found = asked(store, "grandma", RED)
    assert names(found)[0] == "lake" and found[0].caption == "Grandma at the lake" and found[0].by_caption


def test_a_photo_far_from_the_query_is_found_by_its_caption_only(photos: Store, tmp_path: Path) -> None:
    photos.edit(str(tmp_path / "photos" / "5.png"), "Whiskers")
    found = answer(Searcher(photos), Query(RED, "whiskers"), 1)
    assert names(found) == ["5"] and found[0].score == pytest.approx(float(found[0].score), abs=1)
    inside = Filters(folder="/nowhere")
    assert answer(Searcher(photos), Query(RED, "whiskers"), 1, inside).photos == []


def test_generated_captions_add_to_the_cosine(photos: Store) -> None:
    between = (GREEN + RED) / np.sqrt(2, dtype=np.float32)
    assert names(asked(photos, "green", between, PLAIN))[0] == "1"  # 8 * 0.978 against 8 * 0.707 + 1
    strong = Calibration(PLAIN.centre, PLAIN.background, {**PLAIN.coefficients, "caption": 5.0}, 0.5, 0.1)
    assert names(asked(photos, "green", between, strong))[0] == "2"  # 8 * 0.978 against 8 * 0.707 + 5


def test_weak_matches_come_last_and_bad_ones_not_at_all(photos: Store) -> None:
    found = asked(photos, "", RED, PLAIN)
    # logits -5 + 8 c: red 3, orange -5 + 8 * 0.838 = 1.7; all others have a cosine below 0.24 and p < 0.05
    assert names(found) == ["0", "1"] and not found.less_sure and found.calibrated
    assert found[0].probability == pytest.approx(probability(3.0), abs=1e-3)
    strict = Calibration(PLAIN.centre, PLAIN.background, PLAIN.coefficients, 0.9, 0.1)
    assert [one.weak for one in asked(photos, "", RED, strict)] == [False, True]
    assert len(asked(photos, "", RED, PLAIN, everything=True)) == 6
    nothing = Calibration(PLAIN.centre, PLAIN.background, {**PLAIN.coefficients, "constant": -50.0}, 0.5, 0.1)
    assert len(asked(photos, "", RED, nothing)) == 0
    nonsense = Query(RED, "cta", (UnknownWord("cta", ("cat",)),), PLAIN)
    found = answer(Searcher(photos), nonsense, 9)
    assert found.clear == [] and len(found.less_sure) == 2 and found.corrected == "cat"


def test_copies_and_bursts_are_one_result(tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    first = paint(folder / "a.jpg", (250, 0, 0), "2020:01:01 10:00:00")
    (folder / "b.jpg").write_bytes(first.read_bytes())
    Image.open(first).resize((20, 12)).save(folder / "small.png")
    paint(folder / "burst.jpg", (220, 90, 0), "2020:01:01 10:00:04")  # a cosine of 0.925
    paint(folder / "later.jpg", (220, 90, 1), "2020:01:01 11:00:00")
    paint(folder / "blue.jpg", (0, 0, 250), "2020:01:01 10:00:01")
    store, _ = fill(tmp_path / "index", Colours(), folder)
    assert len(answer(Searcher(store), Query(RED), 9)) == 4  # without knowing the cosine of copies
    found = answer(Searcher(store), Query(RED, same=SAME), 9)
    copies = {Path(one.path).stem: {Path(path).stem for path in one.copies} for one in found}
    best = names(found)[0]
    assert set(copies) == {best, "later", "blue"}
    assert {best, *copies[best]} == {"a", "b", "small", "burst"}


def test_many_copies_do_not_hide_other_photos(tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    first = paint(folder / "a.png", (250, 0, 0))
    for number in range(150):
        (folder / f"copy{number}.png").write_bytes(first.read_bytes())
    paint(folder / "green.png", (0, 250, 0))
    store, _ = fill(tmp_path / "index", Colours(), folder, chunk=200)
    found = answer(Searcher(store), Query(RED), 2)
    assert len(found) == 2 and Path(found[1].path).stem == "green"


def test_groups_by_hand() -> None:
    def shot(content: str, x: float) -> Shot:
        return Shot(content, None, np.asarray([x, np.sqrt(1 - x * x)], np.float32))

    shots = [shot("a", 1.0), shot("b", 0.5), shot("c", 0.999), shot("b", 0.0), shot("d", -1.0), shot("a", -1.0)]
    assert collapsed(shots, 9) == [[0, 2, 5], [1, 3], [4]]
    assert collapsed(shots, 2) == [[0, 2], [1, 3]]
    assert collapsed([], 3) == []


def test_groups_are_those_of_a_plain_loop() -> None:
    """Over random photos, some of them copies, some taken within seconds of each other."""
    for seed in range(20):
        random = np.random.default_rng(seed)
        centres = random.standard_normal((12, 6))
        shots = []
        for _ in range(60):
            vector = centres[random.integers(12)] + 0.4 * random.standard_normal(6)
            taken = datetime.datetime(2020, 1, 1, 0, 0, int(random.integers(60))) if random.random() < 0.6 else None
            shots.append(Shot(str(random.integers(40)), taken, (vector / np.linalg.norm(vector)).astype(np.float32)))
        most, same = int(random.integers(1, 40)), [0.97, np.inf][seed % 2]
        groups: list[list[int]] = []
        for place, shot in enumerate(shots):
            for group in groups:
                one = shots[group[0]]
                cosine = float(one.vector @ shot.vector)
                burst = one.taken and shot.taken and abs((one.taken - shot.taken).total_seconds()) <= 10
                if one.content == shot.content or cosine >= same or (burst and cosine >= 0.85):
                    group.append(place)
                    break
            else:
                if len(groups) == most:
                    break
                groups.append([place])
        assert collapsed(shots, most, same) == groups


def test_a_hub_loses_its_lead() -> None:
    """Queries share the part m = (0.9, 0); the photo (1, 0) is nearest to all of them until m is removed."""
    hub, photo = np.asarray([1.0, 0.0]), np.asarray([0.6, 0.8])
    query = np.asarray([0.9, np.sqrt(1 - 0.81)])
    centre = QueryCentre(np.asarray([0.9, 0.0]), np.asarray([0.2, 0.0]))
    assert query @ hub > query @ photo
    short, long = centre.centred(query, 1), centre.centred(query, 12)
    assert short @ hub < short @ photo
    assert short == pytest.approx([0.0, 1.0]) and np.linalg.norm(long) == pytest.approx(1.0)
    # 12 words: w = 0, so that half of m_captions is taken away: 0.9 - 0.1
    assert long == pytest.approx(np.asarray([0.8, query[1]]) / np.hypot(0.8, query[1]))
    six = centre.centred(query, 6)  # w = 0.5: 0.9 - 0.45 - 0.05
    assert six == pytest.approx(np.asarray([0.4, query[1]]) / np.hypot(0.4, query[1]))


def test_the_background_gives_standard_deviations() -> None:
    random = np.random.default_rng(0)
    vectors = random.normal(size=(4000, 6)) * [3, 2, 1, 1, 1, 1] + 0.5
    query = random.normal(size=6)
    scores = vectors @ query
    z = fit_background(vectors).standardised(query, scores)
    assert z.mean() == pytest.approx(0, abs=1e-6) and z.std() == pytest.approx(1, abs=1e-2)


def test_a_calibration_is_fitted_stored_and_read(tmp_path: Path) -> None:
    """Photos of balls: the vector says the colour, and captions name it."""
    random = np.random.default_rng(0)
    colours = ["red", "green", "blue"]
    kinds = random.integers(0, 3, 300)
    vectors = np.eye(3)[kinds] + random.normal(0, 0.35, (300, 3))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    references = [[f"a {colours[kind]} ball", f"the {colours[kind]} ball"] for kind in kinds]

    def encode(texts: list[str]) -> np.ndarray:
        rows = [[float(colour in text) for colour in colours] for text in texts]
        return np.asarray(rows, np.float32) + 0.2

    photos = CaptionedPhotos(vectors, references, [group[0] for group in references])
    training = [text for group in references for text in group]
    found = fit_calibration(photos, training, encode, queries=60)  # type: ignore[arg-type]
    assert found.coefficients["cosine"] > 0 and found.coefficients["caption"] > 0
    write_calibration(tmp_path, "print", found)
    read = read_calibration("print", tmp_path)
    assert read is not None and read_calibration("other", tmp_path) is None
    query = read.centre.centred(encode(["red"])[0], 1)
    likely = read.logits(query, vectors @ query, np.asarray([float(kind == 0) for kind in kinds]), 1)
    assert likely[kinds == 0].mean() > 0 > likely[kinds != 0].mean()


def test_unknown_words_are_named_and_words_of_captions_are_known() -> None:
    lexicon = Lexicon(("a", "man", "cat", "elephant", "umbrella", "car"))
    assert lexicon.unknown("a cta") == [UnknownWord("cta", ("cat",))]
    assert [one.word for one in lexicon.unknown("An elefant with 3 umbrellas, whiskers?")] == ["elefant", "whiskers"]
    assert lexicon.unknown("elefant")[0].suggestions == ("elephant",)
    assert lexicon.unknown("whiskers", ["Whiskers, our cat"]) == []
    assert lexicon.unknown("whisker", ["Whiskers, our cat"]) == []
    assert lexicon.unknown("wiskers", ["Whiskers, our cat"]) == [UnknownWord("wiskers", ("whiskers",))]
    assert lexicon.unknown("") == [] and lexicon.unknown("with the and of 42") == []


def test_the_bundled_matcher_has_a_calibration_and_knows_usual_words() -> None:
    from tellapart.inference.matching import fingerprint
    from tellapart.runs.bundled import run_folder
    from tellapart.search.lexicon import lexicon_of
    from tellapart.text.vocabulary import Vocabulary

    folder = run_folder("bundled:matcher")
    assert read_calibration(fingerprint(folder)) is not None
    lexicon = lexicon_of(Vocabulary.load(folder / "vocabulary.json"), {"words": "wordpiece"})
    for text in ("two dogs on a beach", "a grumpy calico with whiskers", "skateboarders at the Eiffel tower", "Vienna"):
        assert lexicon.unknown(text) == [], text
    for wrong, right in (("cta", "cat"), ("dgo", "dog"), ("umbrela", "umbrella"), ("bycicle", "bicycle"),
                         ("elefant", "elephant"), ("skateborad", "skateboard"), ("girafe", "giraffe")):  # fmt: skip
        assert right in lexicon.unknown(f"a {wrong}")[0].suggestions, wrong
    assert lexicon.unknown("qzxwv") == [UnknownWord("qzxwv", ())]


def test_a_smaller_copy_of_a_photo_is_seen_as_a_copy() -> None:
    from tellapart.inference.matching import load_matcher

    skimage = pytest.importorskip("skimage.data", reason="photos to compare: pip install tellapart[demo]")
    matcher = load_matcher("bundled", "cpu")
    for array in (skimage.astronaut(), skimage.coffee()):
        photo, file = Image.fromarray(array), io.BytesIO()
        photo.save(file, "JPEG", quality=85)
        large = photo.resize((photo.width * 2, photo.height * 2), Image.Resampling.LANCZOS)
        one, other = matcher.encode_images([large, Image.open(io.BytesIO(file.getvalue()))])
        assert one @ other > SAME
