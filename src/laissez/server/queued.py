"""Requests over HTTP stand in line like the frames of sessions. One that is turned away costs
little: no task is made for it and its body is not read; the answer is written as it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from laissez.server.admission import overloaded
from laissez.server.heads import BoundedHeads
from laissez.server.http.app import SESSION
from laissez.server.http.cookies import signed_in
from laissez.server.http.endpoint import NEVER_WAIT, OTHER
from laissez.server.http.incoming import line_of_address, read_headers, read_secret
from laissez.server.http.outgoing import EVERY, PROBLEM, encode, problem_headers
from laissez.server.http.site import Site
from laissez.server.keyring import Principal, authenticate
from laissez.wire.problems import ProblemError


class Request:
    """One in line."""

    __slots__ = ("_app", "_connection", "_cycle", "_principal")

    def __init__(
        self,
        connection: QueuedRequests,
        cycle: RequestResponseCycle,
        app: Any,
        principal: Principal | None,
    ) -> None:
        self._connection = connection
        self._cycle = cycle
        self._app = app
        self._principal = principal

    def carry_out(self, may_go_on: Callable[[], bool]) -> bool:
        if not self._cycle.disconnected:
            self._connection.begin(self._cycle, self._app)
        return True

    def turn_away(self) -> int:
        if not self._cycle.disconnected:
            self._connection.turn_away(self._cycle, self._principal)
        return 1


class QueuedRequests(BoundedHeads):
    def __init__(self, *arguments: Any, site: Site, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._site = site
        self._turns = site.desk.admission.turns

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        path = cycle.scope["path"]
        # a file of the console is sent from memory; a page that lacks one is broken until reloaded
        if self._turns.may_begin() or path in NEVER_WAIT or path.startswith("/console/"):
            super()._start_asgi_task(cycle, app)
        else:
            self._under_way = cycle
            principal = self._principal(cycle.scope)
            self._turns.wait(
                self._line(principal, cycle.scope), Request(self, cycle, app, principal)
            )

    def _should_upgrade(self) -> bool:
        """Where there are no sessions, a request for one is answered like any other."""
        return super()._should_upgrade() and self.url.partition(b"?")[0] == SESSION.encode()

    def begin(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._turns.begun()
        super()._start_asgi_task(cycle, app)

    def turn_away(self, cycle: RequestResponseCycle, principal: Principal | None) -> None:
        self._site.desk.refusals.note(OVERLOADED, OTHER, principal, cycle.scope)
        cycle.response_started = cycle.response_complete = True
        date = b"".join(b"%b: %b\r\n" % header for header in self.server_state.default_headers)
        last = b"" if cycle.keep_alive else b"connection: close\r\n"
        self.transport.write(
            b"".join(
                (_HEAD, date, last, b"\r\n", b"" if cycle.scope["method"] == "HEAD" else _BODY)
            )
        )
        if not cycle.keep_alive:
            self.transport.close()
        self.on_response_complete()

    def _say(self, problem: ProblemError) -> None:
        self._site.desk.refusals.note(problem, OTHER, None, {"client": self.client})
        super()._say(problem)

    def _line(self, principal: Principal | None, scope: Any) -> str:
        """The holder's, or the address's if nobody is known."""
        return line_of_address(scope) if principal is None else principal.holder

    def _principal(self, scope: Any) -> Principal | None:
        """Whose request this is, if anybody's."""
        try:
            headers = read_headers(scope)
            if b"authorization" in headers:
                return authenticate(self._site.desk.exchange.keys, read_secret(headers))
            return signed_in(self._site.signins, headers, changes=False)
        except ProblemError:
            return None


OVERLOADED = overloaded()


def _refusal() -> tuple[bytes, bytes]:
    problem = OVERLOADED
    body = encode(problem.problem())
    headers = [
        (b"content-type", PROBLEM),
        (b"content-length", b"%d" % len(body)),
        *EVERY,
        *problem_headers(problem),
    ]
    return STATUS_LINE[problem.status] + b"".join(
        b"%b: %b\r\n" % header for header in headers
    ), body


_HEAD, _BODY = _refusal()
