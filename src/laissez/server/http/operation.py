"""One operation of the API, described once: for the routes, for the OpenAPI document and for the
readable page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from laissez.wire.problems import Code

JSON = "application/json"

# What may go wrong everywhere; the table names only the rest.
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
    """Of the query. `kind` is text, whole, time or the choices themselves."""

    name: str
    description: str
    kind: str | tuple[str, ...] = "text"


LIMIT = Parameter("limit", "How many items at most.", "whole")
CURSOR = Parameter("cursor", "Where the page before this one ended.")
TENANT = Parameter("tenant", "For the operator: of this tenant alone.")


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """`scopes`: None needs no key, () any key, otherwise a key with one of them. `answer` is a
    type, several where it depends on what is asked for, or None if it is no JSON."""

    name: str
    method: str
    path: str
    summary: str
    carry_out: Callable[..., Any]
    description: str = ""
    scopes: tuple[str, ...] | None
    of_operator: bool = False  # a tenant's key will not do, whatever its scopes
    body: type | None = None
    answer: Any = None
    status: int = 200
    query: tuple[Parameter, ...] = ()
    paged: bool = False
    pays_by_item: bool = False  # for what it tells, once it knows how much that is
    adds_up: bool = False  # all that a tenant has: costs as much as a list of it
    large: bool = False  # its body may be as large as a batch
    media: tuple[str, ...] = (JSON,)
    problems: tuple[str, ...] = ()
    # tells of the state, so it waits for the journal; what says whether the journal works does not
    durable: bool = True
    # a change: sent again under its Idempotency-Key it is answered as the first time. Not so what
    # only sets a level
    remembered: bool = True
    noun: str

    @property
    def mutates(self) -> bool:
        return self.method != "GET"

    @property
    def takes_key(self) -> bool:
        """Whether it is a change that is carried out once under its Idempotency-Key."""
        return self.mutates and self.remembered

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (*self.query, LIMIT, CURSOR) if self.paged else self.query

    @property
    def query_names(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def written_path(self) -> str:
        """As people write it: `{node}` may hold slashes, which the route must know and a reader
        need not."""
        return self.path.replace(":path}", "}")

    @property
    def path_names(self) -> tuple[str, ...]:
        return tuple(part.partition("}")[0] for part in self.written_path.split("{")[1:])

    @property
    def all_problems(self) -> tuple[str, ...]:
        """Every code this may be answered with."""
        codes: list[str] = [*self.problems]
        if self.scopes is not None:
            codes += ALWAYS + WITH_KEY
        if self.body is not None:
            codes += WITH_BODY
        if self.takes_key:
            codes += WITH_CHANGE
        # a tenant's commands and questions are counted, the operator's are not
        if self.scopes is not None and "operate" not in self.scopes:
            codes.append(Code.RATE_LIMITED)
        return tuple(dict.fromkeys(str(code) for code in codes))
