"""Checks for creating tenants, issuing keys and revoking them.

A key belongs to a tenant or to the operator and has scopes: `read`, `trade` (tenants only) and
`operate` (the operator only). Two keys of one name may be live at once, so that a new key can
replace the old one without downtime. A revoked key is invalid at once.
"""

from __future__ import annotations

import msgspec

from laissez.exchange.accounts import Account
from laissez.exchange.caps import check_caps
from laissez.exchange.commands import OPERATOR, CreateTenant, IssueKey, RevokeKey
from laissez.exchange.names import tag_of
from laissez.exchange.refusals import Denial, Refused
from laissez.market.commands import TENANT_NAME_MAX

TENANT_SCOPES = ("read", "trade")
OPERATOR_SCOPES = ("read", "operate")
NAME_MAX = 64
KEYS_LIVE_MAX = 2  # per name: the key in use and its successor
KEY_NAMES_MAX = 8  # per holder


class KeyRecord(msgspec.Struct):
    id: str
    holder: str
    name: str
    scopes: tuple[str, ...]
    digest: bytes
    issued_at: int
    revoked_at: int | None = None


def check_new_tenant(accounts: dict[str, Account], tags: set[str], command: CreateTenant) -> None:
    name = command.name
    if (
        not 1 <= len(name) <= TENANT_NAME_MAX
        or not name.isprintable()
        or name != name.strip()
        or name in (OPERATOR, ".", "..")
        or "/" in name
    ):
        raise Refused(Denial.TENANT_NAME_INVALID, name[:TENANT_NAME_MAX])
    if name in accounts:
        raise Refused(Denial.TENANT_EXISTS, name)
    # Tags do not collide by chance, but a name could be crafted to share another holder's ids.
    if tag_of(name) in tags:
        raise Refused(Denial.TENANT_TAG_TAKEN, name)
    check_caps(command.caps)


def check_new_key(
    accounts: dict[str, Account], keys: dict[str, KeyRecord], command: IssueKey
) -> None:
    holder = command.holder
    if holder != OPERATOR and holder not in accounts:
        raise Refused(Denial.TENANT_UNKNOWN, holder)
    if not command.scopes or not set(command.scopes) <= set(scopes_of(holder)):
        raise Refused(Denial.KEY_SCOPES_INVALID, holder)
    if not 1 <= len(command.name) <= NAME_MAX or not command.name.isprintable():
        raise Refused(Denial.KEY_NAME_INVALID, command.name[:NAME_MAX], NAME_MAX)
    live = [key for key in keys.values() if key.holder == holder and key.revoked_at is None]
    if sum(key.name == command.name for key in live) >= KEYS_LIVE_MAX:
        raise Refused(Denial.TOO_MANY_KEYS, command.name, KEYS_LIVE_MAX)
    names = {key.name for key in live}
    if command.name not in names and len(names) >= KEY_NAMES_MAX:
        raise Refused(Denial.TOO_MANY_KEY_NAMES, holder, KEY_NAMES_MAX)


def scopes_of(holder: str) -> tuple[str, ...]:
    return OPERATOR_SCOPES if holder == OPERATOR else TENANT_SCOPES


def key_to_revoke(keys: dict[str, KeyRecord], command: RevokeKey) -> KeyRecord:
    record = keys.get(command.key)
    if record is None or record.revoked_at is not None:
        raise Refused(Denial.KEY_UNKNOWN, command.key)
    if (
        "operate" in record.scopes
        and sum("operate" in key.scopes for key in keys.values() if key.revoked_at is None) == 1
    ):
        raise Refused(Denial.LAST_OPERATOR_KEY, record.id)
    return record
