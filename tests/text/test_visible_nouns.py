"""Attention is displayed for nouns that name something visible."""

from tellapart.text.visible_nouns import NOT_VISIBLE, mark_visible_nouns


def test_places_amounts_and_views_are_not_visible() -> None:
    texts = ("a group of people sitting in front of a house", "a close up of a photo of a cat on the side of a road")
    captions = [text.split() for text in texts]
    masks = mark_visible_nouns(captions)
    first, second = ({word for word, mark in zip(caption, mask) if mark} for caption, mask in zip(captions, masks))
    assert {"people", "house"} <= first and {"cat", "road"} <= second
    assert not NOT_VISIBLE & (first | second)


def test_no_captions() -> None:
    assert mark_visible_nouns([]) == []
