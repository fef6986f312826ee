"""Probes beyond the table: keys in the wrong places, other methods, sessions of strangers,
idempotency keys of others, and keys revoked while a session or stream is open."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

import httpx
from websockets.exceptions import ConnectionClosed

from laissez.wire.session import CLOSE_UNAUTHENTICATED
from laissez_check.access.client import CONSOLE, Peer, bearer
from laissez_check.access.matrix import Operation, Record, filled, in_session, unknown
from laissez_check.access.table import (
    EVERYBODY,
    MESSAGES,
    MINE,
    OPERATIONS,
    OPERATOR,
    OTHER,
    PLACED,
    READER,
    SIGNED_IN,
)
from laissez_check.access.world import LEASED, TENANTS, World

NAMES_OF_KEYS = ("key", "api_key", "token", "access_token", "authorization", "laissez_signin")
ENDS_WITHIN_S = 20.0
HEARD_MOST = 2  # messages of a session that should have been closed


async def probe(world: World, record: Record, operations: Iterable[Operation]) -> None:
    reads = [
        one
        for one in operations
        if one.method == "GET" and one.name in OPERATIONS and "{" not in one.path
    ]
    await _keys_in_addresses(world, record)
    await _heads_and_options(world, record, reads)
    await _tenants_by_name(world, record, reads)
    await _hidden_scopes(world, record)
    await _idempotency_keys_of_others(world, record)
    await _sessions_of_strangers(world, record)
    await _revoked_while_open(world, record)
    await _signed_out_while_open(world, record)


async def _keys_in_addresses(world: World, record: Record) -> None:
    ask = world.client.ask
    expected = await ask("GET", "/v1/me", {})
    for name in NAMES_OF_KEYS:
        found = await ask("GET", f"/v1/me?{name}={world.keys[MINE]}", {})
        record.same(f"a key in the address as {name}", expected, found)
    in_path = await ask("GET", f"/v1/orders/{world.keys[MINE]}", {})
    record.holds(in_path.status == 401, f"a key as a path: found {in_path.status}")


async def _heads_and_options(world: World, record: Record, reads: Iterable[Operation]) -> None:
    """HEAD has the callers of GET and tells no more. OPTIONS tells every caller the same."""
    ask, tenant, operator = world.client.ask, world.headers[OTHER], world.headers[OPERATOR]
    for one in reads:
        keyed = OPERATIONS[one.name].may is not EVERYBODY
        nobody = await ask("HEAD", one.path, {})
        record.holds(
            (nobody.status == 401) == keyed, f"HEAD {one.path} without a key: found {nobody.status}"
        )
        heads = [(await ask(method, one.path, tenant)).status for method in ("HEAD", "GET")]
        record.holds(heads[0] == heads[1], f"HEAD and GET {one.path}: found {heads}")
        record.same(
            f"OPTIONS {one.path} with a key",
            await ask("OPTIONS", one.path, {}),
            await ask("OPTIONS", one.path, operator),
        )


async def _tenants_by_name(world: World, record: Record, reads: Iterable[Operation]) -> None:
    """A tenant may name no tenant, not even itself or one that never existed."""
    for one in [one for one in reads if "tenant" in one.query]:
        what = f"{one.name} of a tenant by name"
        answers = [
            await world.client.ask("GET", f"{one.path}?tenant={name}", world.headers[OTHER])
            for name in (TENANTS[OTHER], TENANTS[MINE], unknown(TENANTS[MINE]))
        ]
        record.status(what, OTHER, answers[0].status, 403)
        for answer in answers[1:]:
            record.same(what, answers[0], answer)


async def _hidden_scopes(world: World, record: Record) -> None:
    """A node outside the pricing domain and a foreign lease are answered like unknown ones."""

    async def alike(what: str, hidden: str, never: str, method: str, path: str, body: Any) -> None:
        answers = [
            await world.client.ask(
                method, path.format(name), world.headers[OTHER], filled(body, {"lease": name})
            )
            for name in (hidden, never)
        ]
        record.status(what, OTHER, answers[0].status, 404)
        record.same(what, answers[0], answers[1].renamed(never, hidden))

    what = "getPrices outside the pricing domain"
    await alike(what, "gpu/a/r1", "gpu/a/r9", "GET", "/v1/prices?scope={}", None)
    lease = (await world.thing("lease"))["lease"]
    near = {"near": "{lease}", "level": 1, "max_price": "0.25"}
    what = "runInstances near a foreign lease"
    await alike(what, lease, unknown(lease), "POST", "/v1/instances", near)


async def _idempotency_keys_of_others(world: World, record: Record) -> None:
    """An Idempotency-Key brings its answer neither to another tenant nor to a key that may not
    trade."""
    first, second, reader = [
        await world.client.ask(
            "POST", "/v1/orders", {**world.headers[caller], "Idempotency-Key": "the-same"}, PLACED
        )
        for caller in (MINE, OTHER, READER)
    ]
    record.status("placeOrder with a foreign Idempotency-Key", OTHER, second.status, 201)
    record.status("placeOrder with its tenant's Idempotency-Key", READER, reader.status, 403)
    is_new = first.json()["id"] != second.json()["id"] and "replayed" not in str(second.headers)
    record.holds(is_new, "a foreign Idempotency-Key brought its tenant's answer")


async def _sessions_of_strangers(world: World, record: Record) -> None:
    """Callers without a good key, with a sign-in alone or with the key in the address get the same
    answer, and no message after the hello is read."""
    ways = {caller: (world.headers[caller], "") for caller in world.strangers}
    ways |= {
        caller: (headers, "")
        for caller, headers in world.headers.items()
        if caller.endswith(SIGNED_IN)
    }
    ways |= {
        f"a key in the address as {name}": ({}, f"?{name}={world.keys[MINE]}")
        for name in NAMES_OF_KEYS
    }
    messages = [{"type": "hello"}]
    for kind, row in MESSAGES.items():
        body = filled(row.body or {}, await world.thing(row.about))
        messages += [{"type": kind, "id": kind, **body}] if kind != "hello" else []
    before = await world.state()
    heard = {}
    for caller, (headers, query) in ways.items():
        heard[caller], code = await _heard_by(world, headers, query, messages)
        for kind in MESSAGES:
            record.status(in_session(kind), caller, code, CLOSE_UNAUTHENTICATED)
    unchanged = before == await world.state()
    record.holds(unchanged, "a session: something changed, though no hello had a good key")
    for caller, said in heard.items():
        record.holds(said == heard["no key"], f"hello by {caller}: found {said}")


async def _heard_by(
    world: World, headers: dict[str, str], query: str, messages: list[dict[str, Any]]
) -> tuple[list[str], int]:
    """The messages of a session until it is closed, and the close code."""
    heard: list[str] = []
    try:
        async with world.client.session(headers, query) as socket:
            # closed in the middle, the session can still be heard
            with contextlib.suppress(ConnectionClosed):
                for message in messages:
                    await socket.send(json.dumps(message))
            while len(heard) <= HEARD_MOST:
                heard.append(str(await socket.recv()))
    except ConnectionClosed as closed:
        return heard, closed.rcvd.code if closed.rcvd else 0
    return heard, 0


# -- while something is open


async def _revoked_while_open(world: World, record: Record) -> None:
    """A session and a stream end with their key, and a later command has no effect."""
    issued = await world.fresh_key()
    order = {"type": "place_order", "alternatives": [{"scope": LEASED, "limit": "5"}]}
    async with world.client.session(bearer(issued["secret"])) as socket:
        peer = Peer(socket)
        await peer.ask({"type": "hello"})
        stream = await _stream(world, bearer(issued["secret"]))
        await world.do(OPERATOR, "DELETE", f"/v1/keys/{issued['id']}")
        before = await world.state()
        code = 0
        try:
            async with asyncio.timeout(ENDS_WITHIN_S):
                await peer.ask(order)
        except ConnectionClosed as closed:
            code = closed.rcvd.code if closed.rcvd else 0
        except TimeoutError:
            pass
        record.status("session of a revoked key", MINE, code, CLOSE_UNAUTHENTICATED)
        record.holds(before == await world.state(), "a session went on after its key was revoked")
    record.holds(await _ends(stream), "a stream went on after its key was revoked")


async def _signed_out_while_open(world: World, record: Record) -> None:
    headers = {"Cookie": await world.sign_in(world.keys[MINE]), **CONSOLE}
    stream = await _stream(world, headers)
    await world.client.ask("DELETE", "/v1/signin", headers)
    record.holds(await _ends(stream), "a stream went on after its sign-in was ended")


async def _stream(world: World, headers: dict[str, str]) -> AsyncIterator[bytes]:
    """An open stream of events, after the first one."""
    response = await world.client.open(
        "GET", "/v1/events", {**headers, "Accept": "text/event-stream"}
    )
    pieces = response.aiter_raw()
    async with asyncio.timeout(ENDS_WITHIN_S):
        while b"id: " not in await anext(pieces):
            pass
    return pieces


async def _ends(pieces: AsyncIterator[bytes]) -> bool:
    try:
        async with asyncio.timeout(ENDS_WITHIN_S):
            async for _ in pieces:
                pass
    except TimeoutError:
        return False
    except httpx.HTTPError:
        return True
    return True
