"""How many claims of each paper are held, not held and undecided, and why those are undecided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tellapart.reproduce.claims import HELD, NOT_HELD, REASONS, UNDECIDED, CheckedClaim, check_claim
from tellapart.reproduce.fill import Filled
from tellapart.reproduce.table import Claim, Table

NO_RUN = "no run"
"""Stands for the data of tables that have not been run at all."""
NO_DATA = "no data"
"""Stands for data that are not at hand."""

TALLY_NOTE = """Claims of all tables, ours among them, once per table and data set. A table that was run on several
kinds of features counts once, by the first section that decides the claim. *1 seed*: verdicts that rest on one run of a
row; other seeds may differ. *Too few seeds*: fewer than five, and the images alone would decide it. *Interval spans the
bound*: five seeds or more, or the images alone leave it open. *No data*: no run can decide it with the data at hand;
these claims are listed last, with what is lacking."""


@dataclass(frozen=True)
class TalliedClaim:
    """One claim of a table on one set of images."""

    table: str
    pack: str
    checked: CheckedClaim
    lacks: str = ""
    """What no data at hand has, so that no run can decide it."""

    @property
    def paper(self) -> str:
        """The first part of the table's name."""
        return self.table.split("/")[0]


def tally_claims(tables: Iterable[Table], filled: Sequence[Filled]) -> list[TalliedClaim]:
    """Every claim of every table once per pack: of several sections (sets of features), the first that decides it, in
    the order of `filled`. Claims of tables without any run are not run."""
    found: list[TalliedClaim] = []
    for table in tables:
        own = [one for one in filled if one.table.name == table.name]
        for pack in dict.fromkeys(one.data.pack for one in own):
            sections = [one.claims for one in own if one.data.pack == pack]
            found += [TalliedClaim(table.name, pack, _first_decided(judged)) for judged in zip(*sections)]
        if not own:
            wanted = f"{', '.join(table.pack_names)}: {NO_RUN}" if table.pack_names else NO_RUN
            wanted = NO_DATA if table.lacks else wanted
            found += [TalliedClaim(table.name, wanted, check_claim(claim, {}), table.lacks) for claim in table.claims]
        found += [
            TalliedClaim(table.name, NO_DATA, CheckedClaim(Claim(text, ()), UNDECIDED, ()), lacks)
            for text, lacks in table.beyond
        ]
    return found


def _first_decided(judged: Sequence[CheckedClaim]) -> CheckedClaim:
    """Decided before undecided; of the undecided, the one that lacks least."""
    return min(judged, key=lambda one: 0 if one.verdict != UNDECIDED else len(REASONS) - REASONS.index(one.reason))


def tally_markdown(claims: Sequence[TalliedClaim]) -> str:
    """The tally: a line per paper and pack, then every undecided claim with its reason."""
    out = ["## Tally", "", TALLY_NOTE, ""]
    out += ["| paper | data | claims | held | not held | undecided | no data | because |"]
    out += ["|---|---|---:|---:|---:|---:|---:|---|"]
    groups: dict[tuple[str, str], list[TalliedClaim]] = {}
    for claim in claims:
        groups.setdefault((claim.paper, claim.pack), []).append(claim)
    out += [_line(paper, pack, group) for (paper, pack), group in sorted(groups.items(), key=_order)]
    out += [_line("**all**", "", claims)]
    undecided = [claim for claim in claims if claim.checked.verdict == UNDECIDED and not claim.lacks]
    if undecided:
        out += ["", "Undecided:", "", "| table | data | claim | reason |", "|---|---|---|---|"]
        out += [f"| {one.table} | {one.pack} | {one.checked.claim.text} | {one.checked.reason} |" for one in undecided]
    lacking = [claim for claim in claims if claim.lacks]
    if lacking:
        out += ["", "No data:", "", "| table | claim | what is lacking |", "|---|---|---|"]
        out += [f"| {one.table} | {one.checked.claim.text} | {one.lacks} |" for one in lacking]
    return "\n".join(out)


def _order(item: tuple[tuple[str, str], list[TalliedClaim]]) -> tuple[str, bool, str]:
    (paper, pack), _ = item
    return paper, pack.endswith(NO_RUN) or pack == NO_DATA, pack


def _line(paper: str, pack: str, group: Sequence[TalliedClaim]) -> str:
    lacking = sum(bool(one.lacks) for one in group)
    counts = Counter(one.checked.verdict for one in group)
    reasons = Counter(one.checked.reason for one in group if not one.lacks)
    because = ", ".join(f"{reasons[reason]} {reason}" for reason in REASONS if reasons[reason])
    decided = " | ".join(_decided(verdict, counts[verdict], group) for verdict in (HELD, NOT_HELD))
    return f"| {paper} | {pack} | {len(group)} | {decided} | {counts[UNDECIDED] - lacking} | {lacking} | {because} |"


def _decided(verdict: str, count: int, group: Sequence[TalliedClaim]) -> str:
    alone = sum(one.checked.verdict == verdict and one.checked.one_seed for one in group)
    return f"{count} ({alone} on 1 seed)" if alone else str(count)
