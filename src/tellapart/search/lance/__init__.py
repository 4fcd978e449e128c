"""Indexes in LanceDB: on object storage, and those that earlier versions made in folders."""
