"""An HTTP request as a value, and the conversion of arguments into the text of the API.

A request that changes something gets its idempotency key here, once, so that all attempts to send
it carry the same key.
"""

from __future__ import annotations

import functools
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import quote

import msgspec

from laissez.client.errors import UsageError
from laissez.client.methods import Answerable
from laissez.wire.limits import CLIENT_ID_MAX, PAGE_MAX
from laissez.wire.requests import Alternative
from laissez.wire.views import Page

T = TypeVar("T")
Price: TypeAlias = str | Decimal | int  # no float: most decimals have no exact binary form
Time: TypeAlias = str | datetime

_ID: Final = re.compile(rf"[!-~]{{1,{CLIENT_ID_MAX}}}")
_JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Request(Answerable[T]):
    """One HTTP request and how to decode its answer."""

    method: str
    path: str
    decode: Callable[[bytes], T]
    params: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    idempotency_key: str | None = None  # set if the request changes something
    accept: str = _JSON
    statuses: frozenset[int] = frozenset()  # beyond 2xx: these carry an answer too
    items_max: int | None = None  # of a list, over all its pages

    @property
    def headers(self) -> dict[str, str]:
        headers = {"Accept": self.accept}
        if self.body is not None:
            headers["Content-Type"] = _JSON
        if self.idempotency_key is not None:
            headers["Idempotency-Key"] = self.idempotency_key
        return headers

    def arguments(self) -> dict[str, Any]:
        """The arguments of httpx's `build_request`."""
        return {
            "method": self.method,
            "url": self.path,
            "params": self.params or None,
            "content": self.body,
            "headers": self.headers,
        }


def get(path: str, kind: type[T], **params: str | None) -> Request[T]:
    return Request("GET", path, decoder(kind), query(**params))


def get_list(path: str, kind: type[T], **params: str | int | None) -> Request[Page[T]]:
    return Request("GET", path, decoder(Page[kind]), query(**params, limit=PAGE_MAX))  # type: ignore[valid-type]  # made at run time


def change(
    method: str, path: str, kind: type[T], key: str | None, body: object = None
) -> Request[T]:
    content = None if body is None else msgspec.json.encode(body)
    return Request(method, path, decoder(kind), body=content, idempotency_key=checked_id(key))


def next_page(request: Request[Page[T]], page: Page[T]) -> Request[Page[T]] | None:
    """The request for the page after `page`, or None if the list is complete."""
    left = None if request.items_max is None else max(0, request.items_max - len(page.data))
    if not page.has_more or not page.data or left == 0:
        return None
    params = {**request.params, "cursor": page.cursor or ""}
    params.pop("after", None)  # the cursor replaces it: the server refuses both
    return replace(request, params=params, items_max=left)


def decoder(kind: type[T]) -> Callable[[bytes], T]:
    return functools.partial(msgspec.json.decode, type=kind)


def query(**params: str | int | None) -> dict[str, str]:
    return {name: str(value) for name, value in params.items() if value is not None}


def checked_id(id: str | None, what: str = "an idempotency key") -> str:
    """The caller's own id for a request, or a new one."""
    if id is None:
        return uuid.uuid4().hex
    if _ID.fullmatch(id) is None:
        raise UsageError(
            f"expected {what} of 1 to {CLIENT_ID_MAX} visible ASCII characters, found {id[:80]!r}"
        )
    return id


def segment(name: str) -> str:
    """A name as one segment of a path. Empty and dot segments would lead to another resource."""
    if name in ("", ".", ".."):
        raise UsageError(f"expected an id or a name, found {name!r}")
    return quote(name, safe="")


def segments(node: str) -> str:
    """The path of a node as segments of a URL."""
    return "/".join(segment(part) for part in node.split("/"))


def time_text(time: Time | None) -> str | None:
    if not isinstance(time, datetime):
        return time
    if time.tzinfo is None:
        raise UsageError(
            f"expected a time with a time zone, found {time.isoformat()}; add tzinfo=timezone.utc"
        )
    return time.isoformat()


def price_text(price: Price) -> str:
    """Decimal text in dollars per hour. Text is passed on as it is: the server checks it."""
    if isinstance(price, str):
        return price
    if isinstance(price, Decimal) and price.is_finite():
        return format(price, "f")
    if isinstance(price, int) and not isinstance(price, bool):
        return str(price)
    raise UsageError(
        'expected a price as text, a finite Decimal or whole dollars, such as "2.75", found'
        f" {price!r}"
    )


def price_or_none(price: Price | None) -> str | None:
    return None if price is None else price_text(price)


def alternative(scope: str, limit: Price, bid: Price | None = None) -> Alternative:
    """Any GPU below `scope`, for at most `limit` an hour. The `bid` presses on prices now; without
    one, the limit is the bid."""
    return Alternative(scope, price_text(limit), price_or_none(bid))
