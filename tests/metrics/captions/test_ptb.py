"""Tokens of the reference tokeniser (Java), on real captions, on odd ones, and on every character there is."""

import json
import random
from pathlib import Path

import pytest

from reference_tokens import java_tokens
from tellapart.metrics.captions.ptb.tokenizer import _following, tokenize

# What the reference makes of these lines, read as one file in this order.
ODD = [
    ("A man's dog can't swim, but it's fine.", "a man 's dog ca n't swim but it 's fine"),
    ("He cannot; they're gonna go... won't they?", "he can not they 're gon na go wo n't they"),
    ("\"Quoted\" and ''double'' and `single' words", "quoted and double and single words"),
    ("the U.S. Army, U.S.A. and D.C.", "the u.s. army u.s.a. and d.c."),
    ("He lives in the U.S.", "he lives in the u.s."),
    ("In the morning at 5 a.m. or 5 p.m.", "in the morning at 5 a.m. or 5 p.m."),
    ("Vitamin C.", "vitamin c"),
    ("A dog", "a dog"),
    ("Mr. and Mrs. Smith vs. Dr. No.", "mr. and mrs. smith vs. dr. no"),
    ("etc.", "etc."),
    ("etc. and so on, e.g. this, i.e. that", "etc. and so on e.g. this i.e. that"),
    (
        "5-year-old boy in a T-shirt with black-and-white stripes",
        "5-year-old boy in a t-shirt with black-and-white stripes",
    ),
    (
        "$5.00, 50% off, 1,000 dogs & 3.14 or 1/2 or 2 1/2 cups",
        "$ 5.00 50 % off 1,000 dogs & 3.14 or 1/2 or 2\xa01/2 cups",
    ),
    ("call 555-1234 or (555) 123-4567 now", "call 555-1234 or -lrb-555-rrb-\xa0123-4567 now"),
    ("10:30 on 12/25/2003, the '90s and 1990's", "10:30 on 12/25/2003 the '90s and 1990 's"),
    ("rock 'n' roll, O'Brien, o'clock, 'tis, y'all, ma'am", "rock 'n' roll o'brien o'clock 't is y' all ma'am"),
    (
        "A (round) [square] {curly} <angle> bracket",
        "a -lrb- round -rrb- -lsb- square -rsb- -lcb- curly -rcb- <angle> bracket",
    ),
    ("e-mail me@x.com or see http://a.b/c?d=e, www.foo.org", "e-mail me@x.com or see http://a.b/c?d=e www.foo.org"),
    ("#tag @name c++ c# f# :) ;-) ^_^", "#tag @name c++ c# f# :-rrb- ;--rrb- ^_^"),
    ("café naïve Übung “curly” ‘quotes’ it’s don’t – — …", "café naïve übung curly quotes it 's do n't"),
    ("emoji 😀 and ❤ hearts 👍🏽", "emoji and ❤ hearts"),
    ("½ cup, £5, €5, 5¢, 20°C, 3×4, H₂O, x²", "1/2 cup # 5 $ 5 5 cents 20 ° c 3 × 4 h ₂ o x ²"),
    ("soft\xadhyphen and zero\u200bwidth and no\xa0break", "softhyphen and zero width and no break"),
    ("日本語 русский العربية हिन्दी", "日本語 русский العربية हिन्दी"),
    ("!!! ?! ... -- --- ----- ; : / \\ | ~", "!!! ?! ----- / \\ | ~"),
    ("&amp; &lt;b&gt; &quot;hi&quot; &nbsp; caf&eacute;", "& < b > hi caf&eacute;"),
    ("AT&T R&D and/or w/ km/h 4x4 3D", "at&t r&d and/or w / km/h 4x4 3d"),
    ("-LRB- x -RRB-", "-lrb- x -rrb-"),
    ("", ""),
    ("   ", ""),
    ("...", ""),
    ("Gimme the St. Bernard, Co. Ltd. Inc. Jan. 5", "gim me the st. bernard co. ltd. inc. jan. 5"),
    ("it''s", "it s"),
    ("No. 5 no. 5 fig. 3 pp. 12", "no. 5 no. 5 fig. 3 pp. 12"),
]
FRAGMENTS = (
    "a A the U.S. U.S.A. i.e. e.g. etc. Mr. Mr Dr. St. No. no. 5 12 1/2 3/4 3.14 1,000 10:30 5-year-old T-shirt "
    "it's don't y'all o'clock 'em '90s '90 ' '' \" `` ` ( ) [ ] { } < > << >> & &amp; &lt; &quot; &apos; &nbsp; "
    "&mdash; $ $5 US$5 # #tag @name a@b.com http://x.com/a?b=c, www.foo.org bar.jpg x.html. ... .. . .... ! !! ?! "
    ", ; : - -- --- ---- ----- _ __ * ** = / \\ | ~ ^ % + +5 -5 :) ;-) =D ^_^ (^_^) 555 1234567 555-1234 (555) "
    "555.123.4567 c++ c# gonna cannot 'tis 'twas Co. Ltd Inc. Jan. Ph.D. pro- AT&T S&P-500 he'd we're dogs' "
    "rock'n'roll 'n' n't Cap'n c'est l'eau d'Or 1st 4x4 1990's ice-cream. word. word, A. I. C. I a.m. P.M. vs. "
    "fig. ca. pp. co. pty. <b> </b> <br/> a.b.c 1/2/2003 caf&eacute; -LRB- C.D.s non-U.S. and/or 'cause ol' "
    "cont'd The In He About é café “ ” ‘ ’ it’s don’t – — … ½ £5 €5 ¢ © ° × 日本語 русский العربية हिन्दी 😀 ❤ \u2003 "
    "\u200b soft\xadhyphen a\u0301 ² H₂O ‚ „ « » 、 。 ¿ \x85 \x91 ⁄ ５ ٣"
)


def test_odd_lines() -> None:
    assert tokenize([line for line, _ in ODD]) == [tokens for _, tokens in ODD]


def test_a_last_full_stop_is_decided_by_the_next_caption() -> None:
    assert tokenize(["Vitamin C.", "A dog runs"]) == ["vitamin c", "a dog runs"]
    assert tokenize(["Vitamin C.", "Dogs run"]) == ["vitamin c.", "dogs run"]


def test_a_caption_is_read_with_the_next_alone() -> None:
    """Long texts take time in proportion: nothing but the captions up to the next that is not blank is touched."""

    class Text(list[str]):
        touched = 0

        def __getitem__(self, place):  # type: ignore[no-untyped-def]
            assert isinstance(place, int)
            self.touched += 1
            return super().__getitem__(place)

    lines = Text(["3 dogs", " ", "run", *["run"] * 100])
    assert _following(lines, 0) == "\n \nrun\n"
    assert lines.touched < 10
    assert _following(["3 dogs", "run"], 0) == "\nrun"


def test_line_breaks_inside_a_caption_are_spaces() -> None:
    assert tokenize(["a\ndog\u2028runs", "b"]) == ["a dog runs", "b"]


def test_nothing_in_nothing_out() -> None:
    assert tokenize([]) == []


@pytest.mark.slow
@pytest.mark.java
def test_every_caption_of_flickr8k(shared_data: Path) -> None:
    lines = (shared_data / "flickr8k" / "Flickr8k.token.txt").read_text("utf-8").splitlines()
    captions = [line.split("\t")[1] for line in lines]
    assert tokenize(captions) == java_tokens(captions)


@pytest.mark.slow
@pytest.mark.java
def test_every_caption_of_coco(shared_data: Path) -> None:
    folder = shared_data / "coco" / "annotations"
    rows = [
        row
        for part in ("train", "val")
        for row in json.loads((folder / f"captions_{part}.json").read_text())["annotations"]
    ]
    captions = [row["caption"].replace("\n", " ") for row in rows]
    assert tokenize(captions) == java_tokens(captions)


@pytest.mark.slow
@pytest.mark.java
def test_random_odd_captions() -> None:
    generator, fragments = random.Random(0), FRAGMENTS.split(" ")
    captions = [
        "".join(
            generator.choice(fragments) + generator.choice([" ", " ", "", "  "]) for _ in range(generator.randint(1, 7))
        )
        for _ in range(10_000)
    ]
    assert tokenize(captions) == java_tokens(captions)


@pytest.mark.slow
@pytest.mark.java
def test_every_character() -> None:
    """Characters in a word, alone, in a number, hyphened: all below U+3000, and every 16th of the plane's rest."""
    line_ends, halves, known_difference = "\n\r\x0b\x0c\x85\u2028\u2029", range(0xD800, 0xE000), "\u03a3"
    kept = [
        chr(code)
        for code in [*range(1, 0x3000), *range(0x3000, 0xFFFE, 16)]
        if code not in halves and chr(code) not in line_ends + known_difference
    ]
    captions = [f"x{one}y {one} 1{one}2 b-{one}" for one in kept]
    assert tokenize(captions) == java_tokens(captions)
