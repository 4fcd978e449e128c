"""Retrieval metrics of a score matrix [I, C]: `recall.py` (R@K, rsum, R-precision), `ndcg.py`, `cxc.py`, `eccv.py`,
`self_retrieval.py`, and bootstrap intervals in `bootstrap.py`."""
