"""Who may do what, tried on a real server: the first part of `laissez check access`."""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import msgspec
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
from laissez_check.finding import Finding
from laissez_check.started_server import Entry, Server, unused_port

SHOWN = ("no key", "revoked", *KEYED)
LINE_SHOWN = 200  # characters of a log that tells too much
# Books stay open, because closing them is an event that nobody asks for.
VARIABLES = {
    "LAISSEZ_SERVER__LOG_LEVEL": "debug",
    "LAISSEZ_BOOKS__CLOSE_AFTER_COMMANDS": "1000000",
    "LAISSEZ_WEBHOOKS__ALLOW_HTTP": "true",
    "LAISSEZ_WEBHOOKS__ALLOW_ADDRESSES": "127.0.0.1/32",
}


class Outcome(msgspec.Struct, frozen=True):
    """The status that each caller was answered with, by operation or message."""

    counted: dict[str, int]
    answers: dict[str, dict[str, int]]
    findings: list[str]

    @property
    def failure(self) -> str | None:
        return "\n".join(self.findings) or None

    def table(self) -> str:
        """The statuses of the most important callers; the JSON has all."""
        widest = max(map(len, self.answers), default=0)
        rows: dict[str, dict[str, Any]] = {"": {caller: caller for caller in SHOWN}}
        rows |= self.answers
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
    folder = Path(tempfile.mkdtemp(prefix="laissez-access-"))
    try:
        return asyncio.run(
            _run(folder, replace(entry, variables={**VARIABLES, **entry.variables}), only, tell)
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _run(
    folder: Path, entry: Entry, only: frozenset[str], tell: Callable[[int], None]
) -> Outcome:
    server = Server(folder, unused_port(random.Random()), entry)
    client = Client(server.port)
    record = Record()
    try:
        await server.start_and_wait()
        world = World(client, (server.data / "keys" / "operator.key").read_text().strip())
        await world.found()
        operations = await _described(client)
        await try_operations(world, record, operations, only, tell)
        if not only:
            await try_commands_and_messages(world, record)
            await probe(world, record, operations)
        await _look_for_secrets(world, record, server, folder / "server.log")
    except Finding as finding:
        record.findings.append(str(finding))
    except (OSError, TimeoutError, httpx.HTTPError, WebSocketException) as error:
        record.findings.append(f"the server did not answer: {error!r}\n{server.log_end()}")
    finally:
        await client.close()
        await server.kill(with_children=True)
    callers = {caller for statuses in record.statuses.values() for caller in statuses}
    counted = {
        "operations and messages": len(record.statuses),
        "callers": len(callers),
        "requests": client.asked,
    }
    return Outcome(counted, record.statuses, record.findings)


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


async def _look_for_secrets(world: World, record: Record, server: Server, log: Path) -> None:
    """No secret and no price may be in a log or a metric, and no foreign price in an answer."""
    for about in ("order", "lease", "budgets"):
        await world.thing(about)
    written = [log, *server.data.glob(f"{BESIDE}*")]
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
