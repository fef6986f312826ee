"""What no table of callers shows: keys where none may be, other methods, what others sent under the
same id, and keys revoked in the middle."""

from __future__ import annotations

import asyncio

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from laissez.wire.session import CLOSE_UNAUTHENTICATED, JSON
from laissez_check.access.session import Peer
from laissez_check.access.table import EVERYBODY, MINE, OPERATIONS, OPERATOR, OTHER, PLACED, READER
from laissez_check.access.tried import Described, Tried, unknown
from laissez_check.access.wire import CONSOLE, bearer
from laissez_check.access.world import LEASED, TENANTS, World

NAMES_OF_KEYS = ("key", "api_key", "token", "access_token", "authorization", "laissez_signin")
ENDS_WITHIN_S = 20.0


async def probe(world: World, tried: Tried, operations: list[Described]) -> None:
    reads = [
        one
        for one in operations
        if one.method == "GET" and one.name in OPERATIONS and "{" not in one.path
    ]
    await _keys_in_addresses(world, tried)
    await _heads_and_options(world, tried, reads)
    await _tenants_by_name(world, tried, reads)
    await _hidden_scopes(world, tried)
    await _ids_of_others(world, tried)
    await _revoked_in_the_middle(world, tried)
    await _signed_out_in_the_middle(world, tried)


async def _keys_in_addresses(world: World, tried: Tried) -> None:
    expected = await world.line.ask("GET", "/v1/me", {})
    for name in NAMES_OF_KEYS:
        found = await world.line.ask("GET", f"/v1/me?{name}={world.keys[MINE]}", {})
        tried.same(f"a key in the address as {name}", expected, found)
    in_path = await world.line.ask("GET", f"/v1/orders/{world.keys[MINE]}", {})
    tried.holds(f"a key as a path: expected 401, found {in_path.status}", in_path.status == 401)


async def _heads_and_options(world: World, tried: Tried, reads: list[Described]) -> None:
    """HEAD is allowed to whom GET is, and tells no more; OPTIONS tells everybody the same."""
    for one in reads:
        keyed = OPERATIONS[one.name].may is not EVERYBODY
        nobody = await world.line.ask("HEAD", one.path, {})
        tried.holds(
            f"HEAD {one.path} without a key: found {nobody.status}", (nobody.status == 401) == keyed
        )
        tenant = [
            await world.line.ask(method, one.path, bearer(world.keys[OTHER]))
            for method in ("HEAD", "GET")
        ]
        tried.holds(
            f"HEAD {one.path}: expected the status of GET, found {tenant[0].status}",
            tenant[0].status == tenant[1].status,
        )
        options = [
            await world.line.ask("OPTIONS", one.path, headers)
            for headers in ({}, bearer(world.keys[OPERATOR]))
        ]
        tried.same(f"OPTIONS {one.path} with a key", options[0], options[1])


async def _tenants_by_name(world: World, tried: Tried, reads: list[Described]) -> None:
    """A tenant that asks for anybody by name, also for itself or for nobody there is, is told that
    it may not."""
    for one in [one for one in reads if "tenant" in one.query]:
        names = (TENANTS[OTHER], TENANTS[MINE], unknown(TENANTS[MINE]))
        answers = [
            await world.line.ask("GET", f"{one.path}?tenant={name}", bearer(world.keys[OTHER]))
            for name in names
        ]
        tried.note(f"{one.name} of a tenant by name", OTHER, answers[0].status, 403)
        for answer in answers[1:]:
            tried.same(f"{one.name} of a tenant by name", answers[0], answer)


async def _hidden_scopes(world: World, tried: Tried) -> None:
    """A node outside the pricing domain, and somebody else's lease to be near to, are like none."""
    hidden, never = "gpu/a/r1", "gpu/a/r9"
    asks = [
        await world.line.ask("GET", f"/v1/prices?scope={scope}", bearer(world.keys[OTHER]))
        for scope in (hidden, never)
    ]
    tried.note("getPrices outside the pricing domain", OTHER, asks[0].status, 404)
    tried.same("getPrices outside the pricing domain", asks[0], asks[1].with_name(never, hidden))
    lease = (await world.thing("lease"))["lease"]
    body = [{"near": name, "level": 1, "max_price": "0.25"} for name in (lease, unknown(lease))]
    runs = [
        await world.line.ask("POST", "/v1/instances", bearer(world.keys[OTHER]), one)
        for one in body
    ]
    tried.note("runInstances near a foreign lease", OTHER, runs[0].status, 404)
    tried.same(
        "runInstances near a foreign lease", runs[0], runs[1].with_name(unknown(lease), lease)
    )


async def _ids_of_others(world: World, tried: Tried) -> None:
    """An Idempotency-Key is its sender's: another tenant's answer is not to be had with it, nor the
    same tenant's with a key that may not."""
    sent = {"Idempotency-Key": "the-same"}
    first = await world.line.ask("POST", "/v1/orders", {**bearer(world.keys[MINE]), **sent}, PLACED)
    second = await world.line.ask(
        "POST", "/v1/orders", {**bearer(world.keys[OTHER]), **sent}, PLACED
    )
    tried.note("placeOrder under somebody else's Idempotency-Key", OTHER, second.status, 201)
    tried.holds(
        "an Idempotency-Key of another tenant brought its answer",
        first.json()["id"] != second.json()["id"] and b"replayed" not in second.head,
    )
    reader = await world.line.ask(
        "POST", "/v1/orders", {**bearer(world.keys[READER]), **sent}, PLACED
    )
    tried.note("placeOrder under its own tenant's Idempotency-Key", READER, reader.status, 403)


# -- while something is open


async def _revoked_in_the_middle(world: World, tried: Tried) -> None:
    """A session and a stream end with their key, and what the session sends after that is not
    done."""
    issued = await world.fresh_key(["read", "trade"])
    url = f"ws://127.0.0.1:{world.line.port}/v1/session"
    async with connect(
        url,
        subprotocols=[JSON],  # type: ignore[list-item]
        additional_headers=bearer(issued["secret"]),
        proxy=None,
    ) as socket:
        peer = Peer(socket, "revoked")
        await peer.ask({"type": "hello"})
        stream = await _open_stream(world, bearer(issued["secret"]))
        await world.revoke(issued["id"])
        before = await world.state()
        code = None
        try:
            async with asyncio.timeout(ENDS_WITHIN_S):
                await peer.ask(
                    {"type": "place_order", "alternatives": [{"scope": LEASED, "limit": "5"}]}
                )
        except ConnectionClosed as closed:
            code = closed.rcvd.code if closed.rcvd else None
        except TimeoutError:
            pass
        tried.note(
            "session of a key that is revoked in the middle", MINE, code or 0, CLOSE_UNAUTHENTICATED
        )
        tried.holds("a session went on after its key was revoked", before == await world.state())
    tried.holds("a stream went on after its key was revoked", await _ends(stream))


async def _signed_out_in_the_middle(world: World, tried: Tried) -> None:
    headers = {"Cookie": await world.sign_in(world.keys[MINE]), **CONSOLE}
    stream = await _open_stream(world, headers)
    await world.line.ask("DELETE", "/v1/signin", headers)
    tried.holds("a stream went on after its sign-in was ended", await _ends(stream))


Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _open_stream(world: World, headers: dict[str, str]) -> Stream:
    reader, writer = await asyncio.open_connection("127.0.0.1", world.line.port)
    asked = {"Host": "localhost", "Accept": "text/event-stream", **headers}
    lines = [
        "GET /v1/events HTTP/1.1",
        *(f"{name}: {value}" for name, value in asked.items()),
        "",
        "",
    ]
    writer.write("\r\n".join(lines).encode())
    async with asyncio.timeout(ENDS_WITHIN_S):
        await reader.readuntil(b"id: ")
    return reader, writer


async def _ends(stream: Stream) -> bool:
    """The last piece of a chunked answer is an empty one; or the connection is closed."""
    reader, writer = stream
    try:
        async with asyncio.timeout(ENDS_WITHIN_S):
            await reader.readuntil(b"0\r\n\r\n")
    except TimeoutError:
        return False
    except asyncio.IncompleteReadError:
        return True
    finally:
        writer.close()
    return True
