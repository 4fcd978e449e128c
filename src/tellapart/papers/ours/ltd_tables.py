"""Our tables about latent target decoding: a learning rate that rises, a low baseline, and models that do not learn
from hardest negatives alone."""

from __future__ import annotations

from tellapart.papers.ltd.table_parts import DATA, PAPER, RECALL
from tellapart.papers.ltd.tables import constraint_is_best
from tellapart.papers.rows import table_row
from tellapart.reproduce.table import Claim, Greater, Table

PHASES = ("warm-up", "fine-tune")
RISING = ("fine-tune.optimiser.lr=2e-4", "fine-tune.schedule.kind=cosine-rising")
MODELS = {"InfoNCE": "ltd-baseline", "InfoNCE + LTD": "ltd-baseline-ltd", "triplet + LTD": "ltd-triplet-ltd"}

RISING_RATE = Table(
    name="ltd/rising-rate",
    paper=PAPER,
    title="The second phase's learning rate: from a tenth down, as intended, or from zero up to 2e-4, as released",
    columns=RECALL,
    rows=tuple(
        row
        for name, recipe in MODELS.items()
        for row in (table_row(f"{name}, falling", recipe), table_row(f"{name}, rising", recipe, RISING))
    ),
    claims=tuple(
        Claim(f"The rising learning rate helps {name}.", (Greater(f"{name}, rising", f"{name}, falling", "R@sum"),))
        for name in MODELS
    ),
    notes=(DATA, "The best epoch is chosen on validation, so a learning rate that ends too high cannot hurt much."),
)

LEARNED = ("warm-up.frozen=", "warm-up.model.word_width=300", "warm-up.model.word_vectors=")
WHY_LOWER = Table(
    name="ltd/why-lower",
    paper=PAPER,
    title="Why the baseline is below VSE++ on a small pack: one change at a time",
    columns=RECALL,
    rows=(
        table_row("BL", "ltd-baseline"),
        table_row("GloVe fine-tuned from the start", "ltd-baseline", ("warm-up.frozen=",)),
        table_row("words of 300, learned", "ltd-baseline", LEARNED),
        table_row("linear heads", "ltd-baseline", ("warm-up.model.linear_heads=True",)),
        table_row("words of 300, learned, and linear heads", "ltd-learned"),
        table_row(
            "no noise on words", "ltd-baseline", ("warm-up.model.replace_words=0", "warm-up.model.delete_words=0")
        ),
        table_row("temperature 0.1", "ltd-baseline", tuple(f"{s}.objective.contrast.temperature=0.1" for s in PHASES)),
        table_row("best epoch of the warm-up", "ltd-baseline", ("warm-up.keep=best",)),
        table_row(
            "VSE with InfoNCE: one layer per side, a GRU",
            "vse++",
            ("base.objective.contrast.loss=info-nce", "base.objective.contrast.temperature=0.05"),
        ),
        table_row("VSE++ (ConVSE's baseline)", "vse++-tuned"),
    ),
    claims=(
        Claim(
            "It is the frozen word vectors of 50 dimensions.",
            (Greater("words of 300, learned", "BL", "R@sum", by=20.0),),
        ),
        Claim(
            "It is also the heads of two layers.",
            (
                Greater("linear heads", "BL", "R@sum"),
                Greater("words of 300, learned, and linear heads", "words of 300, learned", "R@sum"),
            ),
        ),
        Claim(
            "It is the loss: InfoNCE costs VSE as much.",
            (Greater("VSE++ (ConVSE's baseline)", "VSE with InfoNCE: one layer per side, a GRU", "R@sum", by=20.0),),
        ),
    ),
    notes=(DATA, "Not in the paper."),
)

WARMED = Table(
    name="ltd/warmed",
    paper=PAPER,
    title="VSRN and TERN after three epochs against all negatives",
    columns=RECALL,
    rows=(
        table_row("VSRN", "vsrn-warmed"),
        table_row("VSRN + LTD, dual", "vsrn-warmed-ltd-dual"),
        table_row("VSRN + LTD, constraint", "vsrn-warmed-ltd", ("train.objective.joining.bound=0.25",)),
        table_row("TERN", "tern-warmed"),
        table_row("TERN + LTD, dual", "tern-warmed-ltd-dual"),
        table_row("TERN + LTD, constraint", "tern-warmed-ltd"),
        table_row("TERN, hardest negatives from the start", "tern"),
    ),
    claims=(
        *(constraint_is_best(model) for model in ("VSRN", "TERN")),
        Claim("Without it TERN does not learn.", (Greater("TERN", "TERN, hardest negatives from the start", "R@sum"),)),
    ),
    notes=(
        DATA,
        "Table 3 again. From scratch, the hardest negative alone can lead to a model that scores all pairs the same; "
        "the paper's BERT is pretrained.",
    ),
)

TABLES = (WARMED, RISING_RATE, WHY_LOWER)
