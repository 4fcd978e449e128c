"""Captioners: models that write a sentence about a picture, word by word."""

from tellapart.captioning.neuraltalk import NeuralTalk2

CAPTIONERS = {
    "neuraltalk2": NeuralTalk2,
}
