"""Forty queries, and which images should be found: by the captions that people wrote, and a rule.

A query has groups of words. A caption confirms a query if it has a word of every group (as singulars). An image has
grade 2 if two or more of its five captions confirm the query, grade 1 if its captions together have a word of every
group, and grade 0 otherwise. Captions leave things out: images that were first for a query with grade 0 were checked by
eye, and those that do show what was asked for are in SEEN, with grade 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from tellapart.search.lexicon import words_of
from tellapart.text.lemmas import noun_lemma

QUERIES: dict[str, str] = {
    "a towel": "towel",
    "candles": "candle candlelight",
    "a ladder": "ladder",
    "graffiti": "graffiti",
    "a wedding": "wedding bride groom bridal",
    "strawberries": "strawberry",
    "a piano": "piano keyboardist",
    "a tunnel": "tunnel",
    "a mirror": "mirror",
    "fog": "fog foggy mist misty haze hazy",
    "a fountain": "fountain",
    "cookies": "cookie biscuit",
    "a statue": "statue sculpture monument",
    "a laptop": "laptop notebook macbook",
    "surfing": "surf surfer surfing surfboard surfs",
    "birthday cake": "cake cupcake | birthday candle",
    "two dogs on a beach": "dog puppy | beach shore ocean sand surf sea",
    "a dog with a frisbee": "dog puppy | frisbee",
    "a man riding a horse": "man rider person cowboy jockey guy boy policeman officer | horse horseback",
    "a woman holding an umbrella": "woman lady girl female | umbrella parasol",
    "a child brushing teeth": "child boy girl baby kid toddler son daughter | tooth toothbrush teeth",
    "a cat on a couch": "cat kitten kitty | couch sofa loveseat",
    "a cat on a bed": "cat kitten kitty | bed bedspread blanket mattress",
    "a cat in a sink": "cat kitten kitty | sink basin",
    "a red double decker bus": "bus | double-decker double decker story level tier",
    "a red stop sign": "stop | sign",
    "a vase of flowers": "vase pot jar pitcher | flower rose tulip daisy bouquet lily orchid",
    "a bathroom with a white toilet": "bathroom restroom washroom | toilet",
    "a kitchen with a stove": "kitchen | stove oven range cooker",
    "people skiing down a mountain": "skier ski skiing | mountain slope hill mountainside",
    "a tennis player hitting a ball": "tennis",
    "a baseball player swinging a bat": "baseball | bat batter batting swing swinging hitter",
    "a plate of broccoli": "broccoli",
    "sheep in a green field": "sheep lamb | field grass pasture meadow grassy hill hillside",
    "motorcycles parked on the street": "motorcycle motorbike scooter moped bike | parked park street lot curb road",
    "a boat on the water": "boat ship canoe sailboat kayak ferry yacht raft | water lake river ocean sea harbor",
    "people flying kites": "kite",
    "a bear in the woods": "bear | wood forest tree grass log rock field grassy wilderness bush",
    "a teddy bear": "teddy stuffed plush | bear",
    "food on a wooden table": "food meal plate sandwich pizza dish bowl lunch dinner salad | table | wood wooden",
}
"""Words of each group, which "|" separates."""
SEEN: dict[str, frozenset[str]] = {
    "a cat on a couch": frozenset({"000000262396"}),
    "food on a wooden table": frozenset({"000000541538"}),
}
"""Images, by the names of their files, that show what was asked for although their captions do not say so."""


def grade(query: str, captions: Sequence[str], name: str = "") -> int:
    """The grade of an image with these captions.

    >>> grade("a cat on a couch", ["A cat on a sofa.", "Kittens on the couch", "a sofa"])
    2
    >>> grade("a cat on a couch", ["a cat", "a sofa"]), grade("a cat on a couch", ["a cat"])
    (1, 0)
    """
    groups = [set(group.split()) for group in QUERIES[query].split("|")]
    named = [{form for word in words_of(text) for form in (word, noun_lemma(word))} for text in captions]
    if sum(all(group & words for group in groups) for words in named) >= 2:
        return 2
    together = set().union(*named)
    return int(all(group & together for group in groups) or name in SEEN.get(query, ()))
