"""API keys. A key has 32 random bytes and is shown once; only its hash is kept.

    lz_<id>_<secret>   the id finds the record; the hash is compared in constant time

A key belongs to a tenant or to the operator and has scopes: `read`, `trade` (tenants only) and
`operate` (the operator only). Two keys of one name may be live at once, so that a new key can
replace the old one without downtime. A revoked key is invalid at once.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

import msgspec

from laissez.exchange.commands import OPERATOR
from laissez.exchange.keys import KeyRecord
from laissez.wire.ids import KEY
from laissez.wire.problems import Code, ProblemError

_PREFIX = "lz_"


class Principal(msgspec.Struct, frozen=True):
    """The authenticated caller. `signin` is the digest of the console sign-in that stands for the
    key, if any."""

    holder: str
    key: str
    scopes: frozenset[str]
    signin: bytes = b""

    @property
    def is_operator(self) -> bool:
        return self.holder == OPERATOR


# the caller without a key, where none is needed
NOBODY = Principal("", "", frozenset())


class NewKey(msgspec.Struct, frozen=True):
    id: str
    secret: str
    digest: bytes


def new_key() -> NewKey:
    name = secrets.token_hex(8)
    secret = f"{_PREFIX}{name}_{secrets.token_urlsafe(32)}"
    return NewKey(KEY + name, secret, digest_of(secret))


def digest_of(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def authenticate(keys: dict[str, KeyRecord], secret: str) -> Principal | None:
    """The holder of a key; None if the key is malformed, unknown or revoked."""
    name = secret.removeprefix(_PREFIX).partition("_")[0]
    record = keys.get(KEY + name)
    digest = digest_of(secret)
    if record is None or not hmac.compare_digest(record.digest, digest):
        return None
    return holder_of(keys, record.id)


def holder_of(keys: dict[str, KeyRecord], id: str) -> Principal | None:
    """The holder of the key with this id; None if it is unknown or revoked."""
    record = keys.get(id)
    if record is None or record.revoked_at is not None:
        return None
    return Principal(record.holder, record.id, frozenset(record.scopes))


def unauthenticated() -> ProblemError:
    """A new error each time: raising one object again would keep the frames, and so the requests,
    of every earlier raise."""
    return ProblemError(
        Code.UNAUTHENTICATED, "expected a valid key, as Authorization: Bearer lz_..."
    )


def check_may_look_back(principal: Principal, asked_by: str) -> None:
    """Past events need the scope `read`. Without it a key receives only new events."""
    if "read" not in principal.scopes:
        has = ", ".join(sorted(principal.scopes))
        raise ProblemError(
            Code.FORBIDDEN,
            f"{asked_by}: past events need a key with the scope read; yours has {has}",
        )
