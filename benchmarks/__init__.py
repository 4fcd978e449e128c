"""Benchmarks: each prints its rates side by side with a peer's, measured in the same run."""
