"""A request as a value, and the few ways in which all of them are made.

Whatever changes something gets an idempotency key here, once, so that every attempt to send it
carries the same one.
"""

from __future__ import annotations

import functools
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar
from urllib.parse import quote as percent_encoded

import msgspec

from laissez.client.asking import Asked
from laissez.client.errors import UsageError
from laissez.wire import views
from laissez.wire.limits import CLIENT_ID_MAX, PAGE_MAX

T = TypeVar("T")
_ID: Final = re.compile(rf"[!-~]{{1,{CLIENT_ID_MAX}}}")
_JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Call(Asked[T]):
    """One request. `idempotency_key` is set for whatever changes something; `answers` are statuses
    beyond 2xx that are answers all the same."""

    method: str
    path: str
    read: Callable[[bytes], T]
    params: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    idempotency_key: str | None = None
    accept: str = _JSON
    answers: frozenset[int] = frozenset()
    items_max: int | None = None  # of a list: how many are wanted in all

    @property
    def headers(self) -> dict[str, str]:
        headers = {"Accept": self.accept}
        if self.body is not None:
            headers["Content-Type"] = _JSON
        if self.idempotency_key is not None:
            headers["Idempotency-Key"] = self.idempotency_key
        return headers

    def next_page(self, cursor: str | None) -> Call[T]:
        return replace(self, params={**self.params, "cursor": cursor or ""})


def checked_id(id: str | None, what: str = "an idempotency key") -> str:
    """The caller's own id for a request, or a new one."""
    if id is None:
        return uuid.uuid4().hex
    if _ID.fullmatch(id) is None:
        raise UsageError(
            f"expected {what} of 1 to {CLIENT_ID_MAX} visible ASCII characters, found {id[:80]!r}"
        )
    return id


def reader(kind: type[T]) -> Callable[[bytes], T]:
    return functools.partial(msgspec.json.decode, type=kind)


def get(path: str, kind: type[T], **params: str | None) -> Call[T]:
    return Call("GET", path, reader(kind), given(**params))


def get_list(path: str, kind: type[T], **params: str | int | None) -> Call[views.Page[T]]:
    return Call("GET", path, reader(views.Page[kind]), given(**params, limit=PAGE_MAX))  # type: ignore[valid-type]  # made at run time


def change(
    method: str, path: str, kind: type[T], body: msgspec.Struct | None, idempotency_key: str | None
) -> Call[T]:
    sent = None if body is None else msgspec.json.encode(body)
    return Call(method, path, reader(kind), body=sent, idempotency_key=checked_id(idempotency_key))


def given(**params: str | int | None) -> dict[str, str]:
    return {name: str(value) for name, value in params.items() if value is not None}


def name_part(text: str) -> str:
    """A name as one part of a path. Parts that URLs give a meaning of their own would ask for
    something else."""
    if text in ("", ".", ".."):
        raise UsageError(f"expected an id or a name, found {text!r}")
    return percent_encoded(text, safe="")


def node_part(path: str) -> str:
    return "/".join(name_part(part) for part in path.split("/"))
