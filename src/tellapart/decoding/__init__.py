"""Decoding, written once for all captioners: log-probabilities, greedy, sampling, beam search."""

from tellapart.decoding.beam import beam, beams
from tellapart.decoding.constraints import Constraints, bad_endings
from tellapart.decoding.decoded import Decoded
from tellapart.decoding.diverse import diverse_beams
from tellapart.decoding.likelihood import log_prob, with_start
from tellapart.decoding.sampling import greedy, sample

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
