"""Bad input is answered clearly and does no harm, and the OpenAPI document keeps its promises."""

from __future__ import annotations

import asyncio
import importlib.util
import re
from collections.abc import Awaitable, Callable

import pytest
from typer.testing import CliRunner

from laissez.server.http.operations import OPERATIONS
from laissez_check import cli
from laissez_check.wire import run as wire
from laissez_check.wire import schema
from laissez_check.wire.bad_inputs import Bad, BadFrames, BadRequest, all_bad_inputs
from laissez_check.wire.market import Market, running

pytestmark = pytest.mark.once

CASES = 2_000  # in all; `laissez check wire` makes any number
INPUTS_MIN = 747  # as many as there are: none gets lost
JSON = "Content-Type: application/json\r\n"
TAKEN = BadRequest(name="taken", detail="expected")


def test_bad_inputs_are_many_and_each_has_a_name_of_its_own() -> None:
    inputs = all_bad_inputs()
    assert len(inputs) == len({one.name for one in inputs}) >= INPUTS_MIN
    assert {True, False} == {one.packed for one in inputs if isinstance(one, BadFrames)}


def test_every_word_of_a_bad_input_is_known() -> None:
    left = re.compile(rb"@([a-z-]+)@|<<\d+\*")
    found = {word for one in all_bad_inputs() for word in left.findall(b"".join(one.pieces))}
    assert {b"tenant-key", b"operator-key", b"cursor"} == found


@pytest.mark.slow
def test_bad_inputs_are_answered_clearly_and_do_no_harm() -> None:
    assert [] == wire.bad_inputs(all_bad_inputs())


@pytest.mark.slow
@pytest.mark.parametrize(("who", "cases"), [("tenant", 1_100), ("operator", 1_000), ("nobody", 50)])
def test_requests_made_from_the_document_are_answered_as_it_says(
    who: str, cases: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every operation succeeds at least once: were all requests refused, the answers that matter
    most would not be looked at."""
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


def test_every_unexpected_answer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these would pass a check that does not look."""
    absent = "/v1/nothing"
    batch = '{"commands":[{"type":"cancel_order","order":"ord_x"}]}'
    wrong: list[Bad] = [
        TAKEN,
        BadRequest(
            name="another detail", path=absent, status=404, code="not_found", detail="no such word"
        ),
        BadRequest(name="another code", path=absent, status=404, code="not_your_order"),
        BadRequest(name="another status", path=absent, status=400, code="not_found"),
        BadRequest(name="taken too", method="POST", path="/v1/batch", headers=JSON, body=batch),
        BadRequest(name="one answer of two", good_before=1),
        BadFrames(name="not refused", frames=[], detail="expected"),
        BadFrames(name="not closed", message="{", closes=1002),
    ]
    monkeypatch.setattr("laissez_check.wire.peers.WITHIN_S", 1.0)

    async def story(market: Market) -> None:
        *each, recorded = await wire.send_all(market, wrong)
        assert [one.name for one in wrong] == [words.partition(":")[0] for words in each]
        assert (
            "after 'not closed': of the last 8, the log of refusals and the journal have 5"
            == recorded
        )

    on_a_market(story)


def test_clients_that_leave_in_the_middle_of_many_answers_leave_no_trace() -> None:
    async def story(market: Market) -> None:
        left = []
        for _ in range(10):
            _, writer = await asyncio.open_connection("127.0.0.1", market.port, limit=1_024)
            writer.transport.pause_reading()  # type: ignore[attr-defined]  # of StreamWriter
            writer.write(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 40)
            left.append(writer)
        await market.state()
        for writer in left:
            writer.transport.abort()
        await market.state()
        market.check_log()

    on_a_market(story)


def test_a_changed_market_is_found() -> None:
    order = '{"alternatives":[{"scope":"gpu","limit":"0.2"}]}'
    placed = BadRequest(name="an order", method="POST", headers=JSON, body=order)

    async def story(market: Market) -> None:
        _, changed = await wire.send_all(market, [placed])
        assert "the market has changed: {'n'" in changed

    on_a_market(story)


def test_without_schemathesis_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    missing = CliRunner().invoke(cli.app, ["wire"])
    words = " ".join(missing.output.replace("│", " ").split())
    assert 2 == missing.exit_code and "pip install 'laissezcloud-proof[check]'" in words
    alone = CliRunner().invoke(cli.app, ["wire", "--cases", "0", "--only", "a key in a trailer"])
    assert 0 == alone.exit_code and alone.stdout.startswith("1 bad inputs, 0 cases, ")


def test_a_failure_comes_with_the_command_that_repeats_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "chosen", lambda only: [TAKEN])
    found = CliRunner().invoke(cli.app, ["wire", "--cases", "0", "--seed", "3"])
    assert 1 == found.exit_code and "taken: expected 400 bad_request" in found.stdout
    assert "again: laissez check wire --cases 0 --seed 3\n" in found.stdout
