"""Caption metrics and pycocoevalcap in one run: seconds, their ratio, and the difference of the values.

5,000 candidates with 5 references each. Tokens and METEOR are one cold call each: the start of Java and the reading of
the jar's tables on their side, compiled rules and opened tables on ours. (The first METEOR on a machine also converts
the release's paraphrase table for the cache folder. That happens before and is printed separately.) The others are the
best of a few calls on both sides.
"""

import json
import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

IMAGES, REFERENCES = 5000, 5
DATA = Path(os.environ.get("TELLAPART_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
WANTED = {"tokens": 2, "BLEU": 10, "ROUGE-L": 10, "CIDEr": 20, "METEOR": 5, "reward, 500 samples": 20}


def captions() -> list[list[str]]:
    """Six captions per image, the first a candidate: from COCO if it is available, else random words."""
    generator = random.Random(0)
    path = DATA / "coco" / "annotations" / "captions_train.json"
    if path.is_file():
        groups: dict[int, list[str]] = {}
        for row in json.loads(path.read_text("utf-8"))["annotations"]:
            groups.setdefault(row["image_id"], []).append(row["caption"].replace("\n", " "))
        full = [group[:REFERENCES] for group in groups.values() if len(group) >= REFERENCES][:IMAGES]
        # Half the candidates are another person's words for the image, half belong to some other image.
        return [[generator.choice(group if i % 2 else full[i - 1]), *group] for i, group in enumerate(full)]
    words = [
        a + b
        for a in ("ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "wu")
        for b in "nrstlmdgpk"
    ]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    return [
        [" ".join(generator.choices(words, weights, k=generator.randint(7, 14))) + "." for _ in range(REFERENCES + 1)]
        for _ in range(IMAGES)
    ]


def timed(call: Callable[[], Any], repeats: int = 1) -> tuple[Any, float]:
    """The result, and the least seconds of some runs, to exclude the load of other programs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        best = min(best, time.perf_counter() - start)
    return result, best


def report(name: str, theirs: float, ours: float, difference: float) -> None:
    ratio = theirs / ours
    verdict = "" if ratio >= WANTED[name] else f"  (below the target of {WANTED[name]}x)"
    print(f"{name:22}{theirs:10.3f} s{ours:10.3f} s{ratio:8.1f}x{difference:12.1e}{verdict}", flush=True)


def main(device: str = "cpu") -> None:
    try:
        import pycocoevalcap  # noqa: F401
    except ImportError:
        print("pycocoevalcap is not installed, so there is nothing to compare with: run pip install pycocoevalcap")
        return
    groups = captions()
    print(f"{'':22}{'pycocoevalcap':>12}{'tellapart':>12}{'ratio':>9}{'difference':>12}")
    said, references = bench_tokens([group[0] for group in groups], [group[1:] for group in groups])
    bench_ngrams(said, references)
    bench_meteor(said, references)
    bench_reward(said[:500], references[:500], device)


def bench_tokens(candidates: list[str], references: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    from tellapart.metrics.captions.ptb.tokenizer import tokenize, tokenize_groups

    ours, seconds = timed(lambda: (tokenize(candidates), tokenize_groups(references)))
    if shutil.which("java") is None:
        print("tokens: no Java to compare with")
        return ours

    def reference() -> tuple[list[str], list[list[str]]]:
        from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

        rows = [[{"caption": caption} for caption in group] for group in references]
        said = PTBTokenizer().tokenize({i: [{"caption": caption}] for i, caption in enumerate(candidates)})
        known = PTBTokenizer().tokenize(dict(enumerate(rows)))
        return [said[i][0] for i in range(len(said))], [known[i] for i in range(len(known))]

    theirs, slow = timed(reference)
    pairs = [(ours[0], theirs[0]), *zip(ours[1], theirs[1])]
    report("tokens", slow, seconds, float(sum(a != b for one, two in pairs for a, b in zip(one, two))))
    return ours


def bench_ngrams(said: list[str], references: list[list[str]]) -> None:
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    from tellapart.metrics.captions.bleu import bleu
    from tellapart.metrics.captions.cider import cider_d
    from tellapart.metrics.captions.rouge import rouge_l

    known, given = dict(enumerate(references)), {i: [caption] for i, caption in enumerate(said)}
    theirs, slow = timed(lambda: Bleu(4).compute_score(known, given, verbose=0), 3)
    ours, quick = timed(lambda: bleu(said, references), 3)
    apart = max(float(np.abs(score.each - np.array(each)).max()) for score, each in zip(ours, theirs[1]))
    report("BLEU", slow, quick, apart)
    for name, reference, function in (("ROUGE-L", Rouge, rouge_l), ("CIDEr", Cider, cider_d)):
        theirs, slow = timed(lambda reference=reference: reference().compute_score(known, given), 3)  # type: ignore[misc]
        score, quick = timed(lambda function=function: function(said, references), 3)  # type: ignore[misc]
        report(name, slow, quick, float(np.abs(score.each - theirs[1]).max()))


def bench_meteor(said: list[str], references: list[list[str]]) -> None:
    from tellapart.metrics.captions.meteor import tables as meteor_tables
    from tellapart.metrics.captions.meteor.score import meteor, meteor_java

    _, preparing = timed(meteor_tables.paraphrases)
    if preparing > 1:
        print(f"(METEOR's paraphrase table read for the first time on this machine: {preparing:.1f} s)")
    meteor_tables.paraphrases.cache_clear()
    ours, quick = timed(lambda: meteor(said, references))
    if shutil.which("java") is None:
        print("METEOR: no Java to compare with")
        return
    theirs, slow = timed(lambda: meteor_java(said, references))
    report("METEOR", slow, quick, float(np.abs(ours.each - theirs.each).max()))


def bench_reward(said: list[str], references: list[list[str]], device: str) -> None:
    """Both have the document frequencies beforehand; the string scorer reads index strings, as training code does."""
    import torch
    from pycocoevalcap.cider.cider_scorer import CiderScorer

    from tellapart.metrics.captions.encoded import WordIds
    from tellapart.metrics.captions.token_reward import TokenCider

    number = WordIds({name: index for index, name in enumerate(("<pad>", "<start>", "<end>", "<unknown>"))})

    def rows(lines: list[str]) -> torch.Tensor:
        ids = [[*(number[word] for word in line.split()), 2] for line in lines]
        return torch.tensor([row + [0] * (max(map(len, ids)) - len(row)) for row in ids], device=device)

    flat = rows([caption for group in references for caption in group])
    images = torch.arange(len(references), device=device)
    cider = TokenCider.from_references(flat, images.repeat_interleave(REFERENCES))
    samples = rows([" ".join(line.split()[:20]) for line in said])  # captioners stop at twenty words
    strings = [" ".join(map(str, row[row > 0].tolist())) for row in samples]
    known = [" ".join(map(str, row[row > 0].tolist())) for row in flat]
    counted = CiderScorer(refs=None)
    for index, line in enumerate(strings):
        counted += (line, known[index * REFERENCES : (index + 1) * REFERENCES])
    counted.compute_doc_freq()

    def reference() -> np.ndarray:
        scorer = CiderScorer()
        for index, line in enumerate(strings):
            scorer += (line, known[index * REFERENCES : (index + 1) * REFERENCES])
        scorer.document_frequency = counted.document_frequency
        return np.array(scorer.compute_cider())

    def reward() -> np.ndarray:
        return cider.reward(samples, images).cpu().numpy()

    reward()
    ours, quick = timed(reward, 5)
    theirs, slow = timed(reference, 3)
    report("reward, 500 samples", slow, quick, float(np.abs(ours - theirs).max()))


if __name__ == "__main__":
    main()
