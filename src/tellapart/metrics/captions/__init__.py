"""Caption metrics as the COCO caption script computes them, without Java.

- `score.py`: corpus values in one call; `evaluate.py`: also per-caption values; `compare.py`: several systems.
- `bleu.py`, `cider.py`, `rouge.py`, `meteor/`, `spice.py`, `diversity.py`: the metrics; `values.py`: their result.
- `registry.py`: the metrics by name; `tokenised.py`: what they compute from.
- `ptb/`: the tokeniser; `files.py`, `by_image.py`: reading captions; `bootstrap.py`: intervals.
- `token_reward.py`, `token_references.py`: CIDEr-D and BLEU of token ids, as rewards in training (need torch).
"""
