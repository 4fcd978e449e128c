"""Layers that matchers, captioners and objectives share, one idea per file."""
