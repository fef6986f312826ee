"""One request, read and checked, on its way through an operation; and what the operation
answers."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from laissez.exchange.accounts import Account
from laissez.exchange.commands import Command
from laissez.exchange.events import Applied
from laissez.server.audit.refusals import Journaled
from laissez.server.auth import Principal
from laissez.server.gateway import Gateway
from laissez.server.http.request import Request
from laissez.wire.decoding import read_time
from laissez.wire.problems import Code, ProblemError

if TYPE_CHECKING:
    from laissez.server.http.site import Site

NOBODY = Principal("", "", frozenset())


class Answer(msgspec.Struct, gc=False):
    """`content` is encoded as JSON, unless `media` says what it is; then it is bytes. `status` is
    the operation's unless given."""

    content: Any
    media: bytes = b""
    status: int = 0
    # sends its body itself, for as long as it lasts
    streams: Callable[[Request], Awaitable[None]] | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()  # beside those that every answer has


class Call:
    """A request as an operation sees it: read, checked and authenticated."""

    __slots__ = (
        "accept",
        "body",
        "gateway",
        "headers",
        "is_paid",
        "key",
        "known",
        "last_event_id",
        "path",
        "principal",
        "query",
        "replayed",
        "request",
        "site",
    )

    def __init__(self, site: Site, request: Request) -> None:
        self.site = site
        self.request = request
        self.gateway: Gateway = site.gateway
        self.principal = NOBODY
        self.known = NOBODY  # the key's holder, also where the key lacks the permission
        self.headers: dict[bytes, bytes] = {}  # those that the server reads
        self.path: dict[str, str] = {}
        self.query: dict[str, str] = {}
        self.body: Any = None
        self.key = ""  # the Idempotency-Key, if there is one
        self.accept = ""
        self.last_event_id: str | None = None
        self.is_paid = False  # a rate limit covers the answer
        self.replayed = False  # carried out before, under the same Idempotency-Key

    @property
    def scope(self) -> Mapping[str, Any]:
        return self.request.scope

    def enter(self, command: Command, body: bytes = b"") -> Applied:
        """Enter a command; a repeat gets its first outcome. Raises a refusal."""
        self.admit(self.principal)
        result = self.gateway.enter(
            self.principal.holder, self.principal.key, self.key, command, body
        )
        self.replayed = result.replayed
        refusal = result.applied.refusal
        if refusal is not None:
            raise Journaled(refusal, self.principal.holder)
        return result.applied

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
        self.gateway.admission.admit(principal, commands)
        self.is_paid = True

    def admit_items(self, items: int) -> None:
        self.gateway.admission.admit_question(self.principal, events=items)
        self.is_paid = True

    def owe_items(self, items: int) -> None:
        """Charge the rate limit for items once their number is known. The caller's next questions
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


def unauthenticated() -> ProblemError:
    """A new error each time: one that is raised again keeps the frames, and so the requests, of all
    times before."""
    return ProblemError(
        Code.UNAUTHENTICATED, "expected a key that is in force, as Authorization: Bearer lz_..."
    )
