"""Every bill worked out again from the journal: by two others that share no code with the service,
and what they make of bills that are wrong."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from laissez.cli import app
from laissez.exchange.commands import OPERATOR
from laissez.exchange.exchange import Exchange
from laissez.journal import Document, Entry, Journal, JournalForeign, JournalMissing
from laissez.market import Market, Topology
from laissez.server import billing
from laissez.server.data_folder import Replaying
from laissez.wire.rendering import EVENT_TYPES, rendered
from laissez_check.bills import amounts as bill_amounts
from laissez_check.bills import audit as bill_audit
from laissez_check.bills import journal as bill_journal
from laissez_check.bills import prices as bill_prices
from laissez_check.bills.amounts import dollars, when
from laissez_check.bills.audit import CLOSED, WITHOUT_MONEY, Auditor
from laissez_check.bills.compare import BillReport, Comparison
from laissez_check.bills.journal import EVENTS, Event, Outcomes, Row, nodes_of
from laissez_check.bills.prices import Lease, Prices, path_of
from laissez_check.event_audit import Auditor as LiteralAuditor
from support.check_imports import BILLS, imports_of
from support.exchange_histories import Drawn, draw, requests_of, with_fees

pytestmark = pytest.mark.once

SEEDS = sorted({*range(8), *with_fees(5)})
BILLED = next(
    seed
    for seed in SEEDS
    if any(b"lease" in one.body for step in draw(seed).steps for one in step.documents)
)


def rows(drawn: Drawn) -> list[Row]:
    outcomes = Outcomes(drawn.genesis)
    return [
        Row(
            seq,
            step.at,
            *outcomes.read(step.at, step.request, step.outcome),
            [(one.name, one.body) for one in step.documents],
        )
        for seq, step in enumerate(drawn.steps, 1)
    ]


def events_in(taken: list[Row]) -> list[Event]:
    return [event for row in taken for event in row.events]


def audited(taken: list[Row]) -> Auditor:
    closed = {event.fields["before"] for event in events_in(taken) if event.kind == CLOSED}
    auditor = Auditor(sorted(closed))
    for row in taken:
        auditor.take(row)
    return auditor


def exchange_after(drawn: Drawn, steps: int | None = None) -> Exchange:
    machine = Replaying.begin(drawn.genesis)
    for step in drawn.steps[:steps]:
        machine.apply(step.at, step.request)
    return machine.exchange


def report_of(drawn: Drawn, taken: list[Row], steps: int | None = None) -> BillReport:
    return Comparison(audited(taken), exchange_after(drawn, steps), taken[-1].at).report()


# -- three that agree


@pytest.mark.parametrize("seed", SEEDS)
def test_the_audit_agrees_with_the_literal_one_and_with_the_service(seed: int) -> None:
    drawn = draw(seed)
    taken = rows(drawn)
    exchange = exchange_after(drawn)
    report = Comparison(audited(taken), exchange, taken[-1].at).report()
    assert ([], {}) == (report.findings, report.unknown)
    literal = LiteralAuditor(Market.restore(drawn.genesis).topology.leaves)
    for _, _, applied in requests_of(drawn):
        for one in rendered(applied, OPERATOR):
            literal.take(msgspec.to_builtins(one))
    owed = {
        name: billing.running(exchange, account, taken[-1].at)
        for name, account in exchange.accounts.items()
    }
    told = {one.tenant: one.charge for one in report.sums}
    assert told == {tenant: literal.owed(tenant, owed[tenant].until) for tenant in told}
    assert {name: one.total for name, one in owed.items() if one.total} == {
        name: charge for name, charge in told.items() if charge
    }


def test_the_histories_have_all_that_bills_are_made_of() -> None:
    found = [report_of(draw(seed), rows(draw(seed))) for seed in SEEDS]
    events = [event for seed in SEEDS for event in events_in(rows(draw(seed)))]
    assert {
        "fee.charged",
        "floor.set",
        "lease.limit_set",
        "order.amended",
        "books.closed",
    } <= {event.kind for event in events}
    assert any(event.fields.get("hold_until") for event in events)
    assert (
        sum(report.statements for report in found) > 20
        and sum(report.running_lines for report in found) > 50
    )


def test_the_audit_shares_no_code_with_what_it_checks() -> None:
    for module in (bill_audit, bill_amounts, bill_journal, bill_prices):
        assert imports_of(module) <= BILLS


LEAVES = [f"a/{zone}/{rack}/{gpu}" for zone in "xy" for rack in "123" for gpu in "pqr"]
NODES = sorted({path for leaf in LEAVES for path in path_of(leaf)})


class Play:
    """Random changes of prices, and leases charged for each instant by the rules, literally: M4 and
    M5, and M17 while held."""

    def __init__(self, seed: int) -> None:
        self.draw = Random(seed)
        self.prices = Prices()
        self.charges: dict[Lease, int] = {}
        self.held: dict[str, Lease] = {}  # by leaf
        self.floors: dict[str, int] = {}
        self.bids: list[tuple[str, str, int]] = []

    def rate(self, lease: Lease, at: int) -> int:
        path = path_of(lease.leaf)
        floors = [self.floors.get(node, 0) for node in path]
        bids = [bid for node, who, bid in self.bids if node in path and who != lease.tenant]
        rate = max(*floors, *bids, 0)
        assert rate == self.prices.rate(lease.leaf, lease.tenant)
        if at >= lease.held_until or lease.limit is None:
            return rate
        return min(rate, max(lease.limit, lease.limit_first))

    def step(self) -> None:
        now = self.prices.now
        passed = self.draw.choice((0, 1, 1, 7))
        for lease in self.held.values():
            self.charges[lease] += sum(self.rate(lease, at) for at in range(now, now + passed))
            assert self.charges[lease] == self.prices.charge_at(lease, now + passed)
        self.prices.pass_time(now + passed)
        often = (self._bid, self._bid, self._bid, self._withdraw, self._withdraw, self._start)
        self.draw.choice((*often, self._floor, self._start, self._end, self._limit))()

    def _bid(self) -> None:
        self.bids.append((self.draw.choice(NODES), self.draw.choice("tuv"), self.draw.randrange(6)))
        self.prices.add(*self.bids[-1])

    def _withdraw(self) -> None:
        if self.bids:
            self.prices.remove(*self.bids.pop(self.draw.randrange(len(self.bids))))

    def _floor(self) -> None:
        node, price = self.draw.choice(NODES), self.draw.choice((0, 0, 1, 3))
        self.floors[node] = price
        self.prices.set_floor(node, price)

    def _start(self) -> None:
        leaf, now = self.draw.choice(LEAVES), self.prices.now
        if leaf not in self.held:
            tenant, limit = self.draw.choice("tuv"), self.draw.randrange(5)
            lease = Lease(0, tenant, leaf, now, limit, now + self.draw.choice((0, 5, 40)))
            self.held[leaf], self.charges[lease] = lease, 0
            self.prices.start(lease)

    def _end(self) -> None:
        if self.held:
            self.prices.end(self.held.pop(self.draw.choice(sorted(self.held))))

    def _limit(self) -> None:
        if self.held:
            lease = self.held[self.draw.choice(sorted(self.held))]
            self.prices.set_limit(lease, self.draw.choice((None, 0, 2, 5)))


@pytest.mark.parametrize("few_leases", [0, 2, 64])
def test_charges_that_are_added_up_are_those_of_every_instant(
    monkeypatch: pytest.MonkeyPatch, few_leases: int
) -> None:
    monkeypatch.setattr(bill_prices, "FEW_LEASES", few_leases)
    for seed in range(5):
        play = Play(seed)
        for _ in range(250):
            play.step()
        assert play.charges == {lease: play.prices.settle(lease) for lease in play.charges}, seed


# -- bills that are wrong


def read_statement(body: bytes) -> list[Any]:
    since, until, _ = bill_audit.HEAD.unpack_from(body)
    return [since, until, msgspec.msgpack.decode(body[bill_audit.HEAD.size :])]


def written(statement: list[Any]) -> bytes:
    since, until, lines = statement
    return bill_audit.HEAD.pack(since, until, len(lines)) + msgspec.msgpack.encode(lines)


def first_statement(taken: list[Row], kind: str = "lease") -> tuple[int, int]:
    """Where the first one with such a line is: the row, and which of its documents."""
    for place, row in enumerate(taken):
        for index, (_, body) in enumerate(row.documents):
            if any(line[0] == kind for line in read_statement(body)[2]):
                return place, index
    raise AssertionError(f"no statement with a {kind}")


def altered(
    taken: list[Row], change: Callable[[list[Any]], None], kind: str = "lease"
) -> tuple[list[Row], str, list[Any]]:
    """The rows with one statement changed, whose it is, and the line of that kind as it was."""
    place, index = first_statement(taken, kind)
    name, body = taken[place].documents[index]
    statement = read_statement(body)
    line = next(list(line) for line in statement[2] if line[0] == kind)
    change(statement)
    documents = list(taken[place].documents)
    documents[index] = name, written(statement)
    return (
        [*taken[:place], taken[place]._replace(documents=documents), *taken[place + 1 :]],
        name.partition("/")[2],
        line,
    )


def first_line(statement: list[Any], kind: str) -> list[Any]:
    found: list[Any] = next(line for line in statement[2] if line[0] == kind)
    return found


def test_a_charge_altered_by_the_least_there_is_is_found_and_named() -> None:
    def one_more(statement: list[Any]) -> None:
        line = first_line(statement, "lease")
        line[5] = str(int(line[5]) + 1)

    taken, tenant, line = altered(rows(draw(BILLED)), one_more)
    (finding,) = audited(taken).findings
    assert ("a line of a statement", tenant, " ".join(map(str, line[:3]))) == (
        finding.what,
        finding.tenant,
        finding.line,
    )
    assert (int(line[5]), int(line[5]) + 1) == (int(finding.expected), int(finding.found))
    assert when(line[3]) == finding.since and when(line[4]) == finding.until


def test_a_lost_line_is_found_and_what_it_was_of() -> None:
    taken, tenant, line = altered(
        rows(draw(BILLED)), lambda statement: statement[2].remove(first_line(statement, "lease"))
    )
    (finding,) = audited(taken).findings
    assert (tenant, " ".join(map(str, line[:3])), line[5], "0") == (
        finding.tenant,
        finding.line,
        finding.expected,
        finding.found,
    )


def test_a_fee_charged_twice_is_found() -> None:
    seed = next(
        seed
        for seed in SEEDS
        if any(b"fee" in body for row in rows(draw(seed)) for _, body in row.documents)
    )
    taken, tenant, line = altered(
        rows(draw(seed)), lambda statement: statement[2].append(first_line(statement, "fee")), "fee"
    )
    (finding,) = audited(taken).findings
    assert (tenant, line[5], str(2 * int(line[5]))) == (
        finding.tenant,
        finding.expected,
        finding.found,
    )


def test_a_statement_with_a_gap_before_it_a_missing_one_and_a_stray_one_are_found() -> None:
    def begin_later(statement: list[Any]) -> None:
        statement[0] += 1

    taken, tenant, _ = altered(rows(draw(BILLED)), begin_later)
    assert [("the period of a statement", tenant)] == [
        (one.what, one.tenant) for one in audited(taken).findings
    ]
    place, _ = first_statement(taken := rows(draw(BILLED)))
    gone = taken[place]._replace(documents=[])
    assert {"a line of a statement"} == {
        one.what for one in audited([*taken[:place], gone, *taken[place + 1 :]]).findings
    }
    stray = taken[place]._replace(
        documents=[*taken[place].documents, ("statement/nobody", taken[place].documents[0][1])]
    )
    (finding,) = audited([*taken[:place], stray, *taken[place + 1 :]]).findings
    assert ("a document of an unknown kind", "statement/nobody") == (
        finding.what,
        finding.line,
    )
    elsewhere = taken[0]._replace(documents=[taken[place].documents[0]])
    (finding,) = audited([elsewhere, *taken[1:]]).findings
    assert ("a document of an unknown kind", 1) == (finding.what, finding.entry)


def without(taken: list[Row], kind: str) -> list[Row]:
    """The first event of a kind is not told."""
    place = next(place for place, row in enumerate(taken) if kind in kinds_of(row))
    row = taken[place]
    told = [event for event in row.events if event.kind != kind]
    return [*taken[:place], row._replace(events=told), *taken[place + 1 :]]


def kinds_of(row: Row) -> set[str]:
    return {event.kind for event in row.events}


@pytest.mark.parametrize("kind", ["floor.set", "order.placed", "lease.ended", "order.cancelled"])
def test_an_event_that_is_missing_does_not_go_unnoticed(kind: str) -> None:
    seed = next(seed for seed in SEEDS if any(kind in kinds_of(row) for row in rows(draw(seed))))
    assert "events are not dense" in {
        one.what for one in audited(without(rows(draw(seed)), kind)).findings
    }


def test_a_running_bill_of_another_history_is_found() -> None:
    drawn = draw(2)
    taken = rows(drawn)
    last = max(seq for seq, row in enumerate(taken) if "lease.started" in kinds_of(row))
    found = report_of(drawn, taken, last).findings
    assert any(
        one.what == "a line of a running bill" and one.tenant and one.line.startswith("lease ")
        for one in found
    )


def test_a_total_that_is_not_the_sum_of_its_lines_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines are right and add up to something else."""
    drawn = draw(BILLED)
    owed = {one.tenant: one.dollars for one in report_of(drawn, rows(drawn)).sums}
    right = billing.Owed.bill
    monkeypatch.setattr(
        billing.Owed,
        "bill",
        lambda owed, lines: msgspec.structs.replace(right(owed, lines), total="7.000000"),
    )
    findings = report_of(drawn, rows(drawn)).findings
    assert {("the total of a running bill, as printed", "7.000000")} == {
        (one.what, one.found) for one in findings
    }
    assert owed == {one.tenant: one.expected for one in findings}


def test_of_every_event_it_is_known_whether_it_charges_anybody() -> None:
    assert EVENT_TYPES == tuple(kind for kind, _ in EVENTS)
    assert {*EVENT_TYPES} == {*Auditor([]).notes, *WITHOUT_MONEY, CLOSED}


def test_nodes_are_numbered_as_the_topology_does() -> None:
    """Names with characters that sort before the slash: `a-b` comes after all nodes below `a`."""
    topology = Topology.of(["a/x/1", "a-b/1", "a/x-1/1", "a/x.2", "b", "a/x/10", "a/x/2"])
    assert list(topology.nodes) == nodes_of(Market(topology).snapshot())


def test_a_kind_of_event_that_is_not_known_is_told() -> None:
    taken = rows(draw(BILLED))
    later = Outcomes(draw(BILLED).genesis)
    _, (rebate,) = later.read(
        taken[-1].at, b"", msgspec.msgpack.encode([1, [[99, 0, 0, "rebate"]]])
    )
    changed = taken[-1]._replace(events=[*taken[-1].events, rebate])
    report = report_of(draw(BILLED), [*taken[:-1], changed])
    assert ({"event 99": 1}, [], False) == (report.unknown, report.findings, report.ok)


# -- from a data folder


def stored(folder: Path, drawn: Drawn) -> Path:
    with Journal.create(folder, drawn.genesis) as journal:
        for begin in range(0, len(drawn.steps), 40):
            some = drawn.steps[begin : begin + 40]
            documents = [
                (index, Document(one.name, one.body))
                for index, step in enumerate(some)
                for one in step.documents
            ]
            journal.append([Entry(step.at, step.request, step.outcome) for step in some], documents)
    return folder


def test_the_command_works_every_invoice_out_again(tmp_path: Path) -> None:
    drawn = draw(BILLED)
    folder = stored(tmp_path / "data", drawn)
    done = CliRunner().invoke(app, ["audit", "bills", "--data", str(folder), "-o", "json"])
    told = json.loads(done.stdout)
    expected = report_of(drawn, rows(drawn))
    assert (0, True, len(drawn.steps)) == (done.exit_code, told["ok"], told["entries"])
    assert (expected.statements, expected.lines, expected.running_lines) == (
        told["statements"],
        told["lines"],
        told["running_lines"],
    )
    assert {one.tenant: dollars(one.charge) for one in expected.sums} == {
        one["tenant"]: one["dollars"] for one in told["sums"]
    }
    shown = CliRunner().invoke(
        app, ["audit", "bills", "--data", str(folder), "--tenant", expected.sums[0].tenant]
    )
    assert 0 == shown.exit_code and "every figure is what the journal makes it" in shown.stdout


def test_the_command_fails_and_names_a_statement_that_was_changed_on_the_disk(
    tmp_path: Path,
) -> None:
    folder = stored(tmp_path / "data", draw(BILLED))
    with closing(sqlite3.connect(folder / "journal.db")) as file, file:
        name, seq, body = file.execute(
            "SELECT name, seq, body FROM documents ORDER BY seq LIMIT 1"
        ).fetchone()
        since, until, lines = read_statement(body)
        lines[0][5] = str(int(lines[0][5]) - 1)
        file.execute(
            "UPDATE documents SET body = ? WHERE name = ? AND seq = ?",
            (written([since, until, lines]), name, seq),
        )
    done = CliRunner().invoke(app, ["audit", "bills", "--data", str(folder), "-o", "json"])
    wrong, broken = json.loads(done.stdout)["findings"]
    assert (1, seq, name) == (done.exit_code, wrong["entry"], f"statement/{wrong['tenant']}")
    assert (" ".join(map(str, lines[0][:3])), 1) == (
        wrong["line"],
        int(wrong["expected"]) - int(wrong["found"]),
    )
    # The journal notices it, too: its chain was not recomputed.
    assert "checksum differs" in broken["found"]


def test_that_bills_were_not_compared_is_told_to_whoever_asks_for_one_tenant_or_one_day_too(
    tmp_path: Path,
) -> None:
    folder = stored(tmp_path / "data", draw(BILLED))
    with closing(sqlite3.connect(folder / "journal.db")) as file, file:
        file.execute("UPDATE groups SET chain = zeroblob(32) WHERE first = 41")
    for narrowed in (
        [],
        ["--tenant", "ann"],
        ["--since", "2020-01-01"],
        ["--tenant", "ann", "--until", "2020-01-01"],
    ):
        done = CliRunner().invoke(
            app, ["audit", "bills", "--data", str(folder), "-o", "json", *narrowed]
        )
        told = [one["what"] for one in json.loads(done.stdout)["findings"]]
        assert (1, ["the journal cannot be replayed, so running bills were not compared"]) == (
            done.exit_code,
            told,
        )


def test_a_tenant_that_is_not_there_is_told(tmp_path: Path) -> None:
    folder = stored(tmp_path / "data", draw(BILLED))
    done = CliRunner().invoke(app, ["audit", "bills", "--data", str(folder), "--tenant", "nobody"])
    assert "found 'nobody'" in str(done.exception)


def test_where_there_is_no_journal_the_command_says_so(tmp_path: Path) -> None:
    """Not with status 1, which means that a bill differs."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "journal.db").write_text("something else")
    for folder, expected in (
        (tmp_path / "nowhere", JournalMissing),
        (tmp_path / "other", JournalForeign),
    ):
        done = CliRunner().invoke(app, ["audit", "bills", "--data", str(folder)])
        assert isinstance(done.exception, expected)


def test_of_a_damaged_journal_the_command_says_where(tmp_path: Path) -> None:
    """Whatever its own reader makes of the damage: it had ended with a traceback where the bytes
    could not be read any more."""
    steps = len(draw(BILLED).steps)
    # one in the middle, and the last, where the reader begins
    groups = {41: 80, (steps - 1) // 40 * 40 + 1: steps}
    for damaged in (
        b"no entries at all",
        msgspec.msgpack.encode([[0, b"", msgspec.msgpack.encode([1, [["ann", 1, {}]], None])]]),
    ):
        for first, last in groups.items():
            folder = stored(tmp_path / f"{damaged.hex()[:8]}-{first}", draw(BILLED))
            with closing(sqlite3.connect(folder / "journal.db")) as file, file:
                file.execute("UPDATE groups SET entries = ? WHERE first = ?", (damaged, first))
            done = CliRunner().invoke(app, ["audit", "bills", "--data", str(folder), "-o", "json"])
            (finding,) = json.loads(done.stdout)["findings"]
            assert (
                1 == done.exit_code
                and "the journal is damaged, so no bill was worked out" == finding["what"]
            )
            assert finding["found"].startswith(f"entries {first} to {last}: the checksum differs")
