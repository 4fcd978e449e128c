"""Indexes in SQLite: a folder with one database."""
