"""Captions given as lists, mappings or files, as one mapping from image id to captions."""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from tellapart.core.errors import InputError
from tellapart.metrics.captions.files import Captions, read_captions
from tellapart.metrics.captions.ptb.tokenizer import tokenize_groups

References = (
    str | Path | Sequence[str] | Sequence[Path] | Sequence[Sequence[str]] | Mapping[Hashable, str | Sequence[str]]
)
"""A file, several files, one caption per image, several captions per image, or a mapping from image id to captions."""
Candidates = str | Path | Sequence[str] | Mapping[Hashable, str]
"""A file, one caption per image, or a mapping from image id to caption."""

Value = TypeVar("Value")


def references_by_image(references: References, allow_empty: bool = False) -> Captions:
    """The references of each image. A list is numbered from 0."""
    if isinstance(references, str | Path):
        references = [Path(references)]
    if not references:
        raise InputError("references is empty: give at least one file or caption.")
    if not isinstance(references, Mapping) and all(isinstance(entry, Path) for entry in references):
        found = _files_together([path for path in references if isinstance(path, Path)])
    else:
        found = _by_image(references, "references")
        for key, captions in found.items():
            if not captions:
                raise InputError(f"references: image {key!r} has no caption; every image needs at least one.")
    reject_empty(found, name_of(references, "references"), allow_empty)
    return found


def candidates_by_image(candidates: Candidates, references: Captions, allow_empty: bool = False) -> dict[Hashable, str]:
    """The candidate of each image, under the image ids of the references and in their order."""
    name = name_of(candidates, "candidates")
    found = read_captions(Path(candidates)) if isinstance(candidates, str | Path) else _by_image(candidates, name)
    several = [key for key, captions in found.items() if len(captions) > 1]
    if several:
        raise InputError(
            f"{name}: {len(several)} images have more than one caption, the first of them {several[0]!r}. "
            "Keep one candidate per image."
        )
    reject_empty(found, name, allow_empty)
    found = with_reference_ids(found, references)
    match_ids(found, references, name)
    return {key: found[key][0] for key in references}


def name_of(captions: References | Candidates, argument: str) -> str:
    """How errors name these captions: by their files, or by the argument."""
    if isinstance(captions, str | Path):
        return str(captions)
    if isinstance(captions, Mapping) or not all(isinstance(entry, Path) for entry in captions):
        return argument
    return " and ".join(map(str, captions))


def tokenized(captions: Mapping[Hashable, Sequence[str]], name: str, allow_empty: bool = False) -> list[list[str]]:
    """The tokenised captions of each image. All captions are tokenised as one text, as the COCO script does."""
    found = tokenize_groups(list(captions.values()))
    wordless = [key for key, group in zip(captions, found) for caption in group if not caption]
    if wordless and not allow_empty:
        raise InputError(
            f"{name}: {len(wordless)} captions have no words, only punctuation; the first belongs to image "
            f"{wordless[0]!r}. Fill them in, or set allow_empty to score them as they are."
        )
    return found


def with_reference_ids(captions: dict[Hashable, Value], references: Captions) -> dict[Hashable, Value]:
    """The captions under the ids of the references, where an id is a number in one and a string in the other.

    Keys of a JSON object are always strings.

    >>> with_reference_ids({"7": "a dog"}, {7: ["dogs"]})
    {7: 'a dog'}
    """
    ids = {str(key): key for key in references}
    renamed = {ids.get(str(key), key): caption for key, caption in captions.items()}
    return renamed if len(ids) == len(references) and len(renamed) == len(captions) else captions


def match_ids(candidates: Mapping[Hashable, object], references: Mapping[Hashable, object], name: str) -> None:
    """Reject candidates that lack an image of the references or have an extra one."""
    missing = [key for key in references if key not in candidates]
    extra = [key for key in candidates if key not in references]
    if missing:
        raise InputError(
            f"{name}: {len(missing)} of the {len(references)} images of the references have no caption, the first of "
            f"them {missing[0]!r}. Caption every image, or score against references of the captioned images alone."
        )
    if extra:
        raise InputError(
            f"{name}: {len(extra)} captions are for images without references, the first of them {extra[0]!r}. "
            "Remove them, or give their references."
        )


def reject_empty(captions: Captions, name: str, allow_empty: bool) -> None:
    """Raise an error if a caption is empty."""
    empty = [key for key, group in captions.items() if any(not caption.strip() for caption in group)]
    if empty and not allow_empty:
        raise InputError(
            f"{name}: {len(empty)} captions are empty; the first belongs to image {empty[0]!r}. "
            "Fill them in, or set allow_empty to score them as they are."
        )


def _by_image(captions: Mapping[Hashable, object] | Sequence[object], name: str) -> Captions:
    pairs = captions.items() if isinstance(captions, Mapping) else enumerate(captions)
    found: Captions = {key: [value] if isinstance(value, str) else _strings(value, name) for key, value in pairs}
    if not found:
        raise InputError(f"{name} is empty: there is nothing to score.")
    return found


def _strings(group: object, name: str) -> list[str]:
    captions: list[str] = []
    for caption in group if isinstance(group, Sequence) else [group]:
        if not isinstance(caption, str):
            raise InputError(f"{name}: a caption is one string, not {type(caption).__name__}: {caption!r}.")
        captions.append(caption)
    return captions


def _files_together(paths: Sequence[Path]) -> Captions:
    """The references of all files. Every file must have the same images."""
    found = read_captions(paths[0])
    for path in paths[1:]:
        more = with_reference_ids(read_captions(path), found)
        if more.keys() != found.keys():
            odd = next(iter(more.keys() ^ found.keys()))
            raise InputError(
                f"{path} has {len(more)} images and {paths[0]} has {len(found)}; {odd!r} is in only one of them. "
                "Files of references must have the same images."
            )
        for key, captions in more.items():
            found[key] = found[key] + captions
    return found
