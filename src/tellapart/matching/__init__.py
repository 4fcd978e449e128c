"""Matchers: models that tell how well pictures and sentences fit."""

from tellapart.matching.vse import VSE

MATCHERS = {
    "vse": VSE,
}
