"""What the tables of the latent target decoding paper share: columns, notes and published values."""

from __future__ import annotations

from tellapart.reproduce.table import RETRIEVAL, RSUM, Column

PAPER = "Bleeker, Yates & de Rijke, Reducing Predictive Feature Suppression"
FLICKR, COCO = "Flickr30k", "COCO (5K)"
DATA = (
    "The paper fine-tunes a ResNet-50 in its second phase; here images are features on disk. Word vectors are GloVe "
    "with 50 dimensions, in the paper 300. Bounds eta are the paper's for Flickr30k; they were not searched again."
)
SUMMED = (
    "The triplet loss is a sum over the batch, so L_rec is summed over it too; the paper adds its mean, which has a "
    "gradient 1/268 as large. Lambda's learning rate is 0.0242 instead of 0.005, since Flickr8k has fewer steps than "
    "Flickr30k by that factor."
)
PRECISION = Column("I2T R-P", "i2t_r_precision", decimals=2)
NDCG = Column("T2I nDCG", "t2i_ndcg_rouge", measure="ndcg", decimals=4)
WITH_RANKING = (*RETRIEVAL, RSUM, PRECISION, NDCG)
RECALL = (*RETRIEVAL, RSUM)


def published(
    *recall: float, precision: float | None = None, ndcg: float | None = None, ranking: bool = True
) -> tuple[float | None, ...]:
    """Six recalls, their sum (which the paper does not print), and R-precision and nDCG where the table has them."""
    total = round(sum(recall), 1)
    return (*recall, total, precision, ndcg) if ranking else (*recall, total)
