"""`tellapart score`: captions against references, or metrics against the judgements of people."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tellapart.core.errors import InputError
from tellapart.core.precisions import Precision
from tellapart.metrics.captions.clip_score import PROMPT
from tellapart.metrics.captions.compare import OfText, compare
from tellapart.metrics.captions.diversity import diversity_unit
from tellapart.metrics.captions.document_frequency import DocumentFrequency
from tellapart.metrics.captions.evaluate import available_metrics
from tellapart.metrics.captions.files import read_captions
from tellapart.metrics.captions.neighbours import LOOK_ALIKES
from tellapart.metrics.captions.values import Score
from tellapart.metrics.people.agreement import agreement

SHOWN_UNITS = {"words": "words", "percent": "%"}


@dataclass(frozen=True)
class ScoreOptions:
    """Score captions against references with BLEU, METEOR, ROUGE-L, CIDEr and (with Java) SPICE, or compare each
    metric with the judgements of people.
    """

    references: tuple[Path, ...] = ()
    """COCO annotations (.json), JSON lines (.jsonl), a Flickr token file, or plain text with one line per image.
    Several references per image: several files, or tabs between them."""
    candidates: tuple[Path, ...] = ()
    """One caption per image: COCO results (.json), .jsonl or plain text. Several files are compared side by side."""
    human: Path | None = None
    """A Flickr8k folder: correlate the metrics with its human judgements instead."""
    metrics: tuple[str, ...] = ()
    """Metrics to compute, named as in the table; also CHAIR-i, CHAIR-s and CIDErBtw. Default: all that can be computed
    here, CIDErBtw with --neighbours."""
    meteor: Literal["python", "java"] = "python"
    """Compute METEOR with this package (python) or with the reference jar (java)."""
    training: Path | None = None
    """Training captions, to count novel captions."""
    frequencies: Path | None = None
    """A stored table of document frequencies for CIDEr. Default: those of the references."""
    neighbours: Path | None = None
    """Similar images for CIDErBtw: vectors in the order of the references (.npy), or lists of image ids by image id
    (.json)."""
    look_alikes: int = LOOK_ALIKES
    """Similar images per image that CIDErBtw uses."""
    bert_score: str = ""
    """Also compute BERTScore with this text encoder: minilm (all-MiniLM-L6-v2), or a folder or name of transformers."""
    bert_layer: int = -1
    """The encoder's layer whose vectors are matched: 1 is the first, -1 the last."""
    bert_idf: bool = False
    """Weight the pieces of captions by how few references have them."""
    bert_rescale: bool = False
    """Rescale BERTScore, so that random pairs of references have 0."""
    clip_score: str = ""
    """Also compute CLIPScore and RefCLIPScore with this matcher: bundled, a run, or hf:FOLDER. Needs --images."""
    images: Path | None = None
    """The images of the captions: a folder whose files are named by the captions' ids (or by COCO annotations), or a
    text file with one path per image in the order of the references."""
    clip_prompt: str = PROMPT
    """With --clip-score: written before every caption and reference; empty for matchers of plain captions."""
    device: str = "auto"
    """Of --clip-score: cpu, cuda, …; auto uses an accelerator if there is one."""
    precision: Precision = "auto"
    """Of --clip-score: float32, int8 (exported models), bfloat16 (others), or auto: the fastest that loses little."""
    compile: bool = False
    """Compile a model of transformers (torch.compile) for --clip-score: a minute at the start, which pays for many
    images."""
    batch: int = 32
    """Images encoded at once for --clip-score; more need more memory."""
    samples: int = 1000
    """Bootstrap samples per interval, when there are several candidate files."""
    allow_empty: bool = False
    """Score empty captions instead of rejecting them."""
    json: bool = False
    """Print JSON instead of a table: corpus and per-caption values, as fractions like the COCO caption script's, and
    diversity in the units that it names."""
    out: Path | None = None
    """Also write the JSON to this file."""


def score(options: ScoreOptions) -> dict[str, Any]:
    """Score, print a table or JSON, write the JSON file if asked, and return the values."""
    if options.human is not None:
        if options.candidates or options.references:
            raise InputError("--human brings its own captions: do not give --candidates or --references.")
        result = agreement(options.human, _metrics(options), options.meteor)
        show = _print_agreement
    elif not options.candidates or not options.references:
        raise InputError("Nothing to score: give --references and --candidates, or --human with a Flickr8k folder.")
    else:
        result = _compare(options)
        show = _print_scores
    text = json.dumps(result, indent=1)
    if options.json:
        print(text)
    else:
        show(result)
    if options.out is not None:
        try:
            options.out.write_text(text + "\n", "utf-8")
        except OSError as error:
            raise InputError(f"{options.out} cannot be written: {error.strerror}.") from error
    return result


def _metrics(options: ScoreOptions) -> tuple[str, ...]:
    """The metrics asked for, or all that can be computed here; prints why the others cannot."""
    if options.metrics:
        return options.metrics
    chosen, reasons = available_metrics()
    if options.neighbours is not None and options.human is None:
        chosen = (*chosen, "CIDErBtw")
    for name, reason in reasons.items():
        print(f"{name} is skipped. {reason}", file=sys.stderr if options.json else sys.stdout)
    return chosen


def _compare(options: ScoreOptions) -> dict[str, Any]:
    names = [str(path) for path in options.candidates]
    if len(set(names)) < len(names):
        raise InputError("A candidate file was named twice: name each file once.")
    training = None
    if options.training is not None:
        training = [caption for group in read_captions(options.training).values() for caption in group]
    systems = compare(
        options.references,
        dict(zip(names, options.candidates)),
        _metrics(options),
        meteor=options.meteor,
        frequencies=None if options.frequencies is None else DocumentFrequency.load(options.frequencies),
        training=training,
        samples=options.samples,
        neighbours=options.neighbours,
        look_alikes=options.look_alikes,
        allow_empty=options.allow_empty,
        of_text=_of_text(options),
    )
    names = list(next(iter(systems.values()))["diversity"])
    return {
        "references": list(map(str, options.references)),
        "unit": "fraction",
        "diversity_units": {name: diversity_unit(name) for name in names},
        "candidates": systems,
    }


def _of_text(options: ScoreOptions) -> OfText | None:
    """The metrics of captions as they are written that the options ask for."""
    if bool(options.clip_score) != (options.images is not None):
        raise InputError("CLIPScore needs a matcher and the images: give --clip-score and --images.")
    wanted = [
        make(options) for make, name in ((_bert_score, options.bert_score), (_clip_score, options.clip_score)) if name
    ]
    if not wanted:
        return None
    return lambda candidates, references: {
        name: score for compute in wanted for name, score in compute(candidates, references).items()
    }


def _clip_score(options: ScoreOptions) -> OfText:
    """CLIPScore as the options ask for it; images are encoded once."""
    from tellapart.inference.clip_scores import clip_scores
    from tellapart.inference.loading import load_matcher
    from tellapart.metrics.captions.by_image import references_by_image
    from tellapart.metrics.captions.image_files import image_files

    assert options.images is not None
    keys = list(references_by_image(options.references, options.allow_empty))
    files = image_files(options.images, keys, options.references)
    matcher = load_matcher(options.clip_score, options.device, precision=options.precision, compile=options.compile)
    vectors = matcher.encode_images(files, batch_size=options.batch, progress=not options.json)

    def compute(candidates: list[str], references: list[list[str]]) -> dict[str, Score]:
        found = clip_scores(matcher, vectors, candidates, references, options.clip_prompt)
        return {"CLIPScore": found["clip_score"], "RefCLIPScore": found["ref_clip_score"]}

    return compute


def _bert_score(options: ScoreOptions) -> OfText:
    """BERTScore as the options ask for it; the encoder is opened once."""
    from tellapart.metrics.captions.bert_score import bert_score, random_baseline
    from tellapart.text.token_vectors import TokenEncoder

    encode = TokenEncoder(options.bert_score, options.bert_layer)

    def compute(candidates: list[str], references: list[list[str]]) -> dict[str, Score]:
        known = [text for group in references for text in group]
        baseline = random_baseline(known, encode) if options.bert_rescale else None
        return bert_score(candidates, references, encode, idf=options.bert_idf, baseline=baseline)

    return compute


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
        title=f"{len(first['captions']):,} captions, metrics in percent",
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
    for name in first["diversity"]:
        title = f"{name} ({SHOWN_UNITS[result['diversity_units'][name]]})"
        table.add_row(title, *(f"{entry['diversity'][name]:g}" for entry in result["candidates"].values()))
    Console(markup=False).print(table)  # a file may be called [x]


def _titles(files: list[str]) -> list[str]:
    """The files' names, or their paths as given where two files have the same name.

    >>> _titles(["a/c.json", "b/c.json"]), _titles(["a/c.json", "a/d.json"])
    (['a/c.json', 'b/c.json'], ['c.json', 'd.json'])
    """
    names = [Path(file).name for file in files]
    return names if len(set(names)) == len(files) else files


def _in_percent(bounds: dict[str, float]) -> dict[str, float]:
    return {name: 100 * value for name, value in bounds.items()}


def _cell(entry: dict[str, Any], metric: str) -> str:
    text = f"{100 * entry['corpus'][metric]:.2f}"
    if "interval" in entry:
        text += " [{low:.2f}, {high:.2f}]".format(**_in_percent(entry["interval"][metric]))
    if "difference" in entry:
        text += "\n{value:+.2f} [{low:+.2f}, {high:+.2f}]".format(**_in_percent(entry["difference"][metric]))
    return text.replace("[", "\\[")
