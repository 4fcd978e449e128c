"""Flickr8k test as a caption task: an image's first human caption is the candidate, the other four are references."""

from pathlib import Path

from tellapart.metrics.captions.ptb.tokenizer import tokenize, tokenize_groups


def flickr_test(shared_data: Path) -> tuple[list[str], list[list[str]]]:
    """Tokenised candidates and references of the 1,000 test images."""
    folder = shared_data / "flickr8k"
    wanted = set((folder / "Flickr_8k.testImages.txt").read_text().split())
    groups: dict[str, list[str]] = {}
    for line in (folder / "Flickr8k.token.txt").read_text("utf-8").splitlines():
        name, caption = line.split("\t")
        if name.split("#")[0] in wanted:
            groups.setdefault(name.split("#")[0], []).append(caption)
    return tokenize(group[0] for group in groups.values()), tokenize_groups([group[1:] for group in groups.values()])
