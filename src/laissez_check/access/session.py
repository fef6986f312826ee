"""The messages of a session, and the commands of a batch, tried by everybody."""

from __future__ import annotations

import contextlib
import itertools
import json
from typing import Any, get_args

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from laissez.wire.requests import OperatorCommand, SessionMessage, TenantCommand
from laissez.wire.session import CLOSE_UNAUTHENTICATED, JSON
from laissez_check.access import unmistakable
from laissez_check.access.table import KEYED, MESSAGES, OF_BEFORE, OPERATING, OPERATORS, OTHER, Row
from laissez_check.access.tried import Tried, filled, of_before, unknown, unlisted
from laissez_check.access.wire import Answer, bearer
from laissez_check.access.world import World

COMMANDS = tuple(
    str(kind.__struct_config__.tag)
    for kind in (*get_args(TenantCommand), *get_args(OperatorCommand))
)


def in_session(kind: str) -> str:
    """An operation may have the same name."""
    return f"{kind} in a session"


async def try_batches(world: World, tried: Tried) -> None:
    """Each command by itself in a batch: without its scope the whole batch is turned away, and what
    is not the sender's never was."""
    for kind in COMMANDS:
        row = MESSAGES.get(kind, Row(frozenset()))
        for caller in KEYED:
            thing = await world.thing(row.about)
            answer = await _batch(world, caller, kind, row, thing)
            found = answer.json()["results"][0]["status"] if answer.status == 200 else answer.status
            is_foreign = row.is_foreign_to(caller)
            tried.note(
                f"{kind} in a batch",
                caller,
                found,
                404 if is_foreign else 200 if row.allows(caller) else 403,
            )
            if is_foreign or not row.allows(caller):
                await _compare(world, tried, caller, kind, row, thing, answer)


async def _compare(
    world: World,
    tried: Tried,
    caller: str,
    kind: str,
    row: Row,
    thing: dict[str, str],
    answer: Answer,
) -> None:
    never = await _batch(
        world, caller, kind, row, {name: unknown(value) for name, value in thing.items()}
    )
    if row.about:
        never = never.with_name(unknown(thing[row.about]), thing[row.about])
    tried.same(f"{kind} in a batch by {caller}, of what never was", answer, never)


async def _batch(world: World, caller: str, kind: str, row: Row, thing: dict[str, str]) -> Answer:
    command = {"type": kind, **(filled(row.body, thing) or {})}
    return await world.line.ask(
        "POST", "/v1/batch", bearer(world.keys[caller]), {"commands": [command]}
    )


async def try_sessions(world: World, tried: Tried) -> None:
    tags = {str(kind.__struct_config__.tag) for kind in get_args(SessionMessage)}
    tried.findings += unlisted(tags, set(MESSAGES), "message")
    await _strangers(world, tried)
    for caller in KEYED:
        async with connect(
            _url(world),
            subprotocols=[JSON],  # type: ignore[list-item]
            additional_headers=bearer(world.keys[caller]),
            proxy=None,
        ) as socket:
            peer = Peer(socket, caller)
            welcome = await peer.ask({"type": "hello"})
            tried.note(
                in_session("hello"),
                caller,
                200 if welcome["type"] == "welcome" else int(welcome["status"]),
                200,
            )
            for kind in sorted(tags & set(MESSAGES) - {"hello"}):
                await _message(world, tried, peer, caller, kind)
            if caller == OTHER:
                world.line.overheard += [
                    f"a session: found {said}" for said in peer.heard if unmistakable.told(said)
                ]
        await _resumed(world, tried, caller)


async def _resumed(world: World, tried: Tried, caller: str) -> None:
    """Something has happened to every holder by now. A hello that is refused is answered without
    its id."""
    row = OF_BEFORE["hello"]
    async with connect(
        _url(world),
        subprotocols=[JSON],  # type: ignore[list-item]
        additional_headers=bearer(world.keys[caller]),
        proxy=None,
    ) as socket:
        await socket.send(json.dumps({"type": "hello", **row.body}))
        heard = json.loads(await socket.recv())
        tried.note(
            of_before(in_session("hello")),
            caller,
            int(heard.get("status", 200)),
            200 if row.allows(caller) else 403,
        )


async def _message(world: World, tried: Tried, peer: Peer, caller: str, kind: str) -> None:
    row = MESSAGES[kind]
    thing = await world.thing(row.about)
    answer = await peer.ask({"type": kind, **(filled(row.body, thing) or {})})
    is_foreign = row.is_foreign_to(caller)
    refusal = row.operators_status if caller in OPERATORS and caller != OPERATING else 403
    tried.note(
        in_session(kind),
        caller,
        int(answer.get("status", 200)),
        404 if is_foreign else 200 if row.allows(caller) else refusal,
    )
    if row.about and (is_foreign or not row.allows(caller)):
        never = await peer.ask(
            {
                "type": kind,
                **filled(row.body, {name: unknown(value) for name, value in thing.items()}),
            }
        )
        about = thing[row.about]
        said, meant = (
            json.dumps({**never, "id": ""}).replace(unknown(about), about),
            json.dumps({**answer, "id": ""}),
        )
        tried.holds(
            f"{kind} by {caller}, of what never was: expected {meant}, found {said}", said == meant
        )


async def _strangers(world: World, tried: Tried) -> None:
    """One answer for all whose key is no good, also for those who are only signed in, or send a key
    in the address; and whatever else they say without waiting for it is not heard."""
    ways = {name: (headers, "") for name, headers in world.strangers.items()}
    ways |= {f"{caller} signed in": (headers, "") for caller, headers in world.signed_in.items()}
    ways |= {
        f"a key in the address as {name}": ({}, f"?{name}={world.keys['mine']}")
        for name in ("key", "token", "access_token", "authorization")
    }
    heard: dict[str, str] = {}
    said = [
        {"type": kind, "id": kind, **(filled(row.body, await world.thing(row.about)) or {})}
        for kind, row in MESSAGES.items()
        if kind != "hello"
    ]
    before = await world.state()
    for name, (headers, query) in ways.items():
        heard[name] = await _end_of(_url(world) + query, headers, said)
        code = CLOSE_UNAUTHENTICATED if heard[name].endswith(f" {CLOSE_UNAUTHENTICATED}") else 0
        for kind in MESSAGES:
            tried.note(in_session(kind), name, code, CLOSE_UNAUTHENTICATED)
    tried.holds(
        "a session: something changed, though nobody said hello with a key",
        before == await world.state(),
    )
    different = {name for name, said in heard.items() if said != heard["no key"]}
    tried.holds(
        f"hello by {', '.join(sorted(different))}: expected what everybody without a key is told",
        not different,
    )


async def _end_of(url: str, headers: dict[str, str], said: list[dict[str, Any]]) -> str:
    """All that a session says until it is closed, and with which code."""
    heard: list[str] = []
    try:
        async with connect(
            url,
            subprotocols=[JSON],  # type: ignore[list-item]
            additional_headers=headers,
            proxy=None,
        ) as socket:
            # what was said before that is still to be heard
            with contextlib.suppress(ConnectionClosed):
                for message in ({"type": "hello"}, *said):
                    await socket.send(json.dumps(message))
            while True:
                heard.append(str(await socket.recv()))
                if len(heard) > 2:
                    return f"{heard} and goes on"
    except ConnectionClosed as closed:
        return f"{heard} {closed.rcvd.code if closed.rcvd else None}"


def _url(world: World) -> str:
    return f"ws://127.0.0.1:{world.line.port}/v1/session"


class Peer:
    """One end of a session that asks one thing at a time."""

    def __init__(self, socket: ClientConnection, name: str) -> None:
        self._socket = socket
        self._ids = (f"{name}-{number}" for number in itertools.count(1))
        self.heard: list[str] = []

    async def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        id = next(self._ids)
        await self._socket.send(json.dumps({**message, "id": id}))
        while True:
            self.heard.append(str(await self._socket.recv()))
            read = json.loads(self.heard[-1])
            for said in read if isinstance(read, list) else [read]:
                if said.get("id") == id:
                    return dict(said)
