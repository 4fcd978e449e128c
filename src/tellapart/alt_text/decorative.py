"""Which images of a page are decorative: screen readers skip an image whose alternative text is empty.

An image is decorative if the first of these rules that applies says so:

- the page hides it from screen readers (`role=presentation`, `role=none`, `aria-hidden`);
- it is at most 3 pixels wide or high, or all of one colour: a spacer;
- it is in a link or button with text, which says where the link leads;
- it alone is in a link or button: not decorative, whatever its size;
- it is at most 24 pixels wide and high: an icon or bullet;
- it is at most 24 pixels thick and 20 times as long: a rule or border;
- it is at most 64 pixels wide or high, and its file is called spacer, blank, bullet, divider, …;
- it is at most 64 pixels wide and high and occurs three times or more on its page: a bullet.
"""

from __future__ import annotations

import re

from tellapart.alt_text.image_facts import ImageFacts
from tellapart.alt_text.page_image import PageImage

SPACER, TINY, SMALL = 3, 24, 64
"""Pixels."""
RULE, REPEATED = 20, 3
NAMES = re.compile(
    r"(?:.*[-_])?(?:spacer|blank|transparent|clear|pixel|1x1|shim|bullets?|dot|divider|separator|rule|hr|line|border|"
    r"corner|shadow|gradient|bg|background)[-_]?\d*",
    re.IGNORECASE,
)


def why_decorative(image: PageImage, facts: ImageFacts, name: str, uses: int) -> str:
    """Why an image is decorative; empty if it is not. `uses`: how often its file occurs on the page."""
    width, height = image.width or facts.width, image.height or facts.height
    if image.hidden:
        return "the page hides it from screen readers"
    if facts.fault:
        return ""
    if min(width, height) <= SPACER or min(facts.width, facts.height) <= SPACER:
        return "it is a spacer"
    if facts.one_colour:
        return "it is all of one colour"
    if image.link_text:
        return f"the link around it has text: {image.link_text[:40]}"
    if image.link is not None:
        return ""
    if max(width, height) <= TINY:
        return f"it is tiny ({width:g} x {height:g} pixels)"
    if min(width, height) <= TINY and max(width, height) >= RULE * min(width, height):
        return "it is a rule or border"
    if min(width, height) <= SMALL and NAMES.fullmatch(name.rpartition(".")[0]):
        return f"its file is called {name}"
    if max(width, height) <= SMALL and uses >= REPEATED:
        return f"it occurs {uses} times on the page"
    return ""
