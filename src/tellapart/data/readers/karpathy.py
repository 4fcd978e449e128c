"""Karpathy's split files: dataset_coco.json, dataset_flickr8k.json, dataset_flickr30k.json."""

from __future__ import annotations

from pathlib import Path

from tellapart.data.pictures import picture_stem
from tellapart.data.readers.coco import json_head
from tellapart.data.readers.source import ReaderOptions, Source, SourceCaption, SourcePicture, need, read_json_text
from tellapart.errors import InputError


def dataset_file(folder: Path) -> Path | None:
    found = sorted([*folder.glob("dataset_*.json"), *folder.glob("dataset.json"), *folder.glob("*/dataset_*.json")])
    return next((path for path in found if '"sentences"' in json_head(path)), None)


def recognise(source: Path) -> bool:
    if source.is_dir():
        return dataset_file(source) is not None
    return source.suffix == ".json" and '"sentences"' in json_head(source)


def read(source: Path, options: ReaderOptions) -> Source:
    path = options.captions_file or (source if source.is_file() else dataset_file(source))
    if path is None:
        raise InputError(
            f"{source} has no Karpathy file (dataset_coco.json and its kin); name it with --captions-file."
        )
    folder = source if source.is_dir() else source.parent
    content = read_json_text(path, options.encoding)
    result = Source(name=str(content.get("dataset", folder.resolve().name)), root=options.pictures or folder)
    seen: set[str] = set()
    for index, image in enumerate(need(content, "images", str(path))):
        where = f"{path.name}, images[{index}]"
        name = str(need(image, "filename", where))
        key = str(image["cocoid"]) if "cocoid" in image else picture_stem(name)
        if key in seen:
            result.skip("duplicate id", key, where, "this picture stands in the file twice; the first is kept")
            continue
        seen.add(key)
        inside = f"{image['filepath']}/{name}" if image.get("filepath") else name
        result.pictures.append(SourcePicture(key, inside, str(need(image, "split", where)), where))
        for order, sentence in enumerate(need(image, "sentences", where)):
            text = sentence.get("raw") or " ".join(sentence.get("tokens", ()))
            result.captions.append(SourceCaption(key, str(text).strip(), f"{where}, sentences[{order}]"))
    return result
