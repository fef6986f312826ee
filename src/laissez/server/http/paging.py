"""Lists in pages.

A cursor is opaque to clients. It names the list and the last item seen, not a count, so it stays
valid while the list changes. The name of a list is its operation and the values in its path: a
cursor is refused by every other list.

A page that says `has_more` has at least one item. Clients rely on that: they stop at an empty page
(`next_page` in `client/request.py`).
"""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from laissez.exchange.accounts import Account
from laissez.server.http.endpoint import Call
from laissez.server.http.messages import bad_request
from laissez.server.views import own_number
from laissez.wire.views import Instance, Lease, Order, Page

T = TypeVar("T")
Owned = TypeVar("Owned", Order, Lease, Instance)

CURSOR_MAX = 2_000  # characters; a path of the deepest tree fits
_decode = msgspec.msgpack.Decoder(tuple[str, str, int]).decode


class Cursor(msgspec.Struct, frozen=True):
    """The last item seen, by the key of the list's order: a name, a path, a number."""

    name: str = ""
    number: int = 0


def wanted_of(call: Call) -> int:
    """The number of items that `page` needs: a page of them, and one that shows that there are
    more."""
    return _limit_of(call) + 1


def _limit_of(call: Call) -> int:
    text = call.query.get("limit")
    limits = call.gateway.limits
    if text is None:
        return limits.page_default
    is_number = text.isascii() and text.isdigit() and len(text) <= 9
    if not is_number or not 1 <= int(text) <= limits.page_max:
        raise bad_request(f"limit: expected 1 to {limits.page_max}, found {text[:40]!r}")
    return int(text)


def _list_of(call: Call) -> str:
    return "/".join((call.operation.name, *call.path.values()))


def cursor_of(call: Call) -> Cursor | None:
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
    if of != _list_of(call):
        raise bad_request(f"cursor: expected one from a page of this list, found {text[:40]!r}")
    return Cursor(name, number)


def page(
    call: Call,
    items: Iterable[tuple[Cursor, T]],
    weigh: Callable[[Any], int] = lambda item: 1,
) -> Page[T]:
    """A page of `items`, which begin after the cursor: all that are left, or at least `wanted_of`
    them. Their total weight is at most the highest limit of a page, unless the first item alone
    weighs more."""
    limit, most = _limit_of(call), call.gateway.limits.page_max
    found: list[T] = []
    weight, last = 0, Cursor()
    for cursor, item in items:
        weight += weigh(item)
        if found and (len(found) == limit or weight > most):
            raw = msgspec.msgpack.encode((_list_of(call), last.name, last.number))
            return Page(tuple(found), True, base64.urlsafe_b64encode(raw).decode().rstrip("="))
        found.append(item)
        last = cursor
    return Page(tuple(found), False, None)


def page_of_owned(call: Call, items: Callable[[Account], Iterable[Owned]]) -> Page[Owned]:
    """The items that tenants own, oldest first for each tenant. The operator's list goes through
    the tenants in the order in which they were created."""
    return page(call, _owned_after(call.accounts(), cursor_of(call), items))


def _owned_after(
    accounts: list[Account], cursor: Cursor | None, items: Callable[[Account], Iterable[Owned]]
) -> Iterator[tuple[Cursor, Owned]]:
    reached = cursor is None
    for account in accounts:
        after = 0
        if cursor is not None and account.name == cursor.name:
            reached, after = True, cursor.number
        if reached:
            for item in items(account):
                number = own_number(item.id)
                if number > after:
                    yield Cursor(account.name, number), item


def names_after(call: Call, names: Sequence[str]) -> Sequence[str]:
    """The names after the cursor's, in the order of `names`; none if the cursor's name is gone."""
    cursor = cursor_of(call)
    if cursor is None:
        return names
    return names[names.index(cursor.name) + 1 :] if cursor.name in names else ()


def page_of_names(call: Call, names: Sequence[str], view: Callable[[str], T]) -> Page[T]:
    return page(call, ((Cursor(name), view(name)) for name in names_after(call, names)))


def page_of_paths(
    call: Call,
    paths: Sequence[str],
    view: Callable[[str], T],
    between: tuple[int, int] | None = None,
    weigh: Callable[[Any], int] = lambda item: 1,
) -> Page[T]:
    """A page of `paths`, which are in path order, or of those `between` two indexes."""
    first, last = between or (0, len(paths))
    cursor = cursor_of(call)
    if cursor is not None:
        first = max(first, bisect_right(paths, path_key(cursor.name), key=path_key))
    found = (paths[index] for index in range(first, last))
    return page(call, ((Cursor(path), view(path)) for path in found), weigh)


def path_key(path: str) -> list[str]:
    return path.split("/")
