"""Mutation testing: `python -m mutation` in tests/ changes the code in small ways and counts what the tests notice."""
