"""Who may do what, tried on a real server: `laissez check access`.

Every operation that the server describes, and every message of a session, is tried by everybody:
without a key, with keys that are worth nothing, with keys of each scope, as another tenant, as the
operator, and signed in from a browser. What each must get is in `table`, by hand. Whoever may not
must change nothing; what belongs to somebody else must be answered, byte for byte, like what never
was.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec.structs import replace
from websockets.exceptions import WebSocketException

from laissez.server.beside import FILE as BESIDE
from laissez_check.access import unmistakable
from laissez_check.access.probes import probe
from laissez_check.access.session import try_batches, try_sessions
from laissez_check.access.table import KEYED, OF_BEFORE, OPERATIONS, OPERATOR
from laissez_check.access.trial import Trial
from laissez_check.access.tried import Described, Tried, of_before, unlisted
from laissez_check.access.wire import Line
from laissez_check.access.world import World
from laissez_check.finding import Finding
from laissez_check.started_server import Entry, Server, unused_port

SHOWN = ("no key", "revoked", *KEYED)
LINE_SHOWN = 200  # of a log that tells too much
# A log worth searching, and books that stay open: closing them is an event, and nobody's doing.
VARIABLES = {
    "LAISSEZ_SERVER__LOG_LEVEL": "debug",
    "LAISSEZ_BOOKS__CLOSE_AFTER_COMMANDS": "1000000",
    "LAISSEZ_WEBHOOKS__ALLOW_HTTP": "true",
    "LAISSEZ_WEBHOOKS__ALLOW_ADDRESSES": "127.0.0.1/32",
}


class Outcome(msgspec.Struct, frozen=True):
    """What was answered to whom: by operation or message, then by caller."""

    counted: dict[str, int]
    answers: dict[str, dict[str, int]]
    findings: list[str]

    @property
    def failure(self) -> str | None:
        return "\n".join(self.findings) or None

    def table(self) -> str:
        """The status that each kind of key was answered with; sign-ins and strangers of other kinds
        are in the JSON."""
        widest = max(map(len, self.answers), default=0)
        lines = [f"{'':<{widest}}  " + "  ".join(f"{caller:>9}" for caller in SHOWN)]
        for name, answers in self.answers.items():
            lines.append(
                f"{name:<{widest}}  "
                + "  ".join(f"{answers.get(caller, ''):>9}" for caller in SHOWN)
            )
        return "\n".join(lines)


def run(
    entry: Entry = Entry(),  # noqa: B008  frozen
    only: frozenset[str] = frozenset(),
    tell: Callable[[int], None] = lambda operations: None,
) -> Outcome:
    """The whole matrix, or `only` some operations of it, on a server of its own, which is gone
    afterwards."""
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
    line = Line(server.port)
    tried = Tried()
    try:
        await server.start_and_wait()
        world = World(line, (server.data / "keys" / "operator.key").read_text().strip())
        await world.found()
        await _try_all(world, tried, only, tell)
        written = [folder / "server.log", *server.data.glob(f"{BESIDE}*")]
        for about in ("order", "lease", "budgets"):
            await world.thing(about)
        figures = (await world.do(OPERATOR, "GET", "/metrics")).body.decode()
        for name, text in {
            "the log": "\n".join(path.read_text(errors="replace") for path in written),
            "a figure": figures,
        }.items():
            tried.findings += [
                f"{name} holds a secret: {found[:LINE_SHOWN]}"
                for found in secrets_in(text, world.secrets)
            ]
            tried.findings += [
                f"{name} holds a price: {one[:LINE_SHOWN]}"
                for one in text.splitlines()
                if unmistakable.told(one)
            ]
        tried.findings += [
            f"a foreign price is told: {found[:LINE_SHOWN]}" for found in line.overheard
        ]
    except Finding as finding:
        tried.findings.append(str(finding))
    except (OSError, EOFError, TimeoutError, WebSocketException) as error:
        tried.findings.append(f"the server did not answer: {error!r}\n{server.log_end()}")
    finally:
        line.close()
        await server.kill(with_children=True)
    callers = {caller for answers in tried.answers.values() for caller in answers}
    counted = {
        "operations and messages": len(tried.answers),
        "callers": len(callers),
        "requests": line.asked,
    }
    return Outcome(counted, tried.answers, tried.findings)


async def _try_all(
    world: World, tried: Tried, only: frozenset[str], tell: Callable[[int], None]
) -> None:
    operations = await _described(world.line)
    tried.findings += unlisted({one.name for one in operations}, set(OPERATIONS), "operation")
    for done, operation in enumerate(operations):
        tell(done)
        if operation.name in OPERATIONS and (not only or operation.name in only):
            await Trial(world, tried, operation, OPERATIONS[operation.name]).all()
            if operation.name in OF_BEFORE:
                await Trial(
                    world,
                    tried,
                    replace(operation, name=of_before(operation.name)),
                    OF_BEFORE[operation.name],
                ).all()
    if not only:
        await try_batches(world, tried)
        await try_sessions(world, tried)
        await probe(world, tried, operations)


def secrets_in(log: str, secrets: list[str]) -> list[str]:
    """The lines of a log that hold a secret, or the random part of one."""
    needles = {
        secret.rpartition("_")[2]
        if secret.startswith("lz_") and secret.count("_") == 2
        else secret[-32:]
        for secret in secrets
    }
    return [line for line in log.splitlines() if any(needle in line for needle in needles)]


async def _described(line: Line) -> list[Described]:
    document = (await line.ask("GET", "/openapi.json", {})).json()
    return [
        Described(
            said["operationId"],
            method.upper(),
            path,
            tuple(one["name"] for one in said.get("parameters", []) if one.get("in") == "query"),
        )
        for path, methods in document["paths"].items()
        for method, said in methods.items()
    ]
