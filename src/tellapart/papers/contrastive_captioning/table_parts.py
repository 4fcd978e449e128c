"""What the tables of the contrastive captioning paper share: columns, published values, and rows at a given scale."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart.papers.rows import table_row
from tellapart.reproduce.caption_columns import SELF_RETRIEVAL, TEXT_METRICS, percent
from tellapart.reproduce.table import Claim, Greater, Row, Within

PAPER = "Dai & Lin, Contrastive Learning for Image Captioning"
COLUMNS = (*TEXT_METRICS, *SELF_RETRIEVAL)
COCO = "COCO"
NONE = (None,) * len(SELF_RETRIEVAL)
PRODUCT = (
    "The paper's learning rate is 1e-6 for 20 epochs of 120,000 images in batches of 20: the sum of the learning rates "
    "of all steps is 0.12."
)
CONTROL = (
    '"continued" is our control: likelihood for as many further steps, with the same batches and schedule. What a '
    "method gains over it is not merely longer training."
)

AA_VALUES = (0.733, 0.572, 0.433, 0.327, 0.260, 0.540, 1.042)
CL_VALUES = (0.755, 0.598, 0.460, 0.353, 0.271, 0.559, 1.142)
NT_VALUES = (0.697, 0.525, 0.389, 0.291, 0.238, 0.516, 0.882)

GRID = ("features=grid",)


@dataclass(frozen=True)
class Scale:
    """How rows are trained on data of some size."""

    likelihood: tuple[str, ...]
    """Settings of the stage that trains a captioner by likelihood."""
    further: tuple[str, ...]
    """Settings of every stage after it."""

    def first(self, stage: str) -> tuple[str, ...]:
        """Overrides of a captioner's own stage."""
        return tuple(f"{stage}.{setting}" for setting in self.likelihood)

    def later(self, stage: str) -> tuple[str, ...]:
        """Overrides of a stage that starts from a captioner."""
        return tuple(f"{stage}.{setting}" for setting in self.further)

    def aa(
        self, name: str, recipe: str, *later: str, coco: tuple[float, ...] = (), more: tuple[float, ...] = ()
    ) -> Row:
        """A row that begins with AdaptiveAttention."""
        return published_row(name, recipe, (*self.first("aa"), *self._all(later)), coco, more)

    def nt(
        self, name: str, recipe: str, *later: str, coco: tuple[float, ...] = (), more: tuple[float, ...] = ()
    ) -> Row:
        """A row that begins with NeuralTalk2, which reads the mean of the grid's cells."""
        return published_row(name, recipe, (*GRID, *self.first("nt"), *self._all(later)), coco, more)

    def _all(self, stages: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(setting for stage in stages for setting in self.later(stage))


def published_row(
    name: str, recipe: str, overrides: tuple[str, ...], coco: tuple[float, ...] = (), more: tuple[float, ...] = ()
) -> Row:
    """coco: values of the ablations on COCO's validation split; more: values of Table 1."""
    published: dict[str, tuple[float | None, ...]] = {}
    if coco:
        published[f"{COCO} val"] = (*percent(*coco), *NONE)
    if more:
        recalls, (rouge, cider) = more[:4], percent(*more[4:])
        published[f"{COCO} test"] = (None, None, None, None, None, rouge, cider, *recalls)
    return table_row(name, recipe, overrides, published)


def rows1(scale: Scale) -> tuple[Row, ...]:
    """Rows of Table 1, and the control."""
    return (
        scale.nt("NT", "neuraltalk2", more=(0.02, 0.32, 3.02, 27.50, 0.652, 0.827)),
        scale.aa("AA", "adaptive-attention", more=(0.10, 0.96, 11.76, 78.46, 0.689, 1.004)),
        scale.aa("AA + CL", "adaptive-attention-cl", "cl", more=(0.32, 1.18, 11.84, 80.96, 0.695, 1.029)),
        scale.aa("AA, continued", "adaptive-attention-continued", "continued"),
    )


CLAIMS1 = (
    Claim(
        "Section 4.1: models with better self-retrieval have better captions (AA against NT).",
        tuple(Greater("AA", "NT", column) for column in ("top-5", "top-50", "ROUGE-L", "CIDEr")),
    ),
    Claim(
        "Section 4.1: CL improves self-retrieval.",
        tuple(Greater("AA + CL", "AA", column) for column in ("top-1", "top-5", "top-50")),
    ),
    Claim(
        "Table 1: CL improves captions.",
        tuple(Greater("AA + CL", "AA", column) for column in ("ROUGE-L", "CIDEr")),
    ),
    Claim(
        "Our control: CL improves self-retrieval more than as many further steps of likelihood.",
        tuple(Greater("AA + CL", "AA, continued", column) for column in ("top-1", "top-5")),
    ),
    Claim(
        "Our control: CL improves captions more than as many further steps of likelihood.",
        (Greater("AA + CL", "AA, continued", "CIDEr"),),
    ),
)

IL = (0.706, 0.544, 0.408, 0.307, 0.253, 0.530, 1.004)
GAN = (0.629, 0.437, 0.290, 0.190, 0.212, 0.458, 0.700)
POSITIVE = (0.735, 0.573, 0.437, 0.334, 0.262, 0.545, 1.059)
NEGATIVE = (0.539, 0.411, 0.299, 0.212, 0.246, 0.479, 0.603)


def rows4(scale: Scale, gan: bool = True) -> tuple[Row, ...]:
    """Rows of Table 4, with or without the GAN, and the control."""
    return (
        scale.aa("AA", "adaptive-attention", coco=AA_VALUES),
        scale.aa("AA, continued", "adaptive-attention-continued", "continued"),
        scale.aa("AA + IL", "adaptive-attention-il", "il", coco=IL),
        *((scale.aa("AA + GAN", "adaptive-attention-gan", "gan", coco=GAN),) if gan else ()),
        scale.aa("AA + CL(P)", "adaptive-attention-cl-positive", "cl", coco=POSITIVE),
        scale.aa("AA + CL(N)", "adaptive-attention-cl-negative", "cl", coco=NEGATIVE),
        scale.aa("AA + CL", "adaptive-attention-cl", "cl", coco=CL_VALUES),
    )


def claims4(gan: bool = True) -> tuple[Claim, ...]:
    """Claims of Table 4."""
    others = ("AA + IL", *(("AA + GAN",) if gan else ()), "AA + CL(P)", "AA + CL(N)")
    return (
        Claim("Section 5.3 (1): CL improves its base.", (Greater("AA + CL", "AA", "CIDEr"),)),
        Claim("Section 5.3 (1): introspective learning makes it worse.", (Greater("AA", "AA + IL", "CIDEr"),)),
        *((Claim("Section 5.3 (1): the GAN makes it worse.", (Greater("AA", "AA + GAN", "CIDEr"),)),) if gan else ()),
        Claim(
            "Section 5.3 (2): the positive constraint alone improves it, but less than both.",
            (Greater("AA + CL(P)", "AA", "CIDEr"), Greater("AA + CL", "AA + CL(P)", "CIDEr")),
        ),
        Claim(
            "Section 5.3 (2): the negative constraint alone makes it worse: too much distinctiveness.",
            (Greater("AA", "AA + CL(N)", "CIDEr"),),
        ),
        Claim(
            "Table 4: both constraints together are best in every metric.",
            tuple(Greater("AA + CL", row, column) for row in others for column in ("B-4", "METEOR", "CIDEr")),
        ),
    )


def rows5(scale: Scale) -> tuple[Row, ...]:
    """Rows of Table 5, and the control for NeuralTalk2."""
    nt_cl, nt_cl_aa = (
        (0.708, 0.536, 0.399, 0.300, 0.242, 0.524, 0.905),
        (0.716, 0.547, 0.411, 0.311, 0.249, 0.533, 0.956),
    )
    both = (*scale.first("aa"), *scale.first("nt"), *scale.later("cl"))
    return (
        scale.nt("NT", "neuraltalk2", coco=NT_VALUES),
        scale.nt("NT, continued", "neuraltalk2-continued", "continued"),
        scale.nt("NT + CL(NT)", "neuraltalk2-cl", "cl", coco=nt_cl),
        published_row("NT + CL(AA)", "neuraltalk2-cl-adaptive-attention", both, coco=nt_cl_aa),
        scale.aa("AA", "adaptive-attention", coco=AA_VALUES),
        scale.aa("AA + CL", "adaptive-attention-cl", "cl", coco=CL_VALUES),
    )


CLAIMS6 = (
    Claim("Section 5.3: the first run gains.", (Greater("run 1", "run 0", "CIDEr"),)),
    Claim(
        "Section 5.3: replacing the reference adds little (here: within 2 of CIDEr and 1 of BLEU-4).",
        (Within("run 2", "run 1", "CIDEr", 2.0), Within("run 2", "run 1", "B-4", 1.0)),
    ),
)
CLAIMS5 = (
    Claim(
        "Section 5.3: CL improves both captioners.",
        (Greater("NT + CL(NT)", "NT", "CIDEr"), Greater("AA + CL", "AA", "CIDEr")),
    ),
    Claim("Section 5.3: a stronger reference teaches more.", (Greater("NT + CL(AA)", "NT + CL(NT)", "CIDEr"),)),
    Claim(
        "Our control: CL improves NeuralTalk2's self-retrieval more than as many further steps of likelihood.",
        (Greater("NT + CL(NT)", "NT, continued", "top-5"),),
    ),
)


def rows6(scale: Scale) -> tuple[Row, ...]:
    """Rows of Table 6."""
    return (
        scale.aa("run 0", "adaptive-attention", coco=AA_VALUES),
        scale.aa("run 1", "adaptive-attention-cl", "cl", coco=CL_VALUES),
        scale.aa(
            "run 2",
            "adaptive-attention-cl-twice",
            "cl",
            "cl-again",
            coco=(0.756, 0.598, 0.460, 0.353, 0.272, 0.559, 1.142),
        ),
    )
