"""Tellapart: find images by words, tell what sets an image apart, show where each word looks.

The Python API is `tellapart.cli.api`: it mirrors the command line verb for verb.
"""

__version__ = "0.1.0"
