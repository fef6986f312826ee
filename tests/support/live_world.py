"""The world of `service_world` behind a real port of this machine, in the loop of the test.

`with_live(tmp_path, story)` runs the story, an async function that gets a `Live`, whose `peer`
opens a session.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from laissez.market import Topology
from laissez.server.http.app import make_app
from laissez.server.http.protocol import HttpConnection
from laissez.server.serve import listen
from laissez.server.settings import Limits, Settings
from laissez.server.websocket.sessions import Sessions
from laissez.wire.session import JSON, MSGPACK
from support.service_world import GENEROUS, TOPOLOGY, World, with_service

SOON_S = 10  # far more than anything here takes
# bytes that the system buffers per connection; few, so that a slow peer is noticed soon
SMALL_BUFFER = 4096
Message = dict[str, Any]


class Closed(Exception):
    """The server has closed the session."""

    def __init__(self, code: int | None, reason: str) -> None:
        super().__init__(f"closed with {code} {reason}")
        self.code = code
        self.reason = reason


class Peer:
    """The other end of a session."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.frames = 0  # heard
        self._heard: list[Message] = []
        self._packed = socket.subprotocol == MSGPACK

    async def say(self, *messages: object) -> None:
        """Send one message as it is, several as a list."""
        await self.say_raw(
            msgspec.msgpack.encode(_framed(messages))
            if self._packed
            else json.dumps(_framed(messages))
        )

    async def say_raw(self, frame: str | bytes) -> None:
        await self.socket.send(frame)

    async def hear(self) -> Message:
        """The next message."""
        async with asyncio.timeout(SOON_S):
            while not self._heard:
                try:
                    frame = await self.socket.recv(decode=False)
                except ConnectionClosed as closed:
                    raise Closed(
                        *((closed.rcvd.code, closed.rcvd.reason) if closed.rcvd else (None, ""))
                    ) from None
                self.frames += 1
                read = msgspec.msgpack.decode(frame) if self._packed else json.loads(frame)
                self._heard = read if isinstance(read, list) else [read]
        return self._heard.pop(0)

    async def hear_all(self, count: int) -> list[Message]:
        return [await self.hear() for _ in range(count)]

    async def ask(self, **message: object) -> Message:
        """Send one message; returns the next one received."""
        await self.say(message)
        return await self.hear()

    async def until(self, *types: str) -> Message:
        """The next message of one of these types; earlier ones are skipped."""
        while True:
            message = await self.hear()
            if message["type"] in types:
                return message

    async def end(self) -> tuple[int | None, list[Message]]:
        """The server's close code, and all messages before it."""
        heard: list[Message] = []
        while True:
            try:
                heard.append(await self.hear())
            except Closed as closed:
                return closed.code, heard


class Live:
    def __init__(
        self, world: World, sessions: Sessions, port: int, connections: dict[Any, None]
    ) -> None:
        self.world = world
        self.sessions = sessions
        self.port = port
        self.connections = connections  # the server's view of them

    @asynccontextmanager
    async def connected(
        self, who: str | None = None, form: str | None = JSON, **more: Any
    ) -> AsyncIterator[Peer]:
        """A connection without a hello; the header has the key of `who`."""
        headers = (
            {} if who is None else {"Authorization": f"Bearer {self.world.secrets.get(who, who)}"}
        )
        protocols = None if form is None else [Subprotocol(form)]
        address = f"ws://127.0.0.1:{self.port}/v1/session"
        async with connect(
            address, additional_headers=headers, subprotocols=protocols, compression=None, **more
        ) as opened:
            yield Peer(opened)

    @asynccontextmanager
    async def peer(
        self,
        who: str,
        form: str = JSON,
        socket_options: dict[str, Any] | None = None,
        **hello: object,
    ) -> AsyncIterator[Peer]:
        """A session that has been welcomed."""
        async with self.connected(who, form, **(socket_options or {})) as peer:
            await peer.say({"type": "hello", **hello})
            welcome = await peer.hear()
            assert "welcome" == welcome["type"], welcome
            yield peer

    async def until_open(self, sessions: int = 0) -> None:
        """Wait until the given number of sessions is open."""
        await eventually(lambda: len(self.sessions) == sessions)


async def eventually(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(SOON_S):
        while not is_so():
            await asyncio.sleep(0.001)


async def settle_loop() -> None:
    """Let everything run that need not wait for the journal."""
    for _ in range(100):
        await asyncio.sleep(0)


def slow_socket(port: int) -> socket.socket:
    """A connection with a small receive buffer."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
    made.connect(("127.0.0.1", port))
    return made


def place(id: str, scope: str, limit: str, bid: str | None = None) -> Message:
    return {
        "type": "place_order",
        "id": id,
        "alternatives": [{"scope": scope, "limit": limit, **({} if bid is None else {"bid": bid})}],
    }


def events_of(reply: Message) -> list[tuple[int, str]]:
    return [(one["n"], one["event"]["type"]) for one in reply["events"]]


def _framed(messages: tuple[object, ...]) -> object:
    return messages[0] if len(messages) == 1 else messages


Tale = Callable[[Live], Awaitable[None]]


def with_live(
    folder: Path,
    tale: Tale,
    limits: Limits = GENEROUS,
    secrets: dict[str, str] | None = None,
    topology: Topology = TOPOLOGY,
) -> None:
    async def story(world: World) -> None:
        async with served(world) as live:
            await tale(live)

    with_service(folder, story, limits, secrets=secrets, topology=topology)


@asynccontextmanager
async def served(world: World) -> AsyncIterator[Live]:
    sessions = Sessions(world.gateway, world.quota)
    settings = Settings(limits=world.gateway.limits)
    app = make_app(world.gateway, settings, world.quota, sessions)
    listening = listen("127.0.0.1", 0)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL_BUFFER)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: HttpConnection(app), sock=listening)
    beating = asyncio.create_task(sessions.keep_alive())
    try:
        yield Live(world, sessions, listening.getsockname()[1], app.connections)
    finally:
        beating.cancel()
        server.close()
        for connection in list(app.connections):
            connection.shutdown()
        await asyncio.gather(*app.tasks, beating, return_exceptions=True)
        for connection in list(app.connections):
            connection.transport.abort()
        for task in app.tasks:
            task.cancel()
        await server.wait_closed()
