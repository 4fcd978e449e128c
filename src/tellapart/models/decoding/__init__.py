"""Decoding for all captioners: log-probabilities, greedy, sampling, beam search."""

from tellapart.models.decoding.beam import beam, beams
from tellapart.models.decoding.constraints import Constraints, bad_endings
from tellapart.models.decoding.decoded import Decoded
from tellapart.models.decoding.diverse import diverse_beams
from tellapart.models.decoding.likelihood import log_prob, with_start
from tellapart.models.decoding.sampling import greedy, sample

__all__ = [
    "Constraints",
    "Decoded",
    "bad_endings",
    "beam",
    "beams",
    "diverse_beams",
    "greedy",
    "log_prob",
    "sample",
    "with_start",
]
