"""One operation of the API, described once: for the routes, the OpenAPI document and the readable
page."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from string import Formatter
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import force_setattr

from laissez.server.http.endpoint import Answer
from laissez.server.http.messages import JSON
from laissez.wire.problems import Code
from laissez.wire.views import Page

__all__ = ["CURSOR", "JSON", "LIMIT", "LOOK", "TENANT", "Operation", "Parameter", "body_of"]

LOOK = ("read", "operate")  # of the operator, who may read with either

# Problems that any operation may have; the table lists only the others.
ALWAYS = (
    Code.BAD_REQUEST,
    Code.NOT_ACCEPTABLE,
    Code.OVERLOADED,
    Code.JOURNAL_FAILED,
    Code.INTERNAL,
)
WITH_KEY = (Code.UNAUTHENTICATED, Code.FORBIDDEN)
WITH_BODY = (Code.BODY_TOO_LARGE, Code.UNSUPPORTED_MEDIA_TYPE)
WITH_CHANGE = (Code.IDEMPOTENCY_CONFLICT, Code.STOPPING)


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of the query. `kind` is text, whole, time, or a tuple of choices."""

    name: str
    description: str
    kind: str | tuple[str, ...] = "text"


LIMIT = Parameter("limit", "The most items on a page.", "whole")
CURSOR = Parameter("cursor", "The cursor of the previous page.")
TENANT = Parameter("tenant", "For the operator: only this tenant's.")


@cache
def body_of(message: Any, *in_path: str) -> type:
    """The body of a request for a command: the message of a session without its `type`, its `id`
    and the fields in the path."""
    named = msgspec.structs.fields(message)
    fields = [
        (one.name, one.type) if one.required else (one.name, one.type, one.default)
        for one in named
        if one.name not in ("id", *in_path)
    ]
    if len(fields) == len(named):
        return message  # type: ignore[no-any-return]
    return msgspec.defstruct(
        f"{message.__name__}Body",
        fields,
        namespace={"__doc__": message.__doc__},
        frozen=True,
        forbid_unknown_fields=True,
    )


class Operation(msgspec.Struct, frozen=True):
    noun: str
    name: str
    method: str
    path: str
    scopes: tuple[str, ...] | None  # None: needs no key; (): any key; or a key with one of them
    carry_out: Callable[..., Any]
    summary: str
    description: str = ""
    # makes the message of a session from the path and the body; `carry_out` makes the answer then
    command: Callable[..., Any] | None = None
    body: type | None = None
    status: int = 200
    query: tuple[Parameter, ...] = ()
    # charged for the items of its answer: its function calls `Call.admit_items` before any work,
    # and an answer without that is a bug
    pays_by_item: bool = False
    adds_up: bool = False  # covers all that a tenant has: costs as much as a list
    large: bool = False  # its body may be as large as a batch
    media: tuple[str, ...] = (JSON,)
    problems: tuple[str, ...] = ()
    # the answer reflects the state, so it waits for the journal
    durable: bool = True
    repeatable: bool = False  # carried out again if repeated; ignores an Idempotency-Key

    def __post_init__(self) -> None:
        if self.command is not None and self.body is None and self.method != "DELETE":
            force_setattr(self, "body", body_of(self.command, *self.path_names))

    @property
    def mutates(self) -> bool:
        return self.method != "GET"

    @property
    def of_operator(self) -> bool:
        """Whether only the operator's keys may use it."""
        return self.scopes == LOOK

    @property
    def paged(self) -> bool:
        return any(get_origin(one) is Page for one in self.answers)

    @property
    def takes_key(self) -> bool:
        """Whether it is a change that is carried out once per Idempotency-Key."""
        return self.mutates and not self.repeatable

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (*self.query, LIMIT, CURSOR) if self.paged else self.query

    @property
    def query_names(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def written_path(self) -> str:
        """The path for people: only the route needs to know that `{node:path}` may hold slashes."""
        return self.path.replace(":path}", "}")

    @property
    def path_names(self) -> list[str]:
        return [name for _, name, _, _ in Formatter().parse(self.written_path) if name]

    @property
    def answers(self) -> tuple[Any, ...]:
        """The types of its JSON answers, as its function declares them."""
        declared = get_type_hints(self.carry_out)["return"]
        is_one_of = get_origin(declared) in (Union, UnionType)
        found = get_args(declared) if is_one_of else (declared,)
        contents = [get_args(one)[0] if get_origin(one) is Answer else one for one in found]
        return tuple(one for one in contents if one not in (bytes, type(None)))

    @property
    def needs(self) -> str:
        """The key that it needs, in words."""
        if self.scopes is None:
            return "Needs no key."
        if not self.scopes:
            return "Needs a key."
        whose = " of the operator" if self.of_operator else ""
        return f"Needs a key{whose} with the scope {' or '.join(self.scopes)}."

    @property
    def all_problems(self) -> tuple[str, ...]:
        """Every problem code that it may answer with."""
        codes: list[str] = [*self.problems]
        if self.scopes is not None:
            codes += ALWAYS + WITH_KEY
        if self.body is not None:
            codes += WITH_BODY
        if self.takes_key:
            codes += WITH_CHANGE
        # tenants are rate limited, the operator is not
        if self.scopes is not None and "operate" not in self.scopes:
            codes.append(Code.RATE_LIMITED)
        return tuple(dict.fromkeys(str(code) for code in codes))
