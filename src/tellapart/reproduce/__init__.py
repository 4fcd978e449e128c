"""A paper's table as data, its runner, cache and report: `tellapart reproduce`."""
