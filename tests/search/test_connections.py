"""Connections to the database of an index, shared by threads."""

from pathlib import Path

import pytest

from tellapart.search.sqlite.connections import Connections
from tellapart.search.sqlite.making import make_database
from tellapart.search.table import About


class Emptied(list):  # type: ignore[type-arg]
    """A list whose last entry another thread takes right after one has asked whether it is empty."""

    def __bool__(self) -> bool:
        there = len(self) > 0
        self.clear()
        return there


@pytest.fixture
def connections(tmp_path: Path) -> Connections:
    make_database(str(tmp_path / "index"), About("print", "matcher", "captioner", 4)).close()
    return Connections(str(tmp_path / "index"))


def test_a_connection_that_another_thread_takes_first_is_not_missed(connections: Connections) -> None:
    with connections.reading():
        pass
    connections._free = Emptied(connections._free)
    with connections.reading() as connection:
        assert connection.execute("SELECT count(*) FROM photos").fetchone() == (0,)
    with connections.writing() as connection:
        connection.execute("DELETE FROM photos")
    connections.close()


def test_a_connection_is_used_again(connections: Connections) -> None:
    with connections.reading() as first:
        pass
    with connections.writing() as second:
        assert second is first
