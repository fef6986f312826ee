"""Lists in pages. A cursor names the last item seen, not how many there were: it stays right while
the list changes."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

import msgspec

from laissez.exchange.accounts import Account
from laissez.server.http.call import Call
from laissez.server.views import own_number
from laissez.wire.problems import Code, ProblemError
from laissez.wire.views import Page

T = TypeVar("T")

CURSOR_MAX = 2_000  # characters; a path of the deepest tree fits
_read = msgspec.msgpack.Decoder(tuple[str, str, int]).decode


class Cursor(msgspec.Struct, frozen=True):
    """The last item seen, by name or number or both: a tenant's, a path, a key's. Each list uses
    what it is ordered by."""

    name: str = ""
    number: int = 0


def limit_of(call: Call) -> int:
    text = call.query.get("limit")
    limits = call.gateway.limits
    if text is None:
        return limits.page_default
    if (
        not text.isascii()
        or not text.isdigit()
        or len(text) > 9
        or not 1 <= int(text) <= limits.page_max
    ):
        raise ProblemError(
            Code.BAD_REQUEST, f"limit: expected 1 to {limits.page_max}, found {text[:40]!r}"
        )
    return int(text)


def cursor_of(call: Call, list_name: str) -> Cursor | None:
    text = call.query.get("cursor")
    if text is None:
        return None
    try:
        if len(text) > CURSOR_MAX:
            raise ValueError
        raw = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
        of, name, number = _read(raw)
    except (ValueError, binascii.Error, msgspec.MsgspecError):
        of, name, number = "", "", 0
    if of != list_name:
        raise ProblemError(
            Code.BAD_REQUEST,
            f"cursor: expected one that a page of this list gave, found {text[:40]!r}",
        )
    return Cursor(name, number)


def written(list_name: str, cursor: Cursor) -> str:
    return (
        base64.urlsafe_b64encode(msgspec.msgpack.encode((list_name, cursor.name, cursor.number)))
        .decode()
        .rstrip("=")
    )


def page(call: Call, list_name: str, items: Iterable[T], place: Callable[[T], Cursor]) -> Page[T]:
    """The first of `items`, which begin after the cursor, and where the next page begins."""
    limit = limit_of(call)
    found = list(islice(items, limit + 1))
    if len(found) <= limit:
        return Page(tuple(found), False, None)
    return Page(tuple(found[:limit]), True, written(list_name, place(found[limit - 1])))


def weighed_page(
    call: Call,
    list_name: str,
    items: Iterable[T],
    place: Callable[[T], Cursor],
    weigh: Callable[[T], int],
) -> tuple[Page[T], int]:
    """The same where some items are far longer than others: together they weigh no more than a page
    may hold, unless the first alone does. And what they weigh."""
    limit, most = limit_of(call), call.gateway.limits.page_max
    found: list[T] = []
    weight = 0
    for item in items:
        more = weigh(item)
        if found and (len(found) == limit or weight + more > most):
            return Page(tuple(found), True, written(list_name, place(found[-1]))), weight
        found.append(item)
        weight += more
    return Page(tuple(found), False, None), weight


# -- lists of tenants' things


def of_accounts(
    call: Call,
    list_name: str,
    items: Callable[[Account], Iterable[T]],
    id_of: Callable[[T], str],
    owner_of: Callable[[T], str | None],
) -> Page[T]:
    """What belongs to tenants, each tenant's oldest first; the operator's list goes through the
    tenants in the order in which they were made."""
    cursor = cursor_of(call, list_name)
    whole = _after(call.accounts(), cursor, items, id_of)
    return page(
        call,
        list_name,
        whole,
        lambda item: Cursor(owner_of(item) or call.principal.holder, own_number(id_of(item))),
    )


def _after(
    accounts: list[Account],
    cursor: Cursor | None,
    items: Callable[[Account], Iterable[T]],
    id_of: Callable[[T], str],
) -> Iterator[T]:
    reached = cursor is None
    for account in accounts:
        if reached:
            yield from items(account)
        elif cursor is not None and account.name == cursor.name:
            reached = True
            yield from (item for item in items(account) if own_number(id_of(item)) > cursor.number)


# -- lists of paths


def path_key(path: str) -> list[str]:
    return path.split("/")


def paths_after(
    paths: Sequence[str], cursor: Cursor | None, first: int = 0, last: int | None = None
) -> Iterator[str]:
    """The paths of `paths[first:last]`, which are in path order, that come after the cursor."""
    end = len(paths) if last is None else last
    begin = (
        first
        if cursor is None
        else max(first, bisect_right(paths, path_key(cursor.name), key=path_key))
    )
    return (paths[index] for index in range(begin, end))
