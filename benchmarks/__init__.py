"""Benchmarks: each compares its speed with another implementation in the same run."""
