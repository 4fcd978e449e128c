"""A table of ours: candidates for the best captioner, and whether they reach what Flickr8k papers publish."""

from __future__ import annotations

from tellapart.reproduce.caption_columns import SELF_RETRIEVAL, TEXT_METRICS
from tellapart.reproduce.table import Above, Claim, Row, Table

GOALS = (("B-4", 21.3), ("METEOR", 20.3), ("CIDEr", 60.0))
"""What good captioners of Flickr8k reach on its test split."""
LARGE_BATCHES = (
    "mle.sampling.batch=64",
    "mle.model.scaling=layer",
    "mle.epochs=20",
    "scst.sampling.batch=64",
    "scst.epochs=15",
)

BEST = Table(
    name="tell/best",
    paper="no paper's",
    title="Candidates for the best captioner",
    columns=(*TEXT_METRICS, *SELF_RETRIEVAL),
    rows=(
        Row("likelihood only", "tell-averaged-mle"),
        Row("averaged", "tell-averaged"),
        Row("averaged, BLEU-4 in the reward", "tell-averaged", ("scst.objective.rewards.bleu=1.0",)),
        Row("averaged, unit length", "tell-averaged", ("mle.model.scaling=unit",)),
        Row("averaged, two word tables", "tell-averaged", ("mle.model.tied=false",)),
        Row("averaged, width 1024", "tell-averaged", ("mle.model.hidden=1024",)),
        Row("averaged, AdaptiveAttention", "tell-averaged-adaptive"),
        Row("tell-best", "tell-best", LARGE_BATCHES),
    ),
    claims=(
        Claim(
            "Up-Down reaches BLEU-4 21.3, METEOR 20.3 and CIDEr 60 on Flickr8k's test split.",
            tuple(Above("averaged", column, goal) for column, goal in GOALS),
        ),
    ),
    seeds=1,
    notes=("Figures in percent; beam of 3. All rows train 20 + 15 epochs of 64 pictures.",),
)

TABLES = (BEST,)
