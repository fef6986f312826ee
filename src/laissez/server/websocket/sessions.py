"""All sessions of the server: each is opened by a hello with a key, counts against a quota, is sent
heartbeats, and ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from laissez.server.auth import Principal, authenticate, check_may_look_back
from laissez.server.catch_up import PAGE
from laissez.server.gateway import Gateway
from laissez.server.http.request import line_of_address
from laissez.server.rate_limits import StreamQuota
from laissez.server.websocket.connection import SELF, Connection
from laissez.server.websocket.session import Session
from laissez.wire import requests as asked
from laissez.wire import session as sent
from laissez.wire.frames import FRAME_CODECS, FrameCodec
from laissez.wire.problems import Code, ProblemError

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LAST_WORD_WITHIN_S = 1  # after that the connection of a peer that does not read is closed
HELLO = "session.hello"
# in the scope of a connection: its principal, or the key that was not valid
KNOWN, CLAIMED = "laissez.known", "laissez.claimed"
CLOSE_OF: dict[str, int] = {
    Code.UNAUTHENTICATED: sent.CLOSE_UNAUTHENTICATED,
    Code.FORBIDDEN: sent.CLOSE_UNAUTHENTICATED,
    Code.HISTORY_GONE: sent.CLOSE_HISTORY_GONE,
    Code.TOO_MANY_SESSIONS: sent.CLOSE_TOO_MANY,
    Code.STOPPING: sent.CLOSE_STOPPING,
    Code.JOURNAL_FAILED: sent.CLOSE_FAILED,
}


class Sessions:
    """All sessions of the server: opens them, keeps them alive, ends them."""

    def __init__(self, gateway: Gateway, places: StreamQuota) -> None:
        self._gateway = gateway
        self._places = places
        self._open: dict[Session, None] = {}  # in the order in which they came

    def __len__(self) -> int:
        return len(self._open)

    async def serve(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one connection from the handshake to the end."""
        await receive()  # websocket.connect
        protocol = next((name for name in scope["subprotocols"] if name in FRAME_CODECS), None)
        if protocol is None and scope["subprotocols"]:
            self._gateway.refusals.note(
                ProblemError(Code.BAD_REQUEST, "no form of a session that is known"),
                HELLO,
                None,
                scope,
            )
            await send({"type": "websocket.close", "code": sent.CLOSE_BAD_MESSAGE})
            return
        await send({"type": "websocket.accept", "subprotocol": protocol})
        form = FRAME_CODECS[protocol or sent.JSON]
        try:
            session, holder = await self._open_session(scope, receive, form)
        except ProblemError as problem:
            problem = await self._once_durable(problem)
            known = scope.get(KNOWN)
            self._gateway.refusals.note(problem, HELLO, known, scope, secret=scope.get(CLAIMED, ""))
            await asyncio.sleep(
                self._gateway.admission.delay_s(
                    line_of_address(scope) if known is None else known.holder
                )
            )
            await self._turn_away(problem, scope[SELF], form, send)
            return
        if session is not None:
            await self._run(session, holder, receive, send)

    async def _once_durable(self, problem: ProblemError) -> ProblemError:
        """Wait until a refusal may leave: it reveals state, such as which keys are valid."""
        try:
            await self._gateway.all_durable()
        except ProblemError as failed:
            return failed
        return problem

    async def _turn_away(
        self, problem: ProblemError, connection: Connection, form: FrameCodec, send: Send
    ) -> None:
        refused = sent.Refused(
            code=problem.code,
            detail=problem.detail,
            status=problem.status,
            retry_after=problem.retry_after,
        )
        connection.write(form.encode(refused), form.text)
        await send(
            {
                "type": "websocket.close",
                "code": CLOSE_OF.get(problem.code, sent.CLOSE_BAD_MESSAGE),
                "reason": problem.code,
            }
        )

    async def _open_session(
        self, scope: MutableMapping[str, Any], receive: Receive, form: FrameCodec
    ) -> tuple[Session | None, str]:
        # A silent connection must not hold a place.
        within_s = self._gateway.limits.head_within_s
        try:
            async with asyncio.timeout(within_s):
                message = await receive()
        except TimeoutError:
            raise ProblemError(
                Code.BAD_REQUEST, f"expected a hello within {within_s:g} seconds"
            ) from None
        if message["type"] == "websocket.disconnect":
            return None, ""
        read = form.read(frame_of(message), 1)
        hello = read[0] if read else None
        if type(hello) is not asked.Hello:
            raise ProblemError(Code.BAD_REQUEST, "expected a hello as the first message")
        self._gateway.admission.check_open()
        principal = self._principal(scope, hello)
        missed = self._missed(principal, hello)
        if missed:
            check_may_look_back(principal, "resume_after")
        self._gateway.admission.admit_question(principal, events=min(missed, PAGE))
        session = Session(self._gateway, principal, form, hello, scope[SELF])
        session.scope = scope
        self._places.enter(principal.holder, self._gateway.places_max(principal))
        try:
            await session.greet(hello)
        except BaseException:
            self._places.leave(principal.holder)
            raise
        self._open[session] = None
        return session, principal.holder

    def _missed(self, principal: Principal, hello: asked.Hello) -> int:
        return (
            0
            if hello.resume_after is None
            else max(0, self._gateway.latest(principal.holder) - hello.resume_after)
        )

    def _principal(self, scope: MutableMapping[str, Any], hello: asked.Hello) -> Principal:
        secret = hello.key or ""
        for name, value in scope["headers"]:
            if name == b"authorization" and value[:7].lower() == b"bearer ":
                secret = value[7:].decode("latin-1").strip()
        principal = scope[KNOWN] = authenticate(self._gateway.exchange.keys, secret)
        if principal is None:
            scope[CLAIMED] = secret
            raise ProblemError(Code.UNAUTHENTICATED, "expected a key that is in force")
        return principal

    async def _run(self, session: Session, holder: str, receive: Receive, send: Send) -> None:
        gone = asyncio.create_task(_until_gone(receive))
        over = asyncio.create_task(session.over.wait())
        try:
            await asyncio.wait((gone, over), return_when=asyncio.FIRST_COMPLETED)
            if session.ended is not None and not gone.done():
                code, reason = session.ended
                async with asyncio.timeout(LAST_WORD_WITHIN_S):
                    await send({"type": "websocket.close", "code": code, "reason": reason})
        except TimeoutError:
            session.hang_up()
        finally:
            gone.cancel()
            over.cancel()
            self._open.pop(session, None)
            try:
                await session.all_heard()
            finally:
                self._places.leave(holder)
                session.leave()

    async def keep_alive(self) -> None:
        """Send heartbeats to all sessions, for ever."""
        while True:
            await asyncio.sleep(self._gateway.limits.heartbeat_s)
            for session in list(self._open):
                session.beat()


async def _until_gone(receive: Receive) -> None:
    """Wait for the disconnect. Frames of a running session go straight to it."""
    while (await receive())["type"] != "websocket.disconnect":
        pass


def frame_of(message: MutableMapping[str, Any]) -> bytes | str:
    frame: bytes | str | None = message.get("bytes")
    if frame is None:
        frame = message["text"]
    return frame
