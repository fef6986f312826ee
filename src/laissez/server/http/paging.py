"""Lists in pages.

A cursor is opaque to clients. It names the list and the last item seen rather than how many there
were, so it stays right while the list changes.
"""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from laissez.exchange.accounts import Account
from laissez.server.http.call import Call
from laissez.server.http.request import bad_request
from laissez.server.views import own_number
from laissez.wire.views import Instance, Lease, Order, Page

T = TypeVar("T")
Owned = TypeVar("Owned", Order, Lease, Instance)

CURSOR_MAX = 2_000  # characters; a path of the deepest tree fits
_decode = msgspec.msgpack.Decoder(tuple[str, str, int]).decode


class Cursor(msgspec.Struct, frozen=True):
    """The last item seen, by whatever the list is ordered by: a name, a path, a number."""

    name: str = ""
    number: int = 0


def limit_of(call: Call) -> int:
    text = call.query.get("limit")
    limits = call.gateway.limits
    if text is None:
        return limits.page_default
    is_number = text.isascii() and text.isdigit() and len(text) <= 9
    if not is_number or not 1 <= int(text) <= limits.page_max:
        raise bad_request(f"limit: expected 1 to {limits.page_max}, found {text[:40]!r}")
    return int(text)


def cursor_of(call: Call, list_name: str) -> Cursor | None:
    text = call.query.get("cursor")
    if text is None:
        return None
    try:
        if len(text) > CURSOR_MAX:
            raise ValueError
        of, name, number = _decode(
            base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
        )
    except (ValueError, binascii.Error, msgspec.MsgspecError):
        of, name, number = "", "", 0
    if of != list_name:
        raise bad_request(
            f"cursor: expected one that a page of this list gave, found {text[:40]!r}"
        )
    return Cursor(name, number)


def _text(list_name: str, cursor: Cursor) -> str:
    raw = msgspec.msgpack.encode((list_name, cursor.name, cursor.number))
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def page(
    call: Call,
    list_name: str,
    items: Iterable[T],
    place: Callable[[T], Cursor],
    weigh: Callable[[Any], int] = lambda item: 1,
) -> Page[T]:
    """The first of `items`, which begin after the cursor, and where the next page begins. Together
    they weigh at most what a page may hold, unless the first alone weighs more."""
    limit, most = limit_of(call), call.gateway.limits.page_max
    found: list[T] = []
    weight = 0
    for item in items:
        weight += weigh(item)
        if found and (len(found) == limit or weight > most):
            return Page(tuple(found), True, _text(list_name, place(found[-1])))
        found.append(item)
    return Page(tuple(found), False, None)


def of_accounts(
    call: Call, list_name: str, items: Callable[[Account], Iterable[Owned]]
) -> Page[Owned]:
    """What tenants own, each tenant's oldest first; the operator's list goes through the tenants in
    the order in which they were created."""
    whole = _owned_after(call.accounts(), cursor_of(call, list_name), items)
    return page(
        call,
        list_name,
        whole,
        lambda item: Cursor(item.tenant or call.principal.holder, own_number(item.id)),
    )


def _owned_after(
    accounts: list[Account], cursor: Cursor | None, items: Callable[[Account], Iterable[Owned]]
) -> Iterator[Owned]:
    reached = cursor is None
    for account in accounts:
        if reached:
            yield from items(account)
        elif cursor is not None and account.name == cursor.name:
            reached = True
            yield from (item for item in items(account) if own_number(item.id) > cursor.number)


def names_after(call: Call, list_name: str, names: Sequence[str]) -> Sequence[str]:
    """The names after the cursor's, in the order of `names`; none if that name is gone."""
    cursor = cursor_of(call, list_name)
    if cursor is None:
        return names
    return names[names.index(cursor.name) + 1 :] if cursor.name in names else ()


def paths_after(
    call: Call, list_name: str, paths: Sequence[str], first: int = 0, last: int | None = None
) -> Iterator[str]:
    """The paths of `paths[first:last]`, which are in path order, that come after the cursor."""
    cursor = cursor_of(call, list_name)
    if cursor is not None:
        first = max(first, bisect_right(paths, path_key(cursor.name), key=path_key))
    return (paths[index] for index in range(first, len(paths) if last is None else last))


def path_key(path: str) -> list[str]:
    return path.split("/")
