"""Campaigns against reliability: thousands of seeded attacks, counted in one table. `make torture` runs them all."""
