"""Try every row of the table as every caller, in each way to ask.

Forbidden callers must change nothing. Requests about another tenant's things must be answered, byte
for byte, like requests about things that never existed.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, NamedTuple, TypeAlias, get_args

import msgspec

from laissez.wire.requests import OperatorCommand, SessionMessage, TenantCommand
from laissez_check.access.client import Answer, Peer, tells_price
from laissez_check.access.table import (
    EVERYBODY,
    FORGED,
    KEYED,
    MESSAGES,
    OPERATIONS,
    OPERATORS,
    OTHER,
    SIGNED_IN,
    WITH_HISTORY,
    Row,
)
from laissez_check.access.world import World

# Refused, too, but only after the key was checked.
BAD_QUERIES = ("?limit=none", "?nonsense=1")
GARBAGE = b'{"alternatives": '
BAD = "revoked"  # the stranger who sends these
Thing: TypeAlias = Mapping[str, str]


class Operation(msgspec.Struct, frozen=True):
    """An operation as the server describes it."""

    name: str
    method: str
    path: str
    query: tuple[str, ...]


class Record:
    """The statuses of all answers, by operation or message and then by caller; and the findings."""

    def __init__(self) -> None:
        self.statuses: dict[str, dict[str, int]] = {}
        self.findings: list[str] = []

    def status(self, name: str, caller: str, found: int, expected: int) -> None:
        self.statuses.setdefault(name, {})[caller] = found
        self.holds(found == expected, f"{name} by {caller}: expected {expected}, found {found}")

    def same(self, what: str, expected: Answer, found: Answer) -> None:
        self.holds(found == expected, f"{what}: expected {expected}, found {found}")

    def holds(self, is_so: bool, otherwise: str) -> None:
        if not is_so:
            self.findings.append(otherwise)


class Way(NamedTuple):
    """One way to make the request of a row."""

    name: str
    row: Row
    callers: Sequence[str]
    ask: Callable[..., Awaitable[Answer]]  # a caller, about a thing


def by_request(world: World, operation: Operation, row: Row, name: str) -> Way:
    """Forged reads are left out: they change nothing, and their answers never reach the other
    site."""

    async def ask(caller: str, thing: Thing, query: str = "", body: Any = None) -> Answer:
        path = operation.path
        if "{" in path:
            path = f"{path[: path.index('{')]}{thing[row.about]}{path[path.index('}') + 1 :]}"
        if caller.removesuffix(SIGNED_IN) in OPERATORS:
            path += filled(row.operators_query, thing)
        sent = filled(row.body, thing) if body is None else body
        return await world.client.ask(operation.method, path + query, world.headers[caller], sent)

    if row.may is EVERYBODY:
        return Way(name, row, [*world.strangers, *KEYED], ask)
    callers = list(world.headers)
    if operation.method == "GET":
        callers = [caller for caller in callers if not caller.endswith(FORGED)]
    return Way(name, row, callers, ask)


def in_batch(world: World, kind: str) -> Way:
    """Alone in a batch, which is refused as a whole for a caller without the command's scope."""
    row = MESSAGES.get(kind, Row(frozenset()))

    async def ask(caller: str, thing: Thing) -> Answer:
        batch = {"commands": [{"type": kind, **filled(row.body or {}, thing)}]}
        answer = await world.client.ask("POST", "/v1/batch", world.headers[caller], batch)
        if answer.status != 200:
            return answer
        return msgspec.structs.replace(answer, status=answer.json()["results"][0]["status"])

    return Way(f"{kind} in a batch", row, KEYED, ask)


def by_message(world: World, peers: Mapping[str, Peer], kind: str, row: Row, name: str) -> Way:
    """In the caller's own session. A hello begins a new one."""

    async def ask(caller: str, thing: Thing) -> Answer:
        message = {"type": kind, **filled(row.body or {}, thing)}
        if kind == "hello":
            async with world.client.session(world.headers[caller]) as socket:
                said = await Peer(socket).ask(message)
        else:
            said = await peers[caller].ask(message)
        return Answer(said.get("status", 200), (), json.dumps({**said, "id": ""}).encode())

    return Way(name, row, KEYED, ask)


def filled(text: Any, thing: Thing) -> Any:
    """A query or a body with names in the place of braces."""
    written = text if isinstance(text, str) else json.dumps(text)
    for name, value in thing.items():
        written = written.replace(f"{{{name}}}", value)
    return written if isinstance(text, str) else json.loads(written)


def unknown(name: str) -> str:
    """A name of the same form and length that never existed."""
    prefix, _, rest = name.rpartition("_") if name[3:4] == "_" else ("", "", name)
    changed = rest[::-1].replace("/", "x") if rest[::-1] != rest else "q" + rest[1:]
    return f"{prefix}_{changed}" if prefix else changed


def in_session(kind: str) -> str:
    """The name of a message. An operation may have the same one."""
    return f"{kind} in a session"


def unlisted(described: set[str], listed: set[str], kind: str) -> list[str]:
    return [
        *(f"{kind} {name}: access/table.py has no row for it" for name in described - listed),
        *(f"{kind} {name}: access/table.py has a row too many" for name in listed - described),
    ]


async def try_operations(
    world: World,
    record: Record,
    operations: Sequence[Operation],
    only: frozenset[str],
    tell: Callable[[int], None],
) -> None:
    record.findings += unlisted({one.name for one in operations}, set(OPERATIONS), "operation")
    for done, operation in enumerate(operations):
        tell(done)
        name = operation.name
        if only and name not in only:
            continue
        rows = {name: OPERATIONS.get(name), f"{name} with history": WITH_HISTORY.get(name)}
        for called, row in rows.items():
            if row is not None:
                await _try(world, record, by_request(world, operation, row, called))


async def try_commands_and_messages(world: World, record: Record) -> None:
    for kind in (*get_args(TenantCommand), *get_args(OperatorCommand)):
        await _try(world, record, in_batch(world, str(kind.__struct_config__.tag)))
    described = {str(kind.__struct_config__.tag) for kind in get_args(SessionMessage)}
    record.findings += unlisted(described, set(MESSAGES), "message")
    async with AsyncExitStack() as sessions:
        peers = {}
        for caller in KEYED:
            session = world.client.session(world.headers[caller])
            peers[caller] = Peer(await sessions.enter_async_context(session))
            await peers[caller].ask({"type": "hello"})
        for kind in sorted(described & set(MESSAGES)):
            way = by_message(world, peers, kind, MESSAGES[kind], in_session(kind))
            await _try(world, record, way)
        for said in peers[OTHER].heard:
            if tells_price(said):
                world.client.overheard.append(f"a session: found {said}")
    name = f"{in_session('hello')} with history"
    await _try(world, record, by_message(world, {}, "hello", WITH_HISTORY["hello"], name))


async def _try(world: World, record: Record, way: Way) -> None:
    """Forbidden callers come first."""
    row = way.row
    refused = [caller for caller in way.callers if row.expected(caller) != row.status]
    thing = await world.thing(row.about)
    before = await world.state()
    strangers = []
    for caller in refused:
        answer = await way.ask(caller, thing)
        expected = row.expected(caller)
        record.status(way.name, caller, answer.status, expected)
        if row.about in thing:
            named = thing[row.about]
            never = await way.ask(caller, {name: unknown(one) for name, one in thing.items()})
            what = f"{way.name} by {caller}, of a thing that never existed"
            record.same(what, answer, never.renamed(unknown(named), named))
        if expected == 401:
            strangers.append(answer)
    if strangers:
        strangers += [await way.ask(BAD, thing, query=query) for query in BAD_QUERIES]
        strangers.append(await way.ask(BAD, thing, body=GARBAGE))
    for answer in strangers:
        record.same(f"{way.name} by strangers", strangers[0], answer)
    is_unchanged = before == await world.state()
    record.holds(is_unchanged, f"{way.name}: forbidden callers changed something")
    for caller in way.callers:
        if caller not in refused:
            answer = await way.ask(caller, await world.thing(row.about))
            record.status(way.name, caller, answer.status, row.status)
