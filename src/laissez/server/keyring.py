"""Keys and who may have them. A key is made of 32 random bytes and shown once; only its hash is
kept.

    lz_<id>_<secret>   the id finds the record, the secret is hashed and compared in constant time

A key belongs to a tenant or to the operator and has scopes: `read`, `trade` (a tenant's), `operate`
(the operator's). Two keys of one name may live at once, so that a new one can replace the old
without a gap; a revoked key is worthless from that instant.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

import msgspec

from laissez.market.commands import TENANT_NAME_MAX
from laissez.server.accounts import Account, KeyRecord
from laissez.server.caps import check_texts
from laissez.server.commands import OPERATOR, CreateTenant, IssueKey, RevokeKey
from laissez.server.turned import Turned
from laissez.wire.ids import KEY, tag_of
from laissez.wire.limits import KEY_NAMES_MAX, KEYS_LIVE_MAX, OPEN_ORDERS_MAX
from laissez.wire.problems import Code, ProblemError
from laissez.wire.requests import Caps

SCOPES = ("read", "trade", "operate")
TENANT_SCOPES = ("read", "trade")
OPERATOR_SCOPES = ("read", "operate")
NAME_MAX = 64
CAP_MAX = 1_000_000
_PREFIX = "lz_"


class Principal(msgspec.Struct, frozen=True):
    """Whoever holds the key that a request came with. `signin` is the digest of the sign-in that
    stood for the key, if one did."""

    holder: str
    key: str
    scopes: frozenset[str]
    signin: bytes = b""

    @property
    def is_operator(self) -> bool:
        return self.holder == OPERATOR


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
    """Whose key this is; None for one that is malformed, unknown or revoked, all alike."""
    name = secret.removeprefix(_PREFIX).partition("_")[0]
    record = keys.get(KEY + name)
    digest = digest_of(secret)
    if record is None or not hmac.compare_digest(record.digest, digest):
        return None
    return holder_of(keys, record.id)


def holder_of(keys: dict[str, KeyRecord], id: str) -> Principal | None:
    """Whoever has the key with this id; None if it is unknown or revoked."""
    record = keys.get(id)
    if record is None or record.revoked_at is not None:
        return None
    return Principal(record.holder, record.id, frozenset(record.scopes))


def check_may_look_back(principal: Principal, asked_by: str) -> None:
    """Whoever trades or operates is told what happens from now on, in a session or by a webhook.
    What happened before takes `read`, however it is asked for: else a key that may not look could
    have everything told again."""
    if "read" not in principal.scopes:
        has = ", ".join(sorted(principal.scopes))
        raise ProblemError(
            Code.FORBIDDEN,
            f"{asked_by}: what happened before takes a key with the scope read; yours has {has}",
        )


# -- what may speak against a change


def check_new_tenant(accounts: dict[str, Account], tags: set[str], command: CreateTenant) -> None:
    name = command.name
    if (
        not 1 <= len(name) <= TENANT_NAME_MAX
        or not name.isprintable()
        or name != name.strip()
        or name in (OPERATOR, ".", "..")
        or "/" in name
    ):
        raise Turned(
            "tenant_invalid",
            f"{name[:TENANT_NAME_MAX]!r} is no tenant's name: expected 1 to 200 printable"
            " characters without '/', and not 'operator', '.' or '..'",
        )
    if name in accounts:
        raise Turned(Code.CONFLICT, f"there is a tenant {name!r} already")
    # as good as never by chance; on purpose, one could have the ids of another
    if tag_of(name) in tags:
        raise Turned(
            "tenant_invalid",
            f"{name!r} cannot be told from another holder in ids: expected a name that can",
        )
    check_caps(command.caps)


def check_caps(caps: Caps) -> None:
    check_texts(caps)
    for field in ("open_orders", "commands_per_second", "commands_burst", "sessions"):
        value = getattr(caps, field)
        most = OPEN_ORDERS_MAX if field == "open_orders" else CAP_MAX
        if value is not None and not 0 <= value <= most:
            raise Turned(Code.BAD_REQUEST, f"caps.{field}: expected 0 to {most}, found {value}")


def check_new_key(
    accounts: dict[str, Account], keys: dict[str, KeyRecord], command: IssueKey
) -> None:
    if command.holder != OPERATOR and command.holder not in accounts:
        raise Turned(Code.NOT_FOUND, f"there is no tenant {command.holder!r}")
    allowed = OPERATOR_SCOPES if command.holder == OPERATOR else TENANT_SCOPES
    if not command.scopes or not set(command.scopes) <= set(allowed):
        raise Turned(
            Code.BAD_REQUEST,
            f"scopes: expected one or more of {', '.join(allowed)}, found {list(command.scopes)}",
        )
    if not 1 <= len(command.name) <= NAME_MAX or not command.name.isprintable():
        raise Turned(
            Code.BAD_REQUEST,
            f"name: expected 1 to {NAME_MAX} printable characters, found"
            f" {command.name[:NAME_MAX]!r}",
        )
    live = [key for key in keys.values() if key.holder == command.holder and key.revoked_at is None]
    if sum(key.name == command.name for key in live) >= KEYS_LIVE_MAX:
        raise Turned(
            Code.TOO_MANY_KEYS,
            f"{command.holder} has {KEYS_LIVE_MAX} live keys named {command.name!r}: revoke one"
            " first",
        )
    names = {key.name for key in live}
    if command.name not in names and len(names) >= KEY_NAMES_MAX:
        raise Turned(
            Code.TOO_MANY_KEYS,
            f"{command.holder} has keys of {KEY_NAMES_MAX} names, and may not have more",
        )


def key_to_revoke(keys: dict[str, KeyRecord], command: RevokeKey) -> KeyRecord:
    record = keys.get(command.key)
    if record is None or record.revoked_at is not None:
        raise Turned(Code.NOT_FOUND, f"there is no live key {command.key!r}")
    if (
        "operate" in record.scopes
        and sum("operate" in key.scopes for key in keys.values() if key.revoked_at is None) == 1
    ):
        raise Turned(
            Code.CONFLICT, f"{record.id} is the operator's last key: issue another one first"
        )
    return record
