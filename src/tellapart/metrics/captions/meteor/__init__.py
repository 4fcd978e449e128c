"""METEOR 1.5 in Python: `score.py` uses `matches.py` (which words may match) and `search.py` (alignments)."""
