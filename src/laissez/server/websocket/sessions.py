"""All sessions of the server: each is opened by a hello with a key, and counts against a quota."""

from __future__ import annotations

import asyncio
from functools import partial

from laissez.server.auth import Principal, authenticate, check_may_look_back
from laissez.server.catch_up import PAGE
from laissez.server.gateway import Gateway
from laissez.server.http.messages import line_of_address
from laissez.server.rate_limits import StreamQuota
from laissez.server.websocket.session import Peer, Session, refusal
from laissez.wire import session as sent
from laissez.wire.codec import FrameCodec
from laissez.wire.problems import Code, ProblemError
from laissez.wire.requests import Hello

HELLO = "session.hello"
CLOSE_OF: dict[str, int] = {
    Code.UNAUTHENTICATED: sent.CLOSE_UNAUTHENTICATED,
    Code.FORBIDDEN: sent.CLOSE_UNAUTHENTICATED,
    Code.HISTORY_GONE: sent.CLOSE_HISTORY_GONE,
    Code.TOO_MANY_SESSIONS: sent.CLOSE_TOO_MANY,
    Code.STOPPING: sent.CLOSE_STOPPING,
    Code.JOURNAL_FAILED: sent.CLOSE_FAILED,
}


class Sessions:
    def __init__(self, gateway: Gateway, quota: StreamQuota) -> None:
        self._gateway = gateway
        self._quota = quota
        self._open: dict[Session, None] = {}  # in order of arrival

    def __len__(self) -> int:
        return len(self._open)

    async def open(self, connection: Peer, codec: FrameCodec, hello: bytes) -> None:
        """Open a session, or refuse the hello and close the connection."""
        secret, principal = "", None
        try:
            read = codec.read(hello, 1)
            if not read or type(read[0]) is not Hello:
                raise ProblemError(Code.BAD_REQUEST, "expected a hello as the first message")
            self._gateway.admission.check_open()
            secret = _secret(connection.headers) or read[0].key or ""
            principal = authenticate(self._gateway.exchange.keys, secret)
            if principal is None:
                raise ProblemError(Code.UNAUTHENTICATED, "expected a valid key")
            await self._greet(connection, codec, principal, read[0])
        except ProblemError as problem:
            await self.refuse(connection, codec, problem, principal, secret)

    async def _greet(
        self, connection: Peer, codec: FrameCodec, principal: Principal, hello: Hello
    ) -> None:
        gateway, holder = self._gateway, principal.holder
        missed = 0
        if hello.resume_after is not None:
            missed = max(0, gateway.latest(holder) - hello.resume_after)
        if missed:
            check_may_look_back(principal, "resume_after")
        gateway.admission.admit_read(principal, events=min(missed, PAGE))
        session = Session(gateway, principal, codec, hello, connection, partial(self._left, holder))
        self._quota.enter(holder, gateway.streams_max(principal))
        self._open[session] = None
        try:
            await session.greet(hello)
        except BaseException:
            self._left(holder, session)
            raise

    def _left(self, holder: str, session: Session) -> None:
        del self._open[session]
        self._quota.leave(holder)

    async def refuse(
        self,
        connection: Peer,
        codec: FrameCodec,
        problem: ProblemError,
        principal: Principal | None = None,
        secret: str = "",
    ) -> None:
        try:
            await self._gateway.all_durable()  # the answer reveals which keys are valid
        except ProblemError as failed:
            problem = failed
        scope = connection.scope
        self._gateway.refusals.note(problem, HELLO, principal, scope, secret=secret)
        who = line_of_address(scope) if principal is None else principal.holder
        await asyncio.sleep(self._gateway.admission.delay_s(who))
        connection.write(codec.encode(refusal("", problem)), codec.text)
        connection.close(CLOSE_OF.get(problem.code, sent.CLOSE_BAD_MESSAGE), problem.code)

    async def keep_alive(self) -> None:
        """Send heartbeats to all sessions, for ever."""
        while True:
            await asyncio.sleep(self._gateway.limits.heartbeat_s)
            for session in list(self._open):
                session.beat()


def _secret(headers: list[tuple[bytes, bytes]]) -> str:
    """The key in the header `Authorization`, which takes precedence over the hello's; empty without
    one."""
    found = [
        value[7:].decode("latin-1").strip()
        for name, value in headers
        if name == b"authorization" and value[:7].lower() == b"bearer "
    ]
    return found[-1] if found else ""
