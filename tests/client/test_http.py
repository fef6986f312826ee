"""The REST clients: retries, conclusions, pagination and the stream of events."""

from __future__ import annotations

import asyncio
import logging
import pickle
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, assert_type

import httpx
import msgspec
import pytest

from laissez.client import (
    ApiError,
    AsyncClient,
    Client,
    Conflict,
    ConnectionFailed,
    Forbidden,
    HistoryGone,
    LaissezError,
    NotFound,
    OutcomeUnknown,
    RateLimited,
    Refused,
    Unauthenticated,
    Unavailable,
    UnexpectedAnswer,
    retries,
)
from laissez.client.sse import EventStream
from laissez.wire.events import Numbered, OrderCancelled, RateChanged
from laissez.wire.problems import STATUS, Problem
from laissez.wire.views import LeaseDone, Page, Quote

pytestmark = pytest.mark.once

KEY = "lz_4f2a_" + "S" * 43
URL = "http://127.0.0.1:8340"
DONE = httpx.Response(200, content=msgspec.json.encode(LeaseDone("lse_a1", "ended", None, ())))
Step = httpx.Response | type[httpx.RequestError]


@pytest.fixture(autouse=True)
def no_long_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "DELAY_FIRST_S", 0.0001)


def problem(
    code: str,
    retry_after: float | None = None,
    headers: dict[str, str] | None = None,
) -> httpx.Response:
    status = STATUS[code]
    return httpx.Response(
        status,
        content=msgspec.json.encode(Problem(code, "why", status, retry_after=retry_after)),
        headers=headers,
    )


class Script:
    """A server that answers with one step after another, repeats the last, and keeps the
    requests."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.seen: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        if isinstance(step, httpx.Response):
            return httpx.Response(step.status_code, headers=step.headers, content=step.content)
        raise step("lost", request=request)

    @property
    def keys(self) -> set[str | None]:
        return {request.headers.get("Idempotency-Key") for request in self.seen}


def relinquish(script: Script, retries: int = 4) -> LeaseDone:
    """The result of both clients, which must agree."""

    async def awaited() -> LeaseDone:
        async with AsyncClient(
            URL, KEY, retries=retries, transport=httpx.MockTransport(script)
        ) as client:
            return assert_type(await client.relinquish("lse_a1", idempotency_key="mine"), LeaseDone)

    def blocked() -> LeaseDone:
        with Client(URL, KEY, retries=retries, transport=httpx.MockTransport(script)) as client:
            return assert_type(client.relinquish("lse_a1", idempotency_key="mine"), LeaseDone)

    steps = list(script.steps)
    first = outcome(lambda: asyncio.run(awaited()))
    script.steps = steps
    script.seen.clear()
    second = outcome(blocked)
    assert (type(first), str(first)) == (type(second), str(second))
    if isinstance(second, LaissezError):
        raise second
    return second


def outcome(act: Callable[[], LeaseDone]) -> LeaseDone | LaissezError:
    try:
        return act()
    except LaissezError as error:
        return error


@pytest.mark.parametrize(
    "trouble",
    [
        httpx.ConnectError,
        httpx.ReadTimeout,
        httpx.RemoteProtocolError,
        problem("rate_limited", retry_after=0.001),
        problem("overloaded"),
        problem("journal_failed"),
        httpx.Response(502, text="<html>bad gateway</html>"),
    ],
)
def test_a_transient_error_is_retried_with_the_same_key(trouble: Step) -> None:
    script = Script(trouble, trouble, DONE)
    assert "ended" == relinquish(script).state
    assert 3 == len(script.seen)
    assert {"mine"} == script.keys


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("bad_request", Refused),
        ("unauthenticated", Unauthenticated),
        ("forbidden", Forbidden),
        ("not_your_lease", NotFound),
        ("already_filled", Conflict),
        ("history_gone", HistoryGone),
        ("limit_below_bid", Refused),
    ],
)
def test_a_refusal_is_not_retried(code: str, kind: type[ApiError]) -> None:
    script = Script(problem(code))
    with pytest.raises(kind) as refused:
        relinquish(script)
    assert 1 == len(script.seen)
    assert (code, "why", STATUS[code]) == (
        refused.value.code,
        refused.value.detail,
        refused.value.status,
    )


@pytest.mark.parametrize(
    ("steps", "conclusion"),
    [
        ([httpx.ConnectError], ConnectionFailed),
        ([httpx.ReadTimeout], OutcomeUnknown),
        ([httpx.WriteError, httpx.ConnectError], OutcomeUnknown),  # the first may have arrived
        # refused before the key was checked
        ([httpx.ReadTimeout, problem("rate_limited")], OutcomeUnknown),
        ([httpx.ReadTimeout, problem("unauthenticated")], OutcomeUnknown),
        # refused after the check, so it was the first attempt
        ([httpx.ReadTimeout, problem("not_your_lease")], NotFound),
        ([problem("journal_failed")], OutcomeUnknown),
        ([problem("internal")], OutcomeUnknown),
        ([problem("stopping")], Unavailable),
        ([problem("rate_limited")], RateLimited),
    ],
)
def test_retries_end_with_outcome_unknown_only_if_it_is_unknown(
    steps: list[Step], conclusion: type[LaissezError]
) -> None:
    with pytest.raises(conclusion) as ended:
        relinquish(Script(*steps), retries=2)
    if isinstance(ended.value, OutcomeUnknown):
        assert "mine" == ended.value.idempotency_key


def test_an_unanswered_read_is_a_failed_connection() -> None:
    with (
        Client(URL, retries=1, transport=httpx.MockTransport(Script(httpx.ReadTimeout))) as client,
        pytest.raises(ConnectionFailed),
    ):
        client.me()


def test_attempts_are_limited() -> None:
    script = Script(problem("overloaded"))
    with pytest.raises(Unavailable):
        relinquish(script, retries=3)
    assert 4 == len(script.seen)


def test_a_long_retry_after_is_raised_at_once() -> None:
    script = Script(problem("rate_limited", headers={"Retry-After": "3600"}))
    with pytest.raises(RateLimited) as refused:
        relinquish(script)
    assert (1, 3600) == (len(script.seen), refused.value.retry_after)


def test_an_answer_of_another_server_is_an_error() -> None:
    with pytest.raises(UnexpectedAnswer, match="DELETE /v1/leases/lse_a1"):
        relinquish(Script(httpx.Response(200, text="<html>welcome to the wifi</html>")))
    with pytest.raises(ApiError, match="check the URL"):
        relinquish(Script(httpx.Response(302, headers={"Location": "https://elsewhere.example"})))


def test_not_being_ready_is_an_answer() -> None:
    script = Script(httpx.Response(503, json={"status": "starting", "detail": "replaying"}))
    with Client(URL, transport=httpx.MockTransport(script)) as client:
        assert "starting" == client.ready().status
    assert 1 == len(script.seen)


def test_the_key_is_sent_and_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    script = Script(httpx.ReadTimeout)
    with pytest.raises(OutcomeUnknown) as ended:
        relinquish(script, retries=0)
    assert f"Bearer {KEY}" == script.seen[0].headers["Authorization"]
    error: BaseException | None = ended.value
    while error is not None:
        assert KEY not in repr(error) + str(error) + repr(vars(error))
        error = error.__cause__
    assert KEY not in caplog.text


def test_errors_can_be_pickled() -> None:
    for error in (
        RateLimited("rate_limited", "why", 429, 2.0),
        OutcomeUnknown("mine", "no answer"),
    ):
        copy = pickle.loads(pickle.dumps(error))
        assert (str(error), vars(error)) == (str(copy), vars(copy))


def quotes_in_pages(request: httpx.Request) -> httpx.Response:
    page = int(request.url.params.get("cursor", "0"))
    data = tuple(Quote(f"h100/r{page}{item}", "1", "2026-11-15T08:30:00Z") for item in range(2))
    return httpx.Response(
        200, content=msgspec.json.encode(Page(data, page < 2, str(page + 1) if page < 2 else None))
    )


def test_a_list_fetches_its_pages_as_needed() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.params.get("cursor", "the first"))
        return quotes_in_pages(request)

    with Client(URL, transport=httpx.MockTransport(answer)) as client:
        quotes = assert_type(client.quotes(), Iterator[Quote])
        assert [] == asked
        assert "h100/r00" == next(quotes).scope
        assert ["the first"] == asked
        assert ["h100/r01", "h100/r10", "h100/r11", "h100/r20", "h100/r21"] == [
            quote.scope for quote in quotes
        ]


def test_a_list_is_an_async_iterator_too() -> None:
    async def scopes() -> list[str]:
        async with AsyncClient(URL, transport=httpx.MockTransport(quotes_in_pages)) as client:
            quotes = assert_type(client.quotes(), AsyncIterator[Quote])
            return [quote.scope async for quote in quotes]

    assert 6 == len(asyncio.run(scopes()))


def cancelled(n: int) -> Numbered:
    return Numbered(n, OrderCancelled(at="2026-11-15T08:30:00Z", order=f"ord_\u2028{n}"))


def sse_message(n: int) -> bytes:
    return b"id: %d\nevent: order.cancelled\ndata: %s\n\n" % (n, msgspec.json.encode(cancelled(n)))


NOTICE = RateChanged(
    at="2026-11-15T08:30:00Z", lease="lse_a1", leaf="h100/r1/g0", rate="1", limit=None
)
NOTICED = b"event: rate.changed\ndata: %s\n\n" % msgspec.json.encode(NOTICE)


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_events_are_parsed_from_chunks_of_any_size(size: int) -> None:
    stream = (
        b": hello\r\n\r\nid: 4\n\n"
        + sse_message(5)
        + NOTICED
        + b"event: unheard.of\ndata: {}\n\n"
        + sse_message(5)
        + sse_message(6)
        + b"id: 7\ndata: cut"
    )
    parser = EventStream()
    read = [
        one for at in range(0, len(stream), size) for one in parser.feed(stream[at : at + size])
    ]
    assert [cancelled(5), NOTICE, cancelled(6)] == read
    assert 6 == parser.last
    parser.request()
    assert [cancelled(7)] == list(parser.feed(sse_message(7)))


def test_an_id_without_data_moves_the_number_to_resume_after() -> None:
    parser = EventStream()
    assert [] == list(parser.feed(b"id: 17\n\n"))
    assert 17 == parser.last


def events_of(*numbers: int) -> httpx.Response:
    return httpx.Response(200, content=b"".join(sse_message(n) for n in numbers))


def take(count: int, script: Script, after: int | None) -> list[Any]:
    """Events from both clients, which must agree."""

    async def awaited() -> list[Any]:
        found = []
        async with AsyncClient(URL, KEY, transport=httpx.MockTransport(script)) as client:
            async for one in client.follow(after):
                found.append(one)
                if len(found) == count:
                    break
        return found

    steps = list(script.steps)
    first = asyncio.run(awaited())
    script.steps = steps
    script.seen.clear()
    with Client(URL, KEY, transport=httpx.MockTransport(script)) as client:
        second = [one for _, one in zip(range(count), client.follow(after), strict=False)]
    assert first == second
    return second


def test_follow_resumes_after_the_last_event() -> None:
    script = Script(events_of(5, 6), httpx.ConnectError, problem("stopping"), events_of(6, 7))
    assert [cancelled(5), cancelled(6), cancelled(7)] == take(3, script, after=4)
    assert ["4", "6", "6", "6"] == [request.headers["Last-Event-ID"] for request in script.seen]


def test_follow_raises_if_history_is_gone() -> None:
    with pytest.raises(HistoryGone):
        take(1, Script(problem("history_gone")), after=1)


def test_follow_gives_up_after_its_timeout() -> None:
    client = Client(URL, transport=httpx.MockTransport(Script(httpx.ConnectError)))
    with client, pytest.raises(ConnectionFailed):
        next(client.follow(reconnect_timeout_s=0.001))
