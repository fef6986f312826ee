"""The first part of `laissez check access`: every operation, as every caller, on a real server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import httpx
from msgspec.structs import replace
from websockets.exceptions import WebSocketException

from laissez.server.beside import FILE as BESIDE
from laissez_check.access.client import Client, tells_price
from laissez_check.access.matrix import (
    Operation,
    Record,
    try_commands_and_messages,
    try_operations,
)
from laissez_check.access.probes import probe
from laissez_check.access.table import KEYED, OPERATOR
from laissez_check.access.world import World
from laissez_check.finding import Finding, Outcome
from laissez_check.started_server import Entry, Server, running

SHOWN = ("no key", "revoked", *KEYED)
LINE_SHOWN = 200  # characters of a log that tells too much
# Books stay open, because closing them is an event that no request causes.
VARIABLES = {
    "LAISSEZ_SERVER__LOG_LEVEL": "debug",
    "LAISSEZ_BOOKS__CLOSE_AFTER_COMMANDS": "1000000",
    "LAISSEZ_WEBHOOKS__ALLOW_HTTP": "true",
    "LAISSEZ_WEBHOOKS__ALLOW_ADDRESSES": "127.0.0.1/32",
}


def table(answers: dict[str, dict[str, int]]) -> str:
    """The statuses of the most important callers. The JSON has all."""
    widest = max(map(len, answers), default=0)
    rows: dict[str, dict[str, Any]] = {"": {caller: caller for caller in SHOWN}, **answers}
    return "\n".join(
        "  ".join([f"{name:<{widest}}", *(f"{row.get(one, ''):>9}" for one in SHOWN)])
        for name, row in rows.items()
    )


def run(
    entry: Entry = Entry(),  # noqa: B008  frozen
    only: frozenset[str] = frozenset(),
    tell: Callable[[int], None] = lambda operations: None,
) -> Outcome:
    """The whole matrix, or `only` some operations of it, on a new server."""
    entry = replace(entry, variables={**VARIABLES, **entry.variables})
    return asyncio.run(_run(entry, only, tell))


async def _run(entry: Entry, only: frozenset[str], tell: Callable[[int], None]) -> Outcome:
    record = Record()
    asked = 0
    try:
        async with running(entry) as server, aclosing(Client(server.port)) as client:
            try:
                await _try_all(server, client, record, only, tell)
            except (OSError, TimeoutError, httpx.HTTPError, WebSocketException) as error:
                unanswered = f"the server did not answer: {error!r}\n{server.log_end()}"
                record.findings.append(unanswered)
            asked = client.asked
    except Finding as finding:
        record.findings.append(str(finding))
    callers = {caller for statuses in record.statuses.values() for caller in statuses}
    counted = {
        "operations and messages": len(record.statuses),
        "callers": len(callers),
        "requests": asked,
    }
    return Outcome(counted, "\n".join(record.findings) or None, {"tried": record.statuses})


async def _try_all(
    server: Server,
    client: Client,
    record: Record,
    only: frozenset[str],
    tell: Callable[[int], None],
) -> None:
    world = World(client, server.operator_key)
    await world.found()
    operations = await _described(client)
    await try_operations(world, record, operations, only, tell)
    if not only:
        await try_commands_and_messages(world, record)
        await probe(world, record, operations)
    await _look_for_secrets(world, record, server)


async def _described(client: Client) -> list[Operation]:
    paths = (await client.ask("GET", "/openapi.json", {})).json()["paths"]
    return [
        Operation(
            said["operationId"],
            method.upper(),
            path,
            tuple(one["name"] for one in said.get("parameters", []) if one.get("in") == "query"),
        )
        for path, methods in paths.items()
        for method, said in methods.items()
    ]


async def _look_for_secrets(world: World, record: Record, server: Server) -> None:
    """No secret and no price may be in a log or a metric, and no foreign price in an answer."""
    for about in ("order", "lease", "budgets"):
        await world.thing(about)
    written = [server.log, *server.data.glob(f"{BESIDE}*")]
    metrics = (await world.do(OPERATOR, "GET", "/metrics")).body.decode()
    texts = {
        "the log": "\n".join(path.read_text(errors="replace") for path in written),
        "a metric": metrics,
    }
    secrets = {_random_part(secret) for secret in world.secrets}
    for name, text in texts.items():
        for line in text.splitlines():
            shown = line[:LINE_SHOWN]
            is_secret = any(secret in line for secret in secrets)
            record.holds(not is_secret, f"{name} holds a secret: {shown}")
            record.holds(not tells_price(line), f"{name} holds a price: {shown}")
    for answer in world.client.overheard:
        record.findings.append(f"a foreign price is told: {answer[:LINE_SHOWN]}")


def _random_part(secret: str) -> str:
    is_key = secret.startswith("lz_") and secret.count("_") == 2
    return secret.rpartition("_")[2] if is_key else secret[-32:]
