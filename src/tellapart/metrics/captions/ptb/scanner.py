"""The scanner of Penn Treebank tokenisation: the token at a position of a text."""

from tellapart.metrics.captions.ptb.rules import Rule


def token(text: str, position: int, lists: dict[str, list[Rule]]) -> tuple[str, int]:
    """The token that starts at a position ("" for a dropped character), and the position after it."""
    first = text[position]
    kind = "other"
    if first.isascii():
        kind = "letter" if first.isalpha() else "digit" if first.isdigit() else "other"
    furthest, chosen, best = position, None, None
    for rule in lists[kind]:
        match = rule.pattern.match(text, position)
        if match is not None and match.end() > furthest:
            furthest, chosen, best = match.end(), rule, match
    if chosen is None or best is None:
        return "", position + 1
    printed, end = best.group(1), best.end(1)
    if chosen.printed is None:
        return (printed[:-1] if len(printed) == 2 else printed), end - 1
    if chosen.read_again and not printed.endswith("."):  # cannot, gonna: the tail is a separate token
        return chosen.printed(printed[: -chosen.read_again]), end - chosen.read_again
    return chosen.printed(printed), end - chosen.read_again
