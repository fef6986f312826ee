"""Access to a real server, and the facts that are hidden from a tenant. Faults put in on purpose
are noticed."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from laissez.exchange import caps
from laissez.exchange.accounts import Account
from laissez.exchange.events import Applied
from laissez.exchange.exchange import Exchange
from laissez.exchange.refusals import Denial, Refusal
from laissez.market import Market, OrderPlaced
from laissez.market.reasons import Reason
from laissez.server import spending
from laissez.server.event_log import EventLog
from laissez.server.http.operations import OPERATIONS as SERVED
from laissez.server.webhooks.delivery import Batch, Deliverer
from laissez.server.webhooks.endpoints import Endpoint
from laissez.server.websocket.session import Session
from laissez.units import format_time
from laissez.wire.session import CLOSE_UNAUTHENTICATED, Heartbeat
from laissez_check import cli
from laissez_check.access import interference
from laissez_check.access import run as access
from laissez_check.access.matrix import in_session, unknown, unlisted
from laissez_check.access.pair_service import FOUNDED_US
from laissez_check.access.pairs import ACTIONS, draw_pair
from laissez_check.access.table import MESSAGES, OPERATIONS, Row
from laissez_check.faulty_server import ACCESS_FAULTS, entry_with
from laissez_check.finding import Outcome
from laissez_check.started_server import Entry
from support.secrecy import WATCH

pytestmark = pytest.mark.once


@pytest.fixture(autouse=True)
def data_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def findings(outcome: Outcome) -> list[str]:
    return (outcome.failure or "").splitlines()


@pytest.mark.slow
def test_every_caller_gets_what_the_table_says() -> None:
    outcome = access.run()
    assert outcome.failure is None
    answers = outcome.details["tried"]
    tried = {one.name for one in SERVED} | {in_session(kind) for kind in MESSAGES}
    tried |= {"createWebhook with history", "hello in a session with history"}
    assert tried <= set(answers)
    for kind in MESSAGES:
        assert CLOSE_UNAUTHENTICATED == answers[in_session(kind)]["no key"]
    for name, row in OPERATIONS.items():
        assert row.may is None or 401 == answers[name]["no key"]


def test_a_server_that_allows_or_tells_too_much_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(OPERATIONS, "getDocs")
    monkeypatch.setitem(OPERATIONS, "readMinds", Row(None))
    only = frozenset({"getMarket", "cancelOrder", "createWebhook"})
    found = findings(access.run(entry_with(*ACCESS_FAULTS), only))
    expected = (
        "operation getDocs: access/table.py has no row for it",
        "operation readMinds: access/table.py has a row too many",
        "getMarket by reader: expected 403, found 200",
        "cancelOrder by other, of a thing that never existed: expected Answer(status=404",
        "createWebhook with history by trader: expected 403, found 201",
        "the log holds a secret",
        "the log holds a price",
        "a metric holds a price",
        "a foreign price is told: DELETE /v1/orders/",
    )
    missed = [one for one in expected if not any(finding.startswith(one) for finding in found)]
    assert [] == missed
    WATCH.look_into_files()  # the watch over the whole run sees that log, too
    assert {"laissez.http: a request", "laissez.gateway: applied"} == {
        words
        for finding in WATCH.new_findings()
        for words in re.findall(r"laissez\.http: a request|laissez\.gateway: applied", finding)
    }


def test_a_change_by_a_caller_that_may_not_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a table that allows less than the server does."""
    monkeypatch.setitem(OPERATIONS, "setBudget", Row(frozenset(), {"amount": "100"}))
    found = findings(access.run(only=frozenset({"setBudget"})))
    assert "setBudget by mine: expected 403, found 200" in found
    assert "setBudget: forbidden callers changed something" in found


def test_a_server_that_does_not_start_is_a_finding() -> None:
    found = access.run(Entry(variables={"LAISSEZ_SERVER__PORT": "none"})).failure
    assert found is not None and "the server did not start" in found


def test_a_missing_row_and_a_row_too_many_are_findings() -> None:
    assert [
        "message a: access/table.py has no row for it",
        "message c: access/table.py has a row too many",
    ] == unlisted({"a", "b"}, {"b", "c"}, "message")


@pytest.mark.parametrize("name", ["ord_h5gv4yoo12", "key_0011223344556677", "gpu/b", "owner-of-it"])
def test_an_unknown_name_is_as_long_as_a_known_one(name: str) -> None:
    assert unknown(name) != name and len(unknown(name)) == len(name)


def test_the_command_shows_the_table_and_a_finding_exits_with_1(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    finding = "getMe by no key: expected 401, found 200"
    answers = {"getMe": {"no key": 200, "mine": 200}}
    tried = Outcome({"requests": 3}, finding, {"tried": answers})
    paired = Outcome({"pairs": 7})
    monkeypatch.setattr(access, "run", lambda tell: tried)
    monkeypatch.setattr(interference, "run", lambda pairs, seed, tell: paired)
    shown = CliRunner().invoke(cli.app, ["access", "--pairs", "7"])
    assert 1 == shown.exit_code
    assert ["getMe", "200", "200"] == shown.stdout.splitlines()[1].split()
    assert finding == shown.stdout.splitlines()[-1]
    told = json.loads(CliRunner().invoke(cli.app, ["access", "--pairs", "7", "-o", "json"]).stdout)
    assert {"requests": 3, "pairs": 7, "tried": answers, "failure": finding}.items() <= (
        told.items()
    )


# -- what a tenant may not see


def test_worlds_that_look_the_same_to_a_tenant_tell_it_the_same_bytes() -> None:
    outcome = interference.run(3, seed=61)
    counted = outcome.counted
    assert outcome.failure is None
    assert counted["hidden commands"] > 20
    assert counted["answers"] > 400 and counted["budgets spent"] > 2
    said = b"".join(interference.transcripts(draw_pair(61))[0])
    for words in (b"cap_exceeded", b"budget_spent", b"\r\nwebhook-id: whk_", b'"state":"retrying"'):
        assert words in said


def alter_outcomes(
    monkeypatch: pytest.MonkeyPatch, alter: Callable[[Exchange, Applied], Applied]
) -> None:
    """Alter the outcome of every command. The exchange may be compiled, so no function that it
    calls can be replaced."""
    apply = Exchange.apply
    monkeypatch.setattr(
        Exchange, "apply", lambda self, at, request: alter(self, apply(self, at, request))
    )


@pytest.mark.sources
def test_ids_that_count_over_all_tenants_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def over_all(exchange: Exchange, applied: Applied) -> Applied:
        placed = sum(exchange.market.counts(name).orders_placed for name in exchange.accounts)
        events = [
            replace(one, order=placed) if isinstance(one, OrderPlaced) else one
            for one in applied.events
        ]
        return replace(applied, events=tuple(events))

    alter_outcomes(monkeypatch, over_all)
    failure = interference.run(3, seed=5).failure
    assert failure is not None and "again: laissez check access --pairs 1 --seed " in failure


@pytest.mark.sources
def test_events_forgotten_because_of_others_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Old events once were forgotten only when another one happened."""
    add, forget = EventLog.add, EventLog.forget

    def add_and_forget(self: EventLog, at: int, *more: Any) -> None:
        add(self, at, *more)
        forget(self, at)

    monkeypatch.setattr(EventLog, "forget", lambda self, now: None)
    monkeypatch.setattr(EventLog, "add", add_and_forget)
    # events that are gone are dead letters
    assert "GET /v1/webhooks" in str(interference.compare(*interference.transcripts(draw_pair(77))))


def test_a_heartbeat_with_the_number_of_all_events_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = interference.transcripts(draw_pair(61))
    # the session that resumes is heard, too
    assert first == second and any(b'"welcome"' in line and b'"again"' in line for line in first)

    def beat(self: Session) -> None:
        self._gateway.when_durable(self.deliver, Heartbeat(n=self._gateway.durable))

    monkeypatch.setattr(Session, "beat", beat)
    assert "heartbeat" in str(interference.compare(*interference.transcripts(draw_pair(61))))


def alter_refusals(
    monkeypatch: pytest.MonkeyPatch,
    reason: Reason | Denial,
    alter: Callable[[Refusal, int], Refusal],
) -> None:
    def altered(exchange: Exchange, applied: Applied) -> Applied:
        refusal = applied.refusal
        if refusal is None or refusal.reason is not reason:
            return applied
        return replace(applied, refusal=alter(refusal, len(exchange.market.orders())))

    alter_outcomes(monkeypatch, altered)


@pytest.mark.sources
def test_a_refusal_that_tells_of_others_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    alter_refusals(
        monkeypatch, Reason.NOT_YOUR_ORDER, lambda one, others: replace(one, subject=str(others))
    )
    assert "there is no open order" in str(interference.run(3, seed=61).failure)


@pytest.mark.sources
def test_a_cap_that_counts_orders_of_others_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_all(market: Market, account: Account, at: int) -> caps.Spending:
        return caps.spending(market, account, at)._replace(rate=len(market.orders()))

    monkeypatch.setattr(spending, "spending_per_hour", of_all)
    assert "/v1/caps)" in str(interference.run(3, seed=61).failure)


@pytest.mark.sources
def test_a_refused_cap_that_counts_orders_of_others_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alter_refusals(
        monkeypatch,
        Denial.RATE_CAP,
        lambda one, others: replace(one, numbers=(others, *one.numbers[1:])),
    )
    assert "your cap is 0" in str(interference.run(3, seed=61).failure)


def test_a_delivery_that_tells_of_others_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    send = Deliverer._send

    async def by_all_events(self: Deliverer, endpoint: Endpoint, batch: Batch) -> None:
        events = tuple(replace(one, n=self._gateway.exchange.events) for one in batch.events)
        await send(self, endpoint, Batch(events, batch.through))

    monkeypatch.setattr(Deliverer, "_send", by_all_events)
    assert "(POST /hook?of=mine HTTP/1.1" in str(interference.run(3, seed=61).failure)


def test_every_drawn_budget_acts_at_its_time_in_both_worlds() -> None:
    """Otherwise the worlds need not look the same afterwards."""
    acted = set()
    for pair in (draw_pair(61), draw_pair(66)):
        spends = [moment.spends for moment in pair.moments if moment.spends is not None]
        first, second = interference.transcripts(pair)
        assert interference.compare(first, second) is None
        told = [
            msgspec.json.decode(line.partition(b"data: ")[2])["event"]
            for line in first
            if line.startswith(b"id: ") and b'"budget.spent"' in line
        ]
        found = [(event["action"], event["at"]) for event in told if event["action"] != "warn"]
        assert [(one.action, format_time(FOUNDED_US + one.until)) for one in spends] == found
        acted |= {one.action for one in spends}
    assert set(ACTIONS) == acted


def test_a_longer_transcript_is_noticed() -> None:
    assert "told more" in str(interference.compare([b"a"], [b"a", b"b"]))
    assert interference.compare([b"a"], [b"a"]) is None
