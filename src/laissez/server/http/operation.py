"""One operation of the API, described once: for the routes, the OpenAPI document and the readable
page."""

from __future__ import annotations

from collections.abc import Callable
from string import Formatter
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


class Operation(msgspec.Struct, frozen=True):
    noun: str
    name: str
    method: str
    path: str
    scopes: tuple[str, ...] | None  # None: needs no key; (): any key; or a key with one of them
    carry_out: Callable[..., Any]
    summary: str
    description: str = ""
    of_operator: bool = False  # a tenant's key will not do, whatever its scopes
    body: type | None = None
    answer: Any = None  # a type, or several where it depends on the request; None: no JSON
    status: int = 200
    query: tuple[Parameter, ...] = ()
    paged: bool = False
    pays_by_item: bool = False  # for what it tells, once it knows how much that is
    adds_up: bool = False  # all that a tenant has: costs as much as a list of it
    large: bool = False  # its body may be as large as a batch
    media: tuple[str, ...] = (JSON,)
    problems: tuple[str, ...] = ()
    # waits for the journal, as it tells of the state; not so what says whether the journal works
    durable: bool = True
    repeatable: bool = False  # ignores an Idempotency-Key: sent again, it is simply done again

    @property
    def mutates(self) -> bool:
        return self.method != "GET"

    @property
    def takes_key(self) -> bool:
        """Whether it is a change that is carried out once under its Idempotency-Key."""
        return self.mutates and not self.repeatable

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (*self.query, LIMIT, CURSOR) if self.paged else self.query

    @property
    def query_names(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def written_path(self) -> str:
        """As people write it: only the route must know that `{node:path}` may hold slashes."""
        return self.path.replace(":path}", "}")

    @property
    def path_names(self) -> list[str]:
        return [name for _, name, _, _ in Formatter().parse(self.written_path) if name]

    @property
    def answers(self) -> tuple[Any, ...]:
        if self.answer is None:
            return ()
        return self.answer if isinstance(self.answer, tuple) else (self.answer,)

    @property
    def needs(self) -> str:
        """Which key it needs, in words."""
        if self.scopes is None:
            return "Needs no key."
        if not self.scopes:
            return "Needs a key."
        whose = " of the operator" if self.of_operator else ""
        return f"Needs a key{whose} with the scope {' or '.join(self.scopes)}."

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
