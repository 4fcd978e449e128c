"""Karpathy's split files: dataset_coco.json, dataset_flickr8k.json, dataset_flickr30k.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tellapart.core.errors import InputError
from tellapart.data.readers.coco import json_head
from tellapart.data.readers.source import (
    ReaderOptions,
    Source,
    SourceCaption,
    SourceImage,
    entries,
    read_json_text,
    whole_number,
)
from tellapart.images.formats import image_stem


def dataset_file(folder: Path) -> Path | None:
    """The Karpathy file in or under a folder, if any."""
    found = sorted([*folder.glob("dataset_*.json"), *folder.glob("dataset.json"), *folder.glob("*/dataset_*.json")])
    return next((path for path in found if '"sentences"' in json_head(path)), None)


def recognise(source: Path) -> bool:
    """Whether a source is a Karpathy file or a folder with one."""
    if source.is_dir():
        return dataset_file(source) is not None
    return source.suffix == ".json" and '"sentences"' in json_head(source)


def read(source: Path, options: ReaderOptions) -> Source:
    """The images and captions of a Karpathy file."""
    path = options.captions_file or (source if source.is_file() else dataset_file(source))
    if path is None:
        raise InputError(f"{source} has no Karpathy file (such as dataset_coco.json); give it as `captions_file`.")
    folder = source if source.is_dir() else source.parent
    content = read_json_text(path, options.encoding)
    named = content.get("dataset") if isinstance(content, dict) else None
    result = Source(name=str(named or folder.resolve().name), root=options.images or folder)
    seen: set[str] = set()
    for where, image in entries(content, "images", path, result, {"filename": str, "split": str, "sentences": list}):
        name = image["filename"]
        key = str(image["cocoid"]) if "cocoid" in image else image_stem(name)
        if key in seen:
            result.skip("duplicate id", key, where, "this image is in the file twice; the first is kept")
            continue
        seen.add(key)
        inside = f"{image['filepath']}/{name}" if image.get("filepath") else name
        result.images.append(SourceImage(key, inside, image["split"], where))
        for order, sentence in enumerate(image["sentences"]):
            place, text = f"{where}, sentences[{order}]", _text(sentence)
            if text is None:
                result.skip("broken entry", str(sentence)[:60], place, "it has neither 'raw' nor 'tokens'; fix it")
            else:
                result.captions.append(SourceCaption(key, text.strip(), place, number=_number(image, order)))
    return result


def _number(image: dict[str, Any], order: int) -> int:
    """The id of a caption, in its entry or in the list of its image; in the COCO file these are COCO's ids."""
    sentence, listed = image["sentences"][order], image.get("sentids")
    if "sentid" not in sentence and isinstance(listed, list) and order < len(listed):
        return whole_number(listed[order])
    return whole_number(sentence.get("sentid"))


def _text(sentence: Any) -> str | None:
    """The caption as written, else its tokens; None if it has neither."""
    if not isinstance(sentence, dict):
        return None
    if isinstance(sentence.get("raw"), str):
        return str(sentence["raw"])
    tokens = sentence.get("tokens")
    return " ".join(map(str, tokens)) if isinstance(tokens, list) else None
