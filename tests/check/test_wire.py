"""The wire: what is wrong is answered clearly and does no harm, and what the OpenAPI document
promises is so."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Awaitable, Callable

import pytest
from typer.testing import CliRunner

from laissez.server.http.operations import OPERATIONS
from laissez_check import cli
from laissez_check.wire import inputs as wire_inputs
from laissez_check.wire import run as wire
from laissez_check.wire import schema
from laissez_check.wire.bad_inputs import Frames, Refused, Request, Wanted, bad, request
from laissez_check.wire.market import Market, running

pytestmark = pytest.mark.once

CASES = 2_000  # in all; `laissez check wire` makes any number
INPUTS_MIN = 300


def test_bad_inputs_are_many_and_each_has_a_name_of_its_own() -> None:
    quick, slow = wire_inputs.inputs()
    names = [one.name for one in (*quick, *slow)]
    assert len(names) == len(set(names)) >= INPUTS_MIN
    assert {True, False} == {one.packed for one in quick if isinstance(one, Frames)}


def test_bad_inputs_are_answered_clearly_and_do_no_harm() -> None:
    sent, found = wire.bad_inputs()
    assert [] == found and sent >= INPUTS_MIN


@pytest.mark.parametrize(("who", "cases"), [("tenant", 1_100), ("operator", 1_000), ("nobody", 50)])
def test_requests_made_from_the_document_are_answered_as_it_says(
    who: str, cases: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those that succeed, of every operation: were all refused, the answers that matter most
    would not be looked at."""
    done: set[str] = set()
    operations_done = schema.operations_done

    def noted(recorder: object) -> set[str]:
        here = operations_done(recorder)
        done.update(here)
        return here

    monkeypatch.setattr(schema, "operations_done", noted)
    made, found = wire.schema_cases(CASES, 0, (who,))
    assert [] == found and made >= cases
    operators = [one for one in OPERATIONS if one.of_operator or one.scopes == ("operate",)]
    theirs = {
        one.name
        for one in OPERATIONS
        if one.scopes is not None and who == ("operator" if one in operators else "tenant")
    }
    assert set() == theirs - done


def on_a_market(story: Callable[[Market], Awaitable[None]]) -> None:
    async def tell() -> None:
        async with running() as market:
            await story(market)

    asyncio.run(tell())


def test_what_is_not_as_expected_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these would pass a check that does not look."""
    good = request("GET", "/v1/orders")
    cancelled = request(
        "POST",
        "/v1/batch",
        b"Content-Type: application/json\r\n",
        b'{"commands":[{"type":"cancel_order","order":"ord_x"}]}',
    )
    wrong: list[Request | Frames] = [
        bad("taken", good, "expected"),
        bad("another word", request("GET", "/v1/nothing"), "no such word", 404, "not_found"),
        bad(
            "another code", request("GET", "/v1/nothing"), "there is nothing", 404, "not_your_order"
        ),
        bad("taken too", cancelled, ""),
        Request("two answers", (good,), Wanted(400, "bad_request", ""), good_before=1),
        Frames("not refused", (), Refused("bad_request", "expected")),
    ]
    monkeypatch.setattr(wire_inputs, "inputs", lambda only: (wrong, []))
    monkeypatch.setattr("laissez_check.wire.peers.WITHIN_S", 1.0)

    async def story(market: Market) -> None:
        sent, found = await wire_inputs.send_all(market)
        *each, recorded = found
        assert [one.name for one in wrong] == [
            words.partition(":")[0] for words in each
        ] and sent == len(wrong)
        assert (
            "after 'not refused': of the last 6, the log of refusals and the journal have 3"
            == recorded
        )

    on_a_market(story)


def test_whoever_leaves_in_the_middle_of_many_answers_leaves_no_trace() -> None:
    async def story(market: Market) -> None:
        left = []
        for _ in range(10):
            _, writer = await asyncio.open_connection("127.0.0.1", market.port, limit=1_024)
            writer.transport.pause_reading()  # type: ignore[attr-defined]  # of a stream that is read
            writer.write(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 40)
            left.append(writer)
        await market.state()
        for writer in left:
            writer.transport.abort()
        await market.state()
        market.check_log()

    on_a_market(story)


def test_a_market_that_has_changed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    placed = request(
        "POST",
        "/v1/orders",
        b"Content-Type: application/json\r\n",
        b'{"alternatives":[{"scope":"gpu","limit":"0.2"}]}',
    )
    monkeypatch.setattr(
        wire_inputs, "inputs", lambda only: ([bad("an order", placed, "expected")], [])
    )

    async def story(market: Market) -> None:
        _, found = await wire_inputs.send_all(market)
        assert 2 == len(found) and "the market has changed: {'n'" in found[1]

    on_a_market(story)


def test_the_command_says_how_much_was_sent_and_without_schemathesis_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    missing = CliRunner().invoke(cli.app, ["wire"])
    assert 2 == missing.exit_code and "pip install 'laissezcloud-proof[check]'" in " ".join(
        missing.output.replace("│", " ").split()
    )
    alone = CliRunner().invoke(cli.app, ["wire", "--cases", "0", "--only", "a key in a trailer"])
    assert 0 == alone.exit_code and alone.stdout.startswith("1 bad inputs, 0 cases, ")


def test_a_failure_is_told_with_the_command_that_repeats_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        wire_inputs,
        "inputs",
        lambda only: ([bad("taken", request("GET", "/v1/orders"), "expected")], []),
    )
    found = CliRunner().invoke(cli.app, ["wire", "--cases", "0", "--seed", "3"])
    assert (
        1 == found.exit_code
        and "taken: expected" in found.stdout
        and "again: laissez check wire --cases 0 --seed 3\n" in found.stdout
    )
