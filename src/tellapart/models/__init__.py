"""Models: `matchers/` score images against captions, `captioners/` generate captions, `decoding/` turns a captioner's
predictions into captions, `layers/` are the parts they share. `inputs.py` says what a model must know of the data."""
