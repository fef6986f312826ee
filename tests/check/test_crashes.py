"""Killing the real server, and what it kept; faults put into it on purpose, and that they are
found."""

from __future__ import annotations

import asyncio
import json
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from laissez.client.errors import Unauthenticated
from laissez_check import cli
from laissez_check.crashes import clients
from laissez_check.crashes import run as crashes
from laissez_check.crashes.clients import Lost, Session
from laissez_check.crashes.ledger import Asked, Ledger
from laissez_check.crashes.served import FAULTS, entry_of
from laissez_check.started_server import Entry

pytestmark = pytest.mark.once


@pytest.fixture(autouse=True)
def data_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of failed runs are kept; here they go with the test's own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.mark.slow
def test_twenty_kills_lose_nothing_that_anyone_was_told() -> None:
    outcome = crashes.run(20, seed=7)
    assert outcome.failure is None
    assert outcome.counted["kills"] >= 20
    assert outcome.counted["answers"] > 500
    assert outcome.counted["bills"] > 20


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_put_in_on_purpose_is_found(fault: str) -> None:
    """`early`: acknowledged before it is stored; `forgetful`: a restart forgets ids; `behind`: a
    restart forgets the latest commands."""
    outcome = crashes.run(20, seed=1, entry=entry_of(fault))
    assert outcome.failure is not None
    assert "again: laissez check crashes --kills 20 --seed 1" in outcome.failure


@pytest.mark.slow
def test_a_server_that_does_not_start_is_a_finding() -> None:
    outcome = crashes.run(1, seed=0, entry=Entry(variables={"LAISSEZ_SERVER__PORT": "none"}))
    assert outcome.failure is not None
    assert "the server did not start" in outcome.failure


@pytest.mark.parametrize("is_killed", [True, False])
def test_answers_may_be_late_only_where_the_server_was_killed_again(
    is_killed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill while they were awaited, before the next start, was taken for a session that got no
    answer."""

    async def story() -> list[str]:
        ledger, down = Ledger(("bob",)), asyncio.Event()
        session = Session(ledger, "bob", "http://127.0.0.1:9", "secret", down, "json")
        monkeypatch.setattr(session._session, "drain", asyncio.Event().wait)
        if is_killed:
            asyncio.get_running_loop().call_soon(down.set)
        with suppress(Lost):
            await session.drain()
        return ledger.broken

    monkeypatch.setattr(clients, "ANSWER_WITHIN_S", 0.2)
    assert bool(asyncio.run(story())) is not is_killed


def test_a_session_that_ended_by_itself_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> list[str]:
        ledger = Ledger(("bob",))
        session = Session(ledger, "bob", "http://127.0.0.1:9", "secret", asyncio.Event(), "json")

        def send(_: object) -> None:
            raise Unauthenticated("unauthenticated", "expected a valid key", 401)

        monkeypatch.setattr(session._session, "send", send)
        with pytest.raises(Lost):
            await session.send(Asked("bob", "x", {"type": "cancel_order", "order": "ord_1"}))
        return ledger.broken

    (found,) = asyncio.run(story())
    assert found.startswith("a session of bob ended: Unauthenticated(")


def test_a_failure_is_shown_and_leaves_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        crashes,
        "run",
        lambda kills, seed, tell: crashes.Outcome(
            {"kills": 3}, f"lost\nagain: --kills {kills} --seed {seed}"
        ),
    )
    result = CliRunner().invoke(cli.app, ["crashes", "--kills", "5", "--seed", "9", "-o", "json"])
    assert (1, 3) == (result.exit_code, json.loads(result.stdout)["kills"])
    assert "again: --kills 5 --seed 9" in json.loads(result.stdout)["failure"]
