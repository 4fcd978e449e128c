"""Penn Treebank tokenisation as the COCO caption script does it: `tokenizer.py` applies `rules.py`."""
