"""Tellapart: find pictures by words, tell what sets a picture apart, show where each word looks.

The Python API is `tellapart.api`: it mirrors the command line verb for verb.
"""

__version__ = "0.1.0"
