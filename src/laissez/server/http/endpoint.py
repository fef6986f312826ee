"""One request from authentication to the answer.

An operation reads or applies and returns; it never waits for the journal. Here, for all operations
alike, answers and problems wait until everything they reflect is durable.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import Any

import msgspec

from laissez.server.auth import Principal, authenticate
from laissez.server.http import request as incoming
from laissez.server.http.call import NOBODY, Answer, Call, unauthenticated
from laissez.server.http.operation import Operation
from laissez.server.http.protocol import NEVER_WAIT, OTHER
from laissez.server.http.request import Request, line_of_address
from laissez.server.http.response import INTERNAL, JSON, REPLAYED, Headers, encode, head_of
from laissez.server.http.signin import signed_in
from laissez.server.http.site import Site
from laissez.wire.problems import Code, ProblemError
from laissez.wire.requests import SignIn

# limited separately, so that an address that sends wrong keys still gets health and metrics
WATCHING = "/watching"

logger = logging.getLogger(__name__)


class Endpoint:
    """The operations of one path, by method."""

    def __init__(self, site: Site, operations: list[Operation]) -> None:
        self._site = site
        self._by_method = {operation.method: _Ready(operation, site) for operation in operations}
        allowed = [operation.method for operation in operations]
        if "GET" in allowed:
            self._by_method["HEAD"] = self._by_method["GET"]
            allowed.append("HEAD")
        self._allow = ", ".join(sorted([*allowed, "OPTIONS"])).encode()

    async def serve(self, request: Request) -> None:
        ready = self._by_method.get(request.method)
        if ready is not None:
            await ready.serve(request)
        elif request.method == "OPTIONS":
            await keep_pace(self._site, NOBODY, request)
            request.answer(head_of(200, JSON, 0, [(b"allow", self._allow)]), b"")
        else:
            problem = ProblemError(
                Code.METHOD_NOT_ALLOWED,
                f"expected {self._allow.decode()}, found {request.method[:20]}",
            )
            await refuse(self._site, problem, request, [(b"allow", self._allow)])


class _Ready:
    """An operation with everything prepared that does not depend on a request."""

    def __init__(self, operation: Operation, site: Site) -> None:
        self._site = site
        self._gateway = site.gateway
        self._operation = operation
        self._decoder: msgspec.json.Decoder[Any] | None = (
            None if operation.body is None else msgspec.json.Decoder(operation.body)
        )
        limits = site.gateway.limits
        self._bytes_max = limits.batch_bytes_max if operation.large else limits.body_bytes_max
        self._query_names = operation.query_names
        self._waits = inspect.iscoroutinefunction(operation.carry_out)
        self._never_waits = operation.path in NEVER_WAIT
        self._scopes = operation.scopes
        self._limited = operation.mutates
        self._takes_key = operation.takes_key
        self._asks = not operation.pays_by_item and (not operation.mutates or operation.adds_up)
        self._lists = operation.paged or operation.adds_up

    async def serve(self, request: Request) -> None:
        call = Call(self._site, request)
        try:
            try:
                answer = await self._answer(call, request)
                status = answer.status or self._operation.status
                media = answer.media or JSON
                body = answer.content if answer.media else encode(answer.content)
            except ProblemError:
                if self._operation.durable or self._gateway.failure is None:
                    # A refusal reveals state, too. Once the journal has failed, that state may
                    # never become durable.
                    await self._gateway.all_durable()
                raise
            if answer.streams is not None:
                self._site.count(self._operation.name, status)
                await answer.streams(request)
                return
            if self._operation.durable:
                await self._gateway.all_durable()
        except ProblemError as problem:
            self._site.count(self._operation.name, problem.status)
            self._gateway.refusals.note(
                problem, self._operation.name, call.known, request.scope, call.key, _secret(call)
            )
            more = [REPLAYED] if call.replayed else []
            if not call.is_paid:
                await self._keep_pace(call.principal, request)
            request.refuse(problem, [*self._rate_headers(call.principal), *more])
            return
        except Exception:
            logger.exception("bug in %s", self._operation.name)
            self._site.count(self._operation.name, INTERNAL.status)
            request.refuse(INTERNAL, [])
            return
        self._site.count(self._operation.name, status)
        more = [*self._rate_headers(call.principal), *answer.headers]
        if call.replayed:
            more.append(REPLAYED)
        if call.principal is NOBODY and not call.is_paid:
            await self._keep_pace(NOBODY, request)
        request.answer(head_of(status, media, len(body), more), body)

    async def _answer(self, call: Call, request: Request) -> Answer:
        headers = call.headers = incoming.read_headers(request.headers)
        if self._scopes is not None:
            call.known = self._authenticated(headers)
            call.principal = self._permitted(call.known)
        call.path = request.path_params
        call.query = incoming.read_query(request.query, self._query_names)
        accept = headers.get(b"accept", b"")
        incoming.check_accept(accept, self._operation.media)
        # A HEAD request has no stream.
        call.accept = "" if request.method == "HEAD" else accept.decode("latin-1")
        last = headers.get(b"last-event-id")
        call.last_event_id = None if last is None else last.decode("latin-1")
        if self._takes_key:
            call.key = incoming.read_key(headers)
        if self._asks and call.principal is not NOBODY:
            self._gateway.admission.admit_question(
                call.principal, lists=self._lists and "scope" not in call.query
            )
            call.is_paid = not self._limited
        elif self._limited and call.principal is not NOBODY:
            self._gateway.admission.check_command(call.principal)
        if self._decoder is not None:
            call.body = incoming.decode(
                self._decoder, await incoming.read_body(request, headers, self._bytes_max)
            )
        else:
            await incoming.no_body(request, headers)
        if self._waits:
            await asyncio.sleep(0)  # become a task, which such an operation needs: see `protocol`
        call.check_in_force()
        answer = self._operation.carry_out(call)
        if self._waits:
            answer = await answer
            # A command is done in any case, and a stream checks by itself.
            if not self._limited and answer.streams is None:
                call.check_in_force()
        return answer  # type: ignore[no-any-return]

    def _authenticated(self, headers: dict[bytes, bytes]) -> Principal:
        if b"authorization" in headers:
            principal = authenticate(self._gateway.exchange.keys, incoming.read_secret(headers))
        else:
            principal = signed_in(self._site.signins, headers, self._operation.mutates)
        if principal is None:
            raise unauthenticated()
        return principal

    def _permitted(self, principal: Principal) -> Principal:
        if self._operation.of_operator and not principal.is_operator:
            raise ProblemError(
                Code.FORBIDDEN, f"expected a key of the operator, found one of {principal.holder}"
            )
        scopes = self._scopes
        if scopes and principal.scopes.isdisjoint(scopes):
            raise ProblemError(
                Code.FORBIDDEN,
                f"expected a key with the scope {' or '.join(scopes)}; yours has"
                f" {', '.join(sorted(principal.scopes))}",
            )
        return principal

    async def _keep_pace(self, principal: Principal, request: Request) -> None:
        if not principal.is_operator:
            await keep_pace(self._site, principal, request, WATCHING if self._never_waits else "")

    def _rate_headers(self, principal: Principal) -> Headers:
        if not self._limited or principal is NOBODY or principal.is_operator:
            return []
        limit = self._gateway.admission.rate_limit(principal.holder)
        return [
            (b"ratelimit-limit", b"%d" % limit.burst),
            (b"ratelimit-remaining", b"%d" % limit.remaining),
        ]


async def keep_pace(site: Site, principal: Principal, request: Request, apart: str = "") -> None:
    """Delay an answer that no rate limit covers, if there were many. The connection sends nothing
    else meanwhile. `apart` names a separate limit."""
    who = principal.holder if principal is not NOBODY else line_of_address(request.scope)
    delay_s = site.gateway.admission.delay_s(who + apart, 1, incoming.body_size(request))
    if delay_s:
        await asyncio.sleep(delay_s)


async def refuse(site: Site, problem: ProblemError, request: Request, headers: Headers) -> None:
    """Refuse a request that matches no operation."""
    site.gateway.refusals.note(problem, OTHER, None, request.scope)
    await keep_pace(site, NOBODY, request)
    request.refuse(problem, headers)


def _secret(call: Call) -> str:
    """The key that a request came with, valid or not."""
    return call.body.key if isinstance(call.body, SignIn) else incoming.read_secret(call.headers)
