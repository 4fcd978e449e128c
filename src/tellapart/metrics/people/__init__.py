"""Agreement of caption metrics with people: `agreement.py` on the judgements of `flickr8k.py`, by `kendall.py`."""
