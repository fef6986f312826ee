"""schemathesis on a running market: requests made from the OpenAPI document, good ones and bad
ones, with every check that it has.

Who asks: a tenant and the operator, each for what their keys allow, and nobody, for everything.
Streams never end, so they are not opened: without `Accept: text/event-stream`, which the document
does not name as a parameter, the same addresses answer with pages.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from laissez.server.http.operation import Operation
from laissez.server.http.operations import OPERATIONS
from laissez_check.wire.market import Market
from laissez_check.wire.possible import Possible

ASKING = ("tenant", "operator", "nobody")
PER_OPERATION_MIN = 1
STATEFUL_MIN = 3
UNEXPECTED = ("PUT", "TRACE")  # methods that are tried where they are none
SHOWN, SENT_SHOWN = 300, 1_000  # characters of an answer and of what was sent
# What a request that is right by its schema may be answered with. Beside schemathesis' own: 402 (no
# money), 410 (no longer kept), 413 (schemas count letters and items, the service bytes) and 422
# (can be read, cannot be).
POSITIVE = ["2xx", "401", "402", "403", "404", "409", "410", "413", "422", "429"]
NEGATIVE = ["400", "401", "403", "404", "405", "406", "409", "410", "413", "415", "422", "429"]


# An instance that was stopped is shown as such: it is not gone.
NO_FAILURE = {"GET /v1/instances/{id}": ("use_after_free",)}


class Part(msgspec.Struct, frozen=True):
    """One run of schemathesis: who asks for which operations, in which of its phases, with how many
    random cases for each."""

    who: str
    key: str | None
    operations: tuple[Operation, ...]
    phases: tuple[str, ...]
    examples: int


def parts(market: Market, cases: int) -> list[Part]:
    """`coverage` makes a case of every bound of every field, about 3,000 in all; what is asked for
    beyond that is drawn at random."""
    tenants = tuple(one for one in OPERATIONS if not one.of_operator and one.scopes != ("operate",))
    operators = tuple(one for one in OPERATIONS if one.scopes is not None and one not in tenants)
    shared = tuple(one for one in tenants if one.scopes == ("read",))
    each = max(PER_OPERATION_MIN, (cases - 2_500) // (2 * len(OPERATIONS)))
    drawn, whole = ("fuzzing",), ("examples", "coverage", "fuzzing")
    return [
        Part("tenant", market.tenant_key, tenants, whole, each),
        Part("operator", market.operator_key, operators, whole, each),
        Part("operator", market.operator_key, shared, drawn, each),
        Part("nobody", None, OPERATIONS, drawn, max(1, each // 4)),
        Part("tenant", market.tenant_key, tenants, ("stateful",), max(STATEFUL_MIN, each // 2)),
        Part(
            "operator", market.operator_key, operators, ("stateful",), max(STATEFUL_MIN, each // 2)
        ),
    ]


def run(
    market: Market,
    cases: int,
    seed: int,
    tell: Callable[[int], None] = lambda done: None,
    asking: tuple[str, ...] = ASKING,
) -> tuple[int, list[str]]:
    """How many cases there were, and what was found."""
    with _direct():
        return _run(market, cases, seed, tell, asking)


@contextmanager
def _direct() -> Iterator[None]:
    """A proxy that the environment names is not asked: the server is on this machine."""
    before = {name: os.environ.get(name) for name in ("NO_PROXY", "no_proxy")}
    os.environ.update(dict.fromkeys(before, "127.0.0.1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _run(
    market: Market, cases: int, seed: int, tell: Callable[[int], None], asking: tuple[str, ...]
) -> tuple[int, list[str]]:
    count, found = 0, []
    for part in [part for part in parts(market, cases) if part.who in asking]:
        succeeded: set[str] = set()
        for event in _events(market, part, seed):
            if hasattr(event, "recorder"):
                count += len(event.recorder.cases)
                succeeded |= operations_done(event.recorder)
                found += list(_failures(part, event.recorder))
                tell(count)
            elif hasattr(event, "info"):
                found.append(
                    f"{part.who}: schemathesis itself failed: {event.info.format()[:SENT_SHOWN]}"
                )
        if not succeeded:
            found.append(
                f"{part.who}, {', '.join(part.phases)}: expected some requests to be answered with"
                " 2xx, found none: nothing was tried"
            )
    return count, list(dict.fromkeys(found))


def operations_done(recorder: Any) -> set[str]:
    """The operations of which a case was answered with success."""
    answered = (
        (recorder.cases[id].value, one.response) for id, one in recorder.interactions.items()
    )
    return {
        case.operation.definition.raw["operationId"]
        for case, response in answered
        if response is not None and response.status_code < 300
    }


def _events(market: Market, part: Part, seed: int) -> Iterator[Any]:
    import schemathesis
    from schemathesis.engine import from_schema
    from schemathesis.hooks import unregister

    schema = schemathesis.openapi.from_url(
        f"{market.server.url}/openapi.json", config=_config(market, part, seed)
    )
    chosen = schema.include(operation_id=[operation.name for operation in part.operations])
    possible = Possible(part.who == "operator", market.key_ids, market.tenant_key)
    # there is no such hook of one schema, and the others are not asked in every phase
    schemathesis.hook("before_call")(possible)
    try:
        yield from from_schema(chosen).execute()
    finally:
        unregister(possible)


def _config(market: Market, part: Part, seed: int) -> Any:
    from schemathesis.config import SchemathesisConfig

    every = ("examples", "coverage", "fuzzing", "stateful")
    return SchemathesisConfig.from_dict(
        {
            "seed": seed,
            "workers": 1,
            "base-url": market.server.url,
            "suppress-health-check": ["all"],
            "continue-on-failure": True,
            "request-timeout": 20.0,
            **({} if part.key is None else {"auth": {"openapi": {"key": {"bearer": part.key}}}}),
            "cache": {"enabled": False},
            "generation": {"max-examples": part.examples, "no-shrink": True, "database": "none"},
            "phases": {
                **{phase: {"enabled": phase in part.phases} for phase in every},
                "coverage": {
                    "enabled": "coverage" in part.phases,
                    "unexpected-methods": list(UNEXPECTED),
                },
            },
            "checks": {
                "positive_data_acceptance": {"expected-statuses": POSITIVE},
                "negative_data_rejection": {"expected-statuses": NEGATIVE},
            },
        }
    )


def _failures(part: Part, recorder: Any) -> Iterator[str]:
    for case_id, checks in recorder.checks.items():
        for check in checks:
            if check.failure_info is not None and check.name not in NO_FAILURE.get(
                recorder.cases[case_id].value.operation.label, ()
            ):
                response = recorder.interactions[case_id].response
                answer = (
                    "nothing"
                    if response is None
                    else (
                        f"{response.status_code}"
                        f" {response.content[:SHOWN].decode(errors='replace')}"
                    )
                )
                sent = check.failure_info.code_sample
                words = f"{check.failure_info.failure.title}: {check.failure_info.failure.message}"
                yield (
                    f"{part.who}, {recorder.label}: {check.name}: {words}\n  answered: {answer}\n "
                    f" sent: {sent[:SENT_SHOWN]}"
                )
