"""The singular of English nouns, by rules and a short list of exceptions.

Released grounding scores use CoreNLP's lemmas. This module needs no Java: it only undoes plurals, and
keeps words that have the same plural (sheep) or no singular (jeans).
"""

from __future__ import annotations

from tellapart.text.concepts import IRREGULAR_PLURALS

IRREGULAR = {many: one for one, many in IRREGULAR_PLURALS.items() if one != "person"} | {
    "cacti": "cactus",
    "elves": "elf",
    "halves": "half",
    "hooves": "hoof",
    "lice": "louse",
    "lives": "life",
    "octopi": "octopus",
    "skis": "ski",
    "scarves": "scarf",
    "thieves": "thief",
    "wives": "wife",
}


# "people" is its own lemma, as in CoreNLP.
def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


UNCHANGED = _words("""
    always athletics binoculars bus canvas christmas chess clothes gas glasses goggles gymnastics headphones jeans
    lens pajamas pants people perhaps plus scissors series shorts species suspenders sunglasses tennis tights
    trousers trunks tweezers headquarters overalls dungarees leggings pyjamas outdoors indoors sometimes upwards
    backwards forwards towards sideways sports us this his its
""")
IE_SINGULARS = _words("""
    brownie cookie doggie hoodie hippie movie pie prairie selfie smoothie tie zombie goalie lie
""")
E_SINGULARS = _words("""
    axe cache ache shoe toe canoe hoe horseshoe avalanche moustache mustache headache
""")


def noun_lemma(word: str) -> str:
    """The singular of a noun in lower case.

    >>> [noun_lemma(word) for word in "dogs men puppies benches glasses knives shoes buses grass people".split()]
    ['dog', 'man', 'puppy', 'bench', 'glasses', 'knife', 'shoe', 'bus', 'grass', 'people']
    """
    if word in IRREGULAR:
        return IRREGULAR[word]
    if word in UNCHANGED or len(word) < 4 or not word.endswith(("s", "men", "children")):
        return word
    if word.endswith("children"):
        return word[:-3]
    if word.endswith("men"):
        return word[:-2] + "an" if word not in ("specimen", "abdomen", "acumen", "ramen") else word
    if word.endswith(("ss", "us", "is")):
        return word
    return _without_s(word)


def _without_s(word: str) -> str:
    if word[:-1] in E_SINGULARS:
        return word[:-1]
    if word.endswith("ies"):
        return word[:-1] if word[:-1] in IE_SINGULARS else word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zzes", "oes")):
        return word[:-2]
    if word.endswith("uses") and not word.endswith(("houses", "ouses", "auses")):
        return word[:-2]  # buses, cactuses; not houses, blouses, causes
    return word[:-1]
