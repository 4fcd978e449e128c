"""`tellapart score`: captions against references, or metrics against people."""

import json
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tellapart.core.errors import InputError
from tellapart.metrics.captions import bootstrap as caption_bootstrap
from tellapart.metrics.captions import spice
from tellapart.metrics.captions.diversity import diversity
from tellapart.metrics.captions.document_frequency import DocumentFrequency
from tellapart.metrics.captions.encoded import Score
from tellapart.metrics.captions.files import named_alike, read_candidates, read_captions, read_references
from tellapart.metrics.captions.meteor import tables as meteor_tables
from tellapart.metrics.captions.ptb.tokenise import tokenize
from tellapart.metrics.captions.scores import USUAL, evaluate, match_keys, tokenize_groups
from tellapart.metrics.people.flickr8k import FILES, read_judgements


@dataclass(frozen=True)
class ScoreOptions:
    """Score captions against references with BLEU, METEOR, ROUGE-L, CIDEr and (where Java is) SPICE, or each metric
    against the judgements of people.
    """

    references: tuple[Path, ...] = ()
    """COCO annotations (.json), JSON lines (.jsonl), a Flickr token file, or plain text with a line for each image
    (several references: several files, or tabs)."""
    candidates: tuple[Path, ...] = ()
    """One caption an image: COCO results (.json), .jsonl or plain text. Several files are compared side by side."""
    human: Path | None = None
    """Instead: a Flickr8k folder, to correlate the metrics with its human judgements."""
    metrics: tuple[str, ...] = ()
    """Names as in the table; all that can be had here if none is given."""
    meteor: Literal["python", "java"] = "python"
    """Who computes METEOR: this package, or the reference jar."""
    training: Path | None = None
    """Training captions, to count novel sentences."""
    frequencies: Path | None = None
    """A stored table of document frequencies for CIDEr; those of the references if not given."""
    samples: int = 1000
    """Bootstrap samples behind the intervals when there are several candidate files."""
    allow_empty: bool = False
    """Score empty captions instead of refusing them."""
    json: Path | None = None
    """Write corpus and per-caption values here."""


def score(options: ScoreOptions) -> dict[str, Any]:
    """Score, print a table, and give back (and write, where asked) what is behind it."""
    if options.human is not None:
        if options.candidates or options.references:
            raise InputError("--human brings its own captions: leave --candidates and --references out.")
        result = agreement(options.human, _available(options), options.meteor)
        _print_agreement(result)
    elif not options.candidates:
        raise InputError("Nothing to score: give --references and --candidates, or --human with a Flickr8k folder.")
    else:
        result = compare(options)
        _print_scores(result)
    if options.json is not None:
        try:
            options.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
        except OSError as error:
            raise InputError(f"{options.json} cannot be written: {error.strerror}.") from error
    return result


def _available(options: ScoreOptions) -> tuple[str, ...]:
    """The metrics asked for, or all that can be computed here, with a sentence for each that cannot."""
    if options.metrics:
        return options.metrics
    chosen = list(USUAL)
    for name, locate in (("METEOR", meteor_tables.release), ("SPICE", spice.locate)):
        try:
            locate()
        except InputError as error:
            print(f"{name} is left out. {error}")
            if name in chosen:
                chosen.remove(name)
        else:
            if name not in chosen:
                chosen.append(name)
    return tuple(chosen)


def compare(options: ScoreOptions) -> dict[str, Any]:
    """Every candidate file's scores; with several, intervals and paired differences from the first."""
    if options.samples < 1:
        raise InputError(f"--samples is how often images are drawn for an interval: at least 1, not {options.samples}.")
    references = read_references(options.references, options.allow_empty)
    names = [str(path) for path in options.candidates]
    if len(set(names)) < len(names):
        raise InputError("A candidate file was named twice: each one needs to be named once.")
    files = {
        str(path): named_alike(read_candidates(path, options.allow_empty), references) for path in options.candidates
    }
    reference_name = " and ".join(map(str, options.references))
    for name, captions in files.items():
        match_keys(captions, references, name, reference_name)
    metrics = _available(options)
    frequencies = None if options.frequencies is None else DocumentFrequency.load(options.frequencies)
    training = None
    if options.training is not None:
        training = tokenize(caption for group in read_captions(options.training).values() for caption in group)
    tokens = tokenize_groups(list(references.values()))
    _reject_wordless(
        [line for group in tokens for line in group],
        [key for key, group in references.items() for _ in group],
        reference_name,
        options.allow_empty,
    )
    result: dict[str, Any] = {"references": list(map(str, options.references)), "candidates": {}}
    scores: dict[str, dict[str, Score]] = {}
    for name, captions in files.items():
        lines = tokenize(captions[key] for key in references)
        _reject_wordless(lines, list(references), name, options.allow_empty)
        scores[name] = evaluate(lines, tokens, metrics, options.meteor, frequencies, tokenized=True)
        result["candidates"][name] = _described(scores[name], list(references)) | {
            "diversity": diversity(lines, training)
        }
    if len(files) > 1:
        _add_intervals(result, scores, options.samples)
    return result


def _reject_wordless(lines: list[str], keys: list[Hashable], name: str, allow: bool) -> None:
    wordless = [key for key, line in zip(keys, lines) if not line]
    if wordless and not allow:
        raise InputError(
            f"{len(wordless)} captions in {name} have no words, only punctuation, the first of them that of image "
            f"{wordless[0]!r}: fill them in, or give --allow-empty to score them as they are."
        )


def _described(scores: dict[str, Score], keys: list[Hashable]) -> dict[str, Any]:
    rows = [
        {"image_id": key} | {name: float(score.each[i]) for name, score in scores.items()} for i, key in enumerate(keys)
    ]
    return {"corpus": {name: score.corpus for name, score in scores.items()}, "captions": rows}


def _add_intervals(result: dict[str, Any], scores: dict[str, dict[str, Score]], samples: int) -> None:
    first = next(iter(scores))
    for name, found in scores.items():
        entry = result["candidates"][name]
        entry["interval"] = {
            metric: _bounds(caption_bootstrap.interval(score, samples)) for metric, score in found.items()
        }
        if name != first:
            entry["difference"] = {
                metric: _bounds(caption_bootstrap.paired_difference(scores[first][metric], score, samples))
                for metric, score in found.items()
            }


def _bounds(found: caption_bootstrap.CaptionInterval) -> dict[str, float]:
    return {"value": found.value, "low": found.low, "high": found.high}


def agreement(folder: Path, metrics: tuple[str, ...], meteor: Literal["python", "java"]) -> dict[str, Any]:
    """Kendall's tau of each metric with each kind of judgement, times 100."""
    result: dict[str, Any] = {}
    for kind in FILES:
        judged = read_judgements(folder, kind)
        scores = evaluate(judged.candidates, judged.references, metrics, meteor, tokenized=True)
        result[kind] = {
            "pairs": len(judged.candidates),
            "tau": {name: 100 * judged.agreement(found.each) for name, found in scores.items()},
        }
    return result


def _print_agreement(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Agreement with people: Kendall's tau x 100")
    table.add_column("metric")
    for kind, tau in zip(result, ("tau-c", "tau-b")):
        table.add_column(f"{kind}, {tau}\n{result[kind]['pairs']:,} pairs", justify="right")
    for name in next(iter(result.values()))["tau"]:
        table.add_row(name, *(f"{found['tau'][name]:.1f}" for found in result.values()))
    Console().print(table)


def _print_scores(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    several = len(result["candidates"]) > 1
    first = next(iter(result["candidates"].values()))
    table = Table(
        title=f"{len(first['captions']):,} captions",
        caption="in brackets: 95% bootstrap interval; below: difference from the first file, same images"
        if several
        else None,
    )
    table.add_column("metric")
    for title in _titles(list(result["candidates"])):
        table.add_column(title, justify="right")
    for metric in first["corpus"]:
        table.add_row(metric, *(_cell(entry, metric) for entry in result["candidates"].values()))
    table.add_section()
    for figure in first["diversity"]:
        table.add_row(figure, *(f"{entry['diversity'][figure]:g}" for entry in result["candidates"].values()))
    Console(markup=False).print(table)  # a file may be called [x]


def _titles(files: list[str]) -> list[str]:
    """The files' names, or their paths as given where names alone would not tell them apart.

    >>> _titles(["a/c.json", "b/c.json"]), _titles(["a/c.json", "a/d.json"])
    (['a/c.json', 'b/c.json'], ['c.json', 'd.json'])
    """
    names = [Path(file).name for file in files]
    return names if len(set(names)) == len(files) else files


def _cell(entry: dict[str, Any], metric: str) -> str:
    text = f"{entry['corpus'][metric]:.4f}"
    if "interval" in entry:
        text += " [{low:.4f}, {high:.4f}]".format(**entry["interval"][metric])
    if "difference" in entry:
        text += "\n{value:+.4f} [{low:+.4f}, {high:+.4f}]".format(**entry["difference"][metric])
    return text.replace("[", "\\[")
