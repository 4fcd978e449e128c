"""Grounding metrics: `attention.py` (attention accuracy, F1_all, F1_loc, hallucination), `boxes.py` (overlap) and
bootstrap intervals in `bootstrap.py`."""
