"""Our tables of the papers' methods from a strong start: do LTD and CL help models that learned from COCO?"""

from __future__ import annotations

from tellapart.papers.rows import table_row
from tellapart.reproduce.caption_columns import SELF_RETRIEVAL, TEXT_METRICS
from tellapart.reproduce.table import RETRIEVAL, RSUM, Claim, Column, Greater, Table

UNCHANGED = ("train.optimiser.lr=0", "train.epochs=1")
"""One epoch without learning: the model as it begins."""

MATCHER = Table(
    name="strong-start/matcher",
    paper="Ours",
    title="The bundled matcher tuned on Flickr8k: plain, with LTD, with the hardest negatives; whole and by adapters",
    columns=(*RETRIEVAL, RSUM, Column("val R@sum", "best_rsum", "log")),
    rows=(
        table_row("before", "find-from-coco", UNCHANGED),
        table_row("plain", "find-from-coco"),
        table_row("LTD", "find-from-coco-ltd"),
        table_row("LoRA, plain", "find-from-coco-lora"),
        table_row("LoRA, LTD", "find-from-coco-lora-ltd"),
        table_row("LoRA, hardest negatives", "find-from-coco-lora-hard"),
    ),
    claims=(
        Claim("Tuning helps.", (Greater("plain", "before", "R@sum"),)),
        Claim("LTD helps the whole model.", (Greater("LTD", "plain", "R@sum"),)),
        Claim("LTD helps adapters.", (Greater("LoRA, LTD", "LoRA, plain", "R@sum"),)),
        Claim("Adapters are better than the whole model.", (Greater("LoRA, plain", "plain", "R@sum"),)),
        Claim(
            "The hardest negatives are better than InfoNCE.",
            (Greater("LoRA, hardest negatives", "LoRA, plain", "R@sum"),),
        ),
    ),
    notes=(
        "For a pack with the matcher's vocabulary and features (`prepare --vocabulary-from bundled:matcher`, `extract "
        "--like bundled:matcher`) and the column targets-minilm.",
        "The bundled matcher never saw Flickr8k; COCO's images and captions are extra training data for every row.",
    ),
)
CAPTIONER = Table(
    name="strong-start/captioner",
    paper="Ours",
    title="The bundled captioner tuned on Flickr8k: by likelihood and by contrast with its original (CL)",
    columns=(*TEXT_METRICS, *SELF_RETRIEVAL),
    rows=(
        table_row("before", "tell-from-coco-plain", UNCHANGED),
        table_row("plain", "tell-from-coco-plain"),
        table_row("CL", "tell-from-coco-cl"),
        table_row("plain, continued", "tell-from-coco-plain-continued"),
        table_row("plain, then CL", "tell-from-coco-plain-cl"),
        table_row("LoRA, plain", "tell-from-coco-lora"),
        table_row("LoRA, CL", "tell-from-coco-lora-cl"),
    ),
    claims=(
        Claim("Tuning helps CIDEr.", (Greater("plain", "before", "CIDEr"),)),
        Claim("CL makes captions identify their image better than likelihood.", (Greater("CL", "plain", "top-1"),)),
        Claim(
            "After likelihood, CL identifies images better than more likelihood.",
            (Greater("plain, then CL", "plain, continued", "top-1"),),
        ),
        Claim(
            "After likelihood, CL has a higher CIDEr than more likelihood.",
            (Greater("plain, then CL", "plain, continued", "CIDEr"),),
        ),
        Claim("With adapters, CL identifies images better.", (Greater("LoRA, CL", "LoRA, plain", "top-1"),)),
    ),
    notes=(
        "Values in percent; beam of 3. For a pack with the captioner's vocabulary and features (`prepare "
        "--vocabulary-from bundled:captioner`, `extract --like bundled:captioner`).",
        "The bundled captioner ends with self-critical training, which likelihood alone may undo.",
    ),
)
TABLES = (MATCHER, CAPTIONER)
