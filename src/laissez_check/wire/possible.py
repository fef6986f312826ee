"""What no schema can say of a request, put right in requests that are made from one. Each is
refused by the service, and `bad_requests.py` and `bad_bodies.py` see to that.
"""

from __future__ import annotations

import itertools
import re
from typing import Any
from urllib.parse import quote, unquote

from laissez_check.started_server import LEAVES
from laissez_check.wire.bad_inputs import OTHER_TENANT, TENANT

GUESSED = ("cursor",)  # means something only where a page gave it
# where the first is given, the second goes with nothing
ALONE = {"getPrices": ("scope", "limit"), "getBill": ("tenant", "limit")}
OF_OPERATOR = ("tenant",)  # a tenant asks for nobody by name
OF_ALL_TENANTS = {"getBill": ("limit",)}  # and has no such list
OF_ONE_TENANT = ("getBudget", "getOwnCaps")  # the operator says whose
PRINTABLE = ("name", "runner")  # by what Unicode calls so
ONCE = {"maps": "name", "floors": "node"}  # in a list of objects, each of its own name
EVENTS = 40  # so many there are, of whom it may be
IDEMPOTENCY = "Idempotency-Key"
USABLE = re.compile("[!-~]{1,64}")
# so that the service does not knock at the doors of others; nobody listens there
NOWHERE = "http://127.0.0.1:65535/"
SCOPES = ("gpu", "cpu", "gpu/a", "gpu/b", "gpu/a/r1", "gpu/a/r2", *LEAVES)
# the first is given, and so the others are not
ONE_OF = {"runInstances": ("type", "scope", "near", "level")}


class Possible:
    """A hook of schemathesis for each of its cases. `keys` are those with which it asks: were they
    revoked, it would learn nothing more. Every other request that is right by its schema names
    things that there are: what is answered to those who succeed must be as the document says,
    too."""

    __name__ = "before_call"

    def __init__(self, is_operator: bool, keys: frozenset[str], secret: str) -> None:
        self._is_operator = is_operator
        self._keys = keys
        self._secret = secret
        self._used = itertools.count(1)
        self._turns = itertools.cycle((True, False))

    def __call__(self, context: Any, case: Any, kwargs: Any) -> None:
        operation = case.operation.definition.raw["operationId"]
        self._put_right(operation, case.query)
        self._spare(operation, case.path_parameters or {})
        self._use_once(case.headers)
        path = case.path_parameters or {}
        path.update(
            {
                name: quote(_printable(unquote(path[name])), safe="")
                for name in PRINTABLE
                if isinstance(path.get(name), str)
            }
        )
        case.body = _value("", case.body)
        if case.meta.generation.mode.is_positive and next(self._turns):
            self._name_what_there_is(operation, path, case.body)

    def _put_right(self, operation: str, query: dict[str, Any]) -> None:
        first, second = ALONE.get(operation, ("", ""))
        not_its_own = (
            () if self._is_operator else (*OF_OPERATOR, *OF_ALL_TENANTS.get(operation, ()))
        )
        gone = (*GUESSED, *not_its_own, *((second,) if first in query else ()))
        for name in gone:
            query.pop(name, None)
        if str(query.get("after", "")).isdecimal():
            query["after"] = min(int(query["after"]), EVENTS)
        if operation in OF_ONE_TENANT and self._is_operator:
            query.setdefault("tenant", TENANT)

    def _spare(self, operation: str, path: dict[str, Any]) -> None:
        if operation == "revokeKey" and path.get("id") in self._keys:
            path["id"] = "key_0"
        if operation == "setCaps" and path.get("name") == TENANT:
            path["name"] = OTHER_TENANT

    def _name_what_there_is(self, operation: str, path: dict[str, Any], body: Any) -> None:
        if "leaf" in path:
            path["leaf"] = LEAVES[-1]
        if not isinstance(body, dict):
            return
        for one, scope in zip(body.get("alternatives", ()), SCOPES, strict=False):
            one["scope"] = scope
        if "key" in body:
            body["key"] = self._secret
        if operation in ONE_OF:
            for name in ONE_OF[operation]:
                body.pop(name, None)
            body[ONE_OF[operation][0]] = SCOPES[0]

    def _use_once(self, headers: Any) -> None:
        """A key that may be one is a new one: under one that was used, nearly everything is a
        conflict."""
        if USABLE.fullmatch(headers.get(IDEMPOTENCY) or ""):
            headers[IDEMPOTENCY] = f"case-{next(self._used)}"


def _value(name: str, value: Any) -> Any:
    """What is said under a name in a body, and all that is in it."""
    if isinstance(value, dict):
        return {field: _value(field, inner) for field, inner in value.items()}
    if isinstance(value, list):
        value = [_value("", inner) for inner in value]
    if name in PRINTABLE and isinstance(value, str):
        return _printable(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 12.0 is an integer to a schema; the service wants it written as one
    if name == "url" and isinstance(value, str) and value.lower().startswith("http"):
        return NOWHERE
    if name == "after" and type(value) is int and value > EVENTS:
        return EVENTS
    if name in ONCE and isinstance(value, list):
        return list({_key(index, one, ONCE[name]): one for index, one in enumerate(value)}.values())
    return value


def _key(index: int, one: Any, field: str) -> object:
    """The name of an object in a list, or where it has none its place, so that it stays."""
    named = one.get(field) if isinstance(one, dict) else None
    return named if isinstance(named, str) else index


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "x" for letter in text)
