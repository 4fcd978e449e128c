"""Metrics: pure functions of scores, captions and boxes.

- `captions`: BLEU, METEOR, ROUGE-L, CIDEr, SPICE and diversity of generated captions; `score` computes the usual ones.
- `retrieval`: recall at K, R-precision, nDCG, CxC and self-retrieval from a score matrix.
- `grounding`: attention accuracy, F1_all, F1_loc and hallucination from attended boxes.
- `people`: how well caption metrics agree with human judgements.
"""
