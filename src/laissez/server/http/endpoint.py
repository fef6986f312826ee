"""One request from authentication to the answer.

An operation reads or applies, and returns. Here, for all operations alike, answers and problems
wait until everything they reflect is durable. Reads of past events and bills, metrics and streams
also wait for the journal themselves (`Gateway.all_durable`). Most requests need no task: they are
carried out when they arrive, and the gateway sends the answer.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from msgspec.structs import asdict

from laissez.exchange import commands
from laissez.exchange.accounts import Account
from laissez.exchange.commands import Command
from laissez.exchange.events import Applied
from laissez.server.admission import failed
from laissez.server.audit.refusals import Journaled
from laissez.server.auth import NOBODY, Principal, unauthenticated
from laissez.server.http.cookies import signed_in
from laissez.server.http.messages import (
    INTERNAL,
    JSON,
    NO_PARAMS,
    Request,
    check_accept,
    check_json,
    decode,
    encode,
    head_of,
    line_of_address,
    problem_parts,
    read_key,
    read_query,
    read_secret,
    too_large,
)
from laissez.server.rate_limits import RateLimit
from laissez.wire.decoding import read_command, read_time
from laissez.wire.events import Numbered
from laissez.wire.limits import BATCH_BYTES_MAX
from laissez.wire.problems import Code, ProblemError
from laissez.wire.rendering import rendered
from laissez.wire.requests import SignIn

if TYPE_CHECKING:
    from laissez.server.http.app import Site
    from laissez.server.http.operation import Operation

# monitoring must work when the service is behind
NEVER_WAIT = frozenset({"/healthz", "/readyz", "/metrics"})
# limited separately: an address that sends wrong keys still gets health and metrics
WATCHING = "/watching"
OTHER = "other"  # the name for requests that match no operation

T = TypeVar("T")

logger = logging.getLogger(__name__)


class Answer(msgspec.Struct, Generic[T], gc=False):
    """An answer other than plain JSON: bytes with a media type, another status than the
    operation's, more headers, or a stream, which sends its own body."""

    content: T
    media: str = ""
    status: int = 0
    streams: Callable[[Request], Awaitable[None]] | None = None
    headers: str = ""  # whole lines


class Call:
    """A request as an operation sees it: read, checked and authenticated."""

    def __init__(self, site: Site, operation: Operation, request: Request) -> None:
        self.site = site
        self.operation = operation
        self.gateway = site.gateway
        self.request = request
        self.principal = NOBODY
        self.path = request.path_params
        self.query: Mapping[str, str] = NO_PARAMS
        self.body: Any = None
        self.key = ""  # the Idempotency-Key, if there is one
        self.limit: RateLimit | None = None  # that the commands were taken from
        self.is_paid = False  # a rate limit covers the answer
        self.is_admitted = False  # one command that is not entered yet
        self.applied: Applied | None = None  # the outcome of the command
        self.replayed = False  # carried out earlier under the same Idempotency-Key
        # the answer, until it may be sent
        self.problem: ProblemError | None = None
        self.status = 0
        self.head = ""
        self.content = b""

    @property
    def accept(self) -> str:
        """The header `Accept`; empty for HEAD, which cannot stream."""
        sent = self.request.headers.get(b"accept", b"")
        return "" if self.request.method == "HEAD" else sent.decode("latin-1")

    @property
    def events(self) -> tuple[Numbered, ...]:
        """The events of the command, as the caller may see them."""
        assert self.applied is not None
        return rendered(self.applied, self.principal.holder)

    def enter(self, command: Command, body: bytes = b"") -> Applied:
        """Enter a command; a repeat gets its first outcome. Raises a refusal."""
        if not self.is_admitted:
            self.admit(self.principal)
        self.is_admitted = False
        holder = self.principal.holder
        request = commands.Request(holder, self.principal.key, self.key, body, command)
        self.applied, self.replayed = applied, _ = self.gateway.submit(request)
        if applied.refusal is not None:
            raise Journaled(applied.refusal, holder)
        return applied

    def check_in_force(self) -> None:
        """Re-check the key and the sign-in: they may have ended while the body arrived, or between
        two parts of the work."""
        principal = self.principal
        if principal is NOBODY:
            return
        if self.gateway.exchange.keys[principal.key].revoked_at is not None or (
            principal.signin and not self.site.signins.is_valid(principal)
        ):
            raise unauthenticated()

    def admit(self, principal: Principal, commands: int = 1) -> None:
        self.limit = self.gateway.admission.admit(principal, commands)
        self.is_paid = True

    def admit_items(self, items: int) -> None:
        """Admit a read that pays by item, before any work. If the number of items is not known yet,
        pass 0 and call `owe_items` later."""
        self.gateway.admission.admit_read(self.principal, events=items)
        self.is_paid = True

    def owe_items(self, items: int) -> None:
        """Charge the rate limit for items once their number is known. The caller's next reads
        are refused until that is paid."""
        self.gateway.admission.owe_items(self.principal, items)

    def time(self, name: str) -> int | None:
        """A time in the query."""
        text = self.query.get(name)
        return None if text is None else read_time(text, name)

    @property
    def first_command(self) -> Command | None:
        """The command first carried out under this Idempotency-Key; None if the key is new."""
        return self.gateway.first_command(self.principal.holder, self.key)

    @property
    def account(self) -> Account:
        """The calling tenant."""
        return self.gateway.exchange.accounts[self.principal.holder]

    def accounts(self) -> list[Account]:
        """The accounts that a list covers: the tenant's own; for the operator the one named in the
        query, or all."""
        named = self.query.get("tenant")
        if not self.principal.is_operator:
            if named is not None:
                raise ProblemError(
                    Code.FORBIDDEN, "tenant: only the operator may ask for a tenant by name"
                )
            return [self.account]
        return (
            list(self.gateway.exchange.accounts.values()) if named is None else [self.tenant(named)]
        )

    def tenant(self, name: str) -> Account:
        account = self.gateway.exchange.accounts.get(name)
        if account is None:
            raise ProblemError(Code.NOT_FOUND, f"there is no tenant {name[:200]!r}")
        return account


def digest_of(asked: object) -> bytes:
    """A digest of the whole request, kept with its Idempotency-Key."""
    return hashlib.blake2b(msgspec.msgpack.encode(asked), digest_size=8).digest()


class Endpoint:
    """An operation with everything prepared that does not depend on a request."""

    def __init__(self, operation: Operation, site: Site) -> None:
        self._site = site
        self._gateway = site.gateway
        self._admission = site.gateway.admission
        self._operation = operation
        self._decoder: msgspec.json.Decoder[Any] | None = None
        self._bytes_max = 0
        if operation.body is not None:
            self._decoder = msgspec.json.Decoder(operation.body)
            limits = site.gateway.limits
            self._bytes_max = limits.batch_bytes_max if operation.large else limits.body_bytes_max
        self._query_names = operation.query_names
        self._waits = inspect.iscoroutinefunction(operation.carry_out)
        self._apart = WATCHING if operation.path in NEVER_WAIT else ""
        self._mutates = operation.mutates
        self._takes_key = operation.takes_key
        self._admits_read = not operation.pays_by_item and (
            not operation.mutates or operation.adds_up
        )
        self._lists = operation.paged or operation.adds_up

    def serve(self, request: Request) -> None:
        """Carry out a request at once, or begin a task if the operation or the body takes time."""
        call = Call(self._site, self._operation, request)
        try:
            self._admit(call)
            if request.is_complete and not self._waits:
                self._read_body(call, request.body(self._bytes_max))
                self._answer(call, self._carry_out(call))
                return
        except Exception as error:
            self._fail(call, error)
            return
        request.connection.go_on(self._go_on(call))

    async def _go_on(self, call: Call) -> None:
        try:
            self._read_body(call, await call.request.whole_body(self._bytes_max))
            call.check_in_force()
            answer = self._carry_out(call)
            if self._waits:
                answer = await answer
            if type(answer) is Answer and answer.streams is not None:
                self._check_paid(call)
                self._site.count(self._operation.name, self._operation.status)
                await answer.streams(call.request)
                return
            # A command has been carried out anyway, and a stream checks by itself.
            if self._waits and not self._mutates:
                call.check_in_force()
            self._answer(call, answer)
        except Exception as error:
            self._fail(call, error)

    # -- in

    def _admit(self, call: Call) -> None:
        """Make all checks that need only the head."""
        request, headers, operation = call.request, call.request.headers, self._operation
        if request.repeated:
            request.check_repeated()
        if operation.scopes is not None:
            self._authenticate(call)
        if request.query:
            call.query = read_query(request.query, self._query_names)
        if b"accept" in headers:
            check_accept(headers[b"accept"], operation.media)
        if self._takes_key and b"idempotency-key" in headers:
            call.key = read_key(headers[b"idempotency-key"])
        if call.principal is not NOBODY:
            self._check_rate(call)
        if self._decoder is not None:
            check_json(headers)
        if request.size > self._bytes_max:
            raise too_large(self._bytes_max)

    def _check_rate(self, call: Call) -> None:
        if self._admits_read:
            lists = self._lists and "scope" not in call.query
            self._admission.admit_read(call.principal, lists=lists)
            call.is_paid = not self._mutates
        elif self._operation.command is not None and call.request.is_complete:
            call.admit(call.principal)
            call.is_admitted = True
        elif self._mutates:
            self._admission.check_command(call.principal)

    def _authenticate(self, call: Call) -> None:
        scopes = self._operation.scopes
        principal = authenticated(self._site, call.request, self._mutates)
        if principal is None:
            raise unauthenticated()
        call.principal = principal
        if self._operation.of_operator and not principal.is_operator:
            raise ProblemError(
                Code.FORBIDDEN, f"expected a key of the operator, found one of {principal.holder}"
            )
        if scopes and principal.scopes.isdisjoint(scopes):
            raise ProblemError(
                Code.FORBIDDEN,
                f"expected a key with the scope {' or '.join(scopes)}; yours has"
                f" {', '.join(sorted(principal.scopes))}",
            )

    def _read_body(self, call: Call, body: bytes) -> None:
        if self._decoder is not None:
            call.body = decode(self._decoder, body)

    def _carry_out(self, call: Call) -> Any:
        """Carry out the operation. A command becomes the message that a session would send."""
        command = self._operation.command
        if command is not None:
            fields = {} if call.body is None else asdict(call.body)
            call.enter(read_command(call.principal.holder, command(**call.path, **fields)))
        return self._operation.carry_out(call)

    # -- out

    def _check_paid(self, call: Call) -> None:
        """A read that nothing admitted would have no rate limit."""
        assert call.is_paid or self._mutates or call.principal is NOBODY, self._operation.name

    def _answer(self, call: Call, answer: Any) -> None:
        self._check_paid(call)
        media, more = JSON, self._more_headers(call)
        call.status = self._operation.status
        if type(answer) is not Answer:
            call.content = encode(answer)
        else:
            call.status = answer.status or call.status
            call.content = answer.content if answer.media else encode(answer.content)
            media = answer.media or JSON
            more += answer.headers
        call.head = head_of(call.status, media, len(call.content), more)
        if self._operation.durable:
            self._admission.check_journal()
            self._gateway.when_durable(self._send, call, self._lose)
        else:
            self._send(call)

    def _fail(self, call: Call, error: Exception) -> None:
        """Answer with a problem. A refusal reveals state, too. Once the journal has failed, that
        state may never become durable."""
        if not isinstance(error, ProblemError):
            logger.error("bug in %s", self._operation.name, exc_info=error)
            self._site.count(self._operation.name, INTERNAL.status)
            call.request.break_off()
            return
        if call.is_admitted:
            self._admission.give_back(call.principal, 1)
            call.is_paid = False
        has_failed = self._gateway.failure is not None
        call.problem = failed() if has_failed and self._operation.durable else error
        call.status = call.problem.status
        call.head, call.content = problem_parts(call.problem, self._more_headers(call))
        if has_failed:
            self._send(call)
        else:
            self._gateway.when_durable(self._send, call, self._lose)

    def _more_headers(self, call: Call) -> str:
        more = "idempotency-replayed: true\r\n" if call.replayed else ""
        principal = call.principal
        if self._mutates and principal is not NOBODY and not principal.is_operator:
            limit = call.limit or self._admission.rate_limit(principal.holder)
            more += f"ratelimit-limit: {limit.burst}\r\nratelimit-remaining: {limit.remaining}\r\n"
        return more

    def _lose(self, call: Call) -> None:
        """The answer can never be sent: the journal has failed."""
        self._fail(call, failed())

    def _send(self, call: Call) -> None:
        """Send the answer. The gateway calls this and must not see errors."""
        request, name = call.request, self._operation.name
        try:
            self._site.count(name, call.status)
            if call.problem is not None:
                self._gateway.refusals.note(
                    call.problem, name, call.principal, request.scope, call.key, _secret(call)
                )
            if (
                call.is_paid
                or call.principal.is_operator
                or (call.problem is None and call.principal is not NOBODY)
            ):
                request.answer(call.head, call.content)
            else:
                answer_at_pace(
                    self._site, call.principal, request, call.head, call.content, self._apart
                )
        except Exception:
            logger.exception("bug in an answer of %s", name)
            request.break_off()


def authenticated(site: Site, request: Request, changes: bool) -> Principal | None:
    """The principal of a request, by its key or its cookie."""
    if b"authorization" in request.headers:
        return request.connection.authenticate(request.headers[b"authorization"])
    return signed_in(site.signins, request.headers, changes)


def answer_at_pace(
    site: Site, principal: Principal, request: Request, head: str, body: bytes, apart: str = ""
) -> None:
    """Send an answer that no rate limit covers, delayed above the limit for refusals. The
    connection sends nothing else meanwhile. `apart` names a separate limit."""
    who = principal.holder if principal is not NOBODY else line_of_address(request.scope)
    bytes_read = min(request.size, BATCH_BYTES_MAX)
    delay_s = site.gateway.admission.delay_s(who + apart, 1, bytes_read)
    if delay_s:
        asyncio.get_running_loop().call_later(delay_s, request.answer, head, body)
    else:
        request.answer(head, body)


def refuse(site: Site, problem: ProblemError, request: Request, more: str = "") -> None:
    """Refuse a request that matches no operation."""
    site.gateway.refusals.note(problem, OTHER, None, request.scope)
    answer_at_pace(site, NOBODY, request, *problem_parts(problem, more))


def _secret(call: Call) -> str:
    """The key in a request, valid or not."""
    if isinstance(call.body, SignIn):
        return call.body.key
    return read_secret(call.request.headers.get(b"authorization", b""))
