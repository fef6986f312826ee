"""Run schemathesis on a running market: requests made from the OpenAPI document, valid and invalid,
with every check that it has.

A tenant and the operator use the operations that their keys allow; a caller without a key tries
all. Streams never end, so they are not opened: without `Accept: text/event-stream`, which the
document does not name as a parameter, the same paths answer with pages.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import msgspec

from laissez.server.http.operation import Operation
from laissez.server.http.operations import OPERATIONS
from laissez_check.wire.adjust import Adjust
from laissez_check.wire.market import Market

ASKING = ("tenant", "operator", "nobody")
COVERAGE_CASES = 2_500  # about
PHASES = ("examples", "coverage", "fuzzing", "stateful")
SHOWN, SENT_SHOWN = 300, 1_000  # characters of an answer and of what was sent
# Statuses for requests that are valid by their schema. Beside schemathesis' own: 402 (no money),
# 410 (no longer kept), 413 (schemas count letters, the service bytes) and 422 (readable, but
# impossible).
POSITIVE = ["2xx", "401", "402", "403", "404", "409", "410", "413", "422", "429"]
NEGATIVE = ["400", "401", "403", "404", "405", "406", "409", "410", "413", "415", "422", "429"]
# An instance that was stopped is shown as such: it is not gone.
NO_FAILURE = {"GET /v1/instances/{id}": ("use_after_free",)}


class Part(msgspec.Struct, frozen=True):
    """One run of schemathesis; `examples` is the number of random cases per operation."""

    who: str
    operations: tuple[Operation, ...]
    phases: tuple[str, ...]
    examples: int


def parts(cases: int) -> list[Part]:
    """The runs for about this many cases. The phase `coverage` tries every bound of every field;
    the other cases are random."""
    tenants = tuple(one for one in OPERATIONS if not one.of_operator and one.scopes != ("operate",))
    operators = tuple(one for one in OPERATIONS if one.scopes is not None and one not in tenants)
    shared = tuple(one for one in tenants if one.scopes == ("read",))
    each = max(1, (cases - COVERAGE_CASES) // (2 * len(OPERATIONS)))
    stateful = max(3, each // 2)
    return [
        Part("tenant", tenants, PHASES[:3], each),
        Part("operator", operators, PHASES[:3], each),
        Part("operator", shared, ("fuzzing",), each),
        Part("nobody", OPERATIONS, ("fuzzing",), max(1, each // 4)),
        Part("tenant", tenants, ("stateful",), stateful),
        Part("operator", operators, ("stateful",), stateful),
    ]


def run(
    market: Market,
    cases: int,
    seed: int,
    tell: Callable[[int], None] = lambda done: None,
    asking: tuple[str, ...] = ASKING,
) -> tuple[int, list[str]]:
    """The number of cases, and the findings."""
    count = 0
    found: list[str] = []
    for part in [part for part in parts(cases) if part.who in asking]:
        succeeded: set[str] = set()
        for event in _events(market, part, seed):
            if hasattr(event, "recorder"):
                count += len(event.recorder.cases)
                succeeded |= operations_done(event.recorder)
                found += _failures(part, event.recorder)
                tell(count)
            elif hasattr(event, "info"):
                words = event.info.format()[:SENT_SHOWN]
                found.append(f"{part.who}: schemathesis itself failed: {words}")
        if not succeeded:
            found.append(
                f"{part.who}, {', '.join(part.phases)}: expected some requests to be answered with"
                " 2xx, found none: nothing was tried"
            )
    return count, list(dict.fromkeys(found))


def operations_done(recorder: Any) -> set[str]:
    """The operations of which a case was answered with success."""
    return {
        recorder.cases[id].value.operation.definition.raw["operationId"]
        for id, one in recorder.interactions.items()
        if one.response is not None and one.response.status_code < 300
    }


def _events(market: Market, part: Part, seed: int) -> Iterator[Any]:
    import schemathesis
    from schemathesis.config import SchemathesisConfig
    from schemathesis.engine import from_schema
    from schemathesis.hooks import unregister

    config = SchemathesisConfig.from_dict(_config(market, part, seed))
    adjust = Adjust(part.who == "operator", market.key_ids, market.tenant_key)
    # a proxy that the environment names is not asked: the server is on this machine
    with mock.patch.dict(os.environ, {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}):
        url = f"{market.server.url}/openapi.json"
        schema = schemathesis.openapi.from_url(url, config=config)
        chosen = schema.include(operation_id=[operation.name for operation in part.operations])
        # there is no such hook of one schema, and the others are not asked in every phase
        schemathesis.hook("before_call")(adjust)
        try:
            yield from from_schema(chosen).execute()
        finally:
            unregister(adjust)


def _config(market: Market, part: Part, seed: int) -> dict[str, Any]:
    keys = {"tenant": market.tenant_key, "operator": market.operator_key}
    key = keys.get(part.who)
    phases: dict[str, Any] = {phase: {"enabled": phase in part.phases} for phase in PHASES}
    phases["coverage"]["unexpected-methods"] = ["PUT", "TRACE"]
    return {
        "seed": seed,
        "workers": 1,
        "base-url": market.server.url,
        "suppress-health-check": ["all"],
        "continue-on-failure": True,
        "request-timeout": 20.0,
        "auth": {"openapi": {"key": {"bearer": key}}} if key else {},
        "cache": {"enabled": False},
        "generation": {"max-examples": part.examples, "no-shrink": True, "database": "none"},
        "phases": phases,
        "checks": {
            "positive_data_acceptance": {"expected-statuses": POSITIVE},
            "negative_data_rejection": {"expected-statuses": NEGATIVE},
        },
    }


def _failures(part: Part, recorder: Any) -> Iterator[str]:
    for case_id, checks in recorder.checks.items():
        tolerated = NO_FAILURE.get(recorder.cases[case_id].value.operation.label, ())
        for check in checks:
            if check.failure_info is None or check.name in tolerated:
                continue
            failure = check.failure_info.failure
            response = recorder.interactions[case_id].response
            answer = "nothing"
            if response is not None:
                body = response.content[:SHOWN].decode(errors="replace")
                answer = f"{response.status_code} {body}"
            yield (
                f"{part.who}, {recorder.label}: {check.name}: {failure.title}: {failure.message}\n"
                f"  answered: {answer}\n"
                f"  sent: {check.failure_info.code_sample[:SENT_SHOWN]}"
            )
