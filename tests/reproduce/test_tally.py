"""The tally of claims: every claim once per table and pack, with the reason of the undecided."""

from collections.abc import Mapping
from dataclasses import replace

from tellapart.papers.tables import TABLES
from tellapart.reproduce.claims import check_claim
from tellapart.reproduce.fill import Data, Filled
from tellapart.reproduce.results_page import _suits
from tellapart.reproduce.statistics import Cell
from tellapart.reproduce.table import Claim, Column, Greater, Row, Table
from tellapart.reproduce.tally import NO_RUN, tally_claims, tally_markdown

RECIPE = TABLES["find/scan"].rows[0].recipe
CLAIMS = (Claim("a beats b", (Greater("a", "b", "c"),)), Claim("b beats a", (Greater("b", "a", "c"),)))
TABLE = Table(
    "paper/table1",
    "Somebody",
    "title",
    rows=(Row("a", RECIPE), Row("b", RECIPE)),
    columns=(Column("c", "c"),),
    claims=CLAIMS,
)
DECIDED = {("a", "c"): Cell({0: 9.0, 1: 9.1, 2: 9.0}), ("b", "c"): Cell({0: 1.0, 1: 1.2, 2: 1.1})}
OPEN = {("a", "c"): Cell({0: 9.0, 1: 0.0}), ("b", "c"): Cell({0: 1.0, 1: 1.2})}


def filled(table: Table, pack: str, cells: Mapping[tuple[str, str], Cell]) -> Filled:
    claims = tuple(check_claim(claim, cells) for claim in table.claims)
    return Filled(table, Data(pack, "f", {}), cells=cells, claims=claims, results={}, curves={}, missing={})


def test_each_claim_once_per_table_and_pack() -> None:
    sections = [filled(TABLE, "flickr8k", OPEN), filled(TABLE, "flickr8k", DECIDED), filled(TABLE, "coco", OPEN)]
    found = tally_claims([TABLE], sections)
    assert [(one.pack, one.checked.verdict, one.checked.reason) for one in found] == [
        ("flickr8k", "held", ""),
        ("flickr8k", "not held", ""),
        ("coco", "undecided", "too few seeds"),
        ("coco", "undecided", "too few seeds"),
    ]


def test_claims_of_tables_without_a_run_count_as_not_run() -> None:
    found = tally_claims([TABLE], [])
    assert [(one.pack, one.checked.reason) for one in found] == [(NO_RUN, "not run")] * 2
    found = tally_claims([replace(TABLE, pack_names=("coco",))], [])
    assert {one.pack for one in found} == {"coco: no run"}


def test_of_two_undecided_sections_the_one_that_lacks_least_counts() -> None:
    found = tally_claims([TABLE], [filled(TABLE, "p", {}), filled(TABLE, "p", OPEN)])
    assert {one.checked.reason for one in found} == {"too few seeds"}


def test_the_lines_add_up() -> None:
    single = {("a", "c"): Cell({0: 9.0}), ("b", "c"): Cell({0: 1.0, 1: 1.0, 2: 1.0})}
    sections = [filled(TABLE, "flickr8k", DECIDED), filled(TABLE, "coco", single)]
    text = tally_markdown(tally_claims([TABLE], sections))
    assert "| paper | flickr8k | 2 | 1 | 1 | 0 | 0 |  |" in text
    assert "| paper | coco | 2 | 1 (1 on 1 seed) | 1 (1 on 1 seed) | 0 | 0 |  |" in text
    assert "| **all** |  | 4 | 2 (1 on 1 seed) | 2 (1 on 1 seed) | 0 | 0 |  |" in text
    assert "Undecided:" not in text
    undecided = tally_markdown(tally_claims([TABLE], [filled(TABLE, "coco", OPEN)]))
    assert "| paper | coco | 2 | 0 | 0 | 2 | 0 | 2 too few seeds |" in undecided
    assert "| paper/table1 | coco | a beats b | too few seeds |" in undecided


def test_claims_that_no_run_can_decide_are_counted_apart() -> None:
    """A table whose data are not at hand, and a claim that no row states: neither waits for a run."""
    lacking = replace(TABLE, name="paper/table2", lacks="boxes")
    beyond = replace(TABLE, beyond=(("c beats all", "a server"),))
    claims = tally_claims([beyond, lacking], [filled(beyond, "flickr8k", OPEN)])
    text = tally_markdown(claims)
    assert "| paper | flickr8k | 2 | 0 | 0 | 2 | 0 | 2 too few seeds |" in text
    assert "| paper | no data | 3 | 0 | 0 | 0 | 3 |  |" in text
    assert "| **all** |  | 5 | 0 | 0 | 2 | 3 | 2 too few seeds |" in text
    assert "| paper/table1 | c beats all | a server |" in text and "| paper/table2 | a beats b | boxes |" in text
    assert text.count("not run") == 0


def test_captions_of_coco_do_not_make_a_pack_coco() -> None:
    for_coco = Table("paper/table1/coco", "", "", rows=(), columns=(), pack_names=("coco",))
    assert _suits("coco", for_coco) and not _suits("flickr8k with coco_captions", for_coco)
