"""Adjust the requests of schemathesis: repair flaws that no schema can describe.

The service refuses each of these flaws, which the bad inputs by hand check.
"""

from __future__ import annotations

import itertools
import re
from typing import Any
from urllib.parse import quote, unquote

from laissez_check.started_server import LEAVES
from laissez_check.wire.bad_inputs import OTHER_TENANT, TENANT

# The second parameter is refused beside the first. Only the operator may give these parameters.
ALONE = {"getPrices": ("scope", "limit"), "getBill": ("tenant", "limit")}
OF_OPERATOR = {"getBill": ("tenant", "limit")}
CURSOR = "cursor"  # valid only for the list that gave it
OF_ONE_TENANT = ("getBudget", "getOwnCaps")  # the operator names the tenant
PRINTABLE = ("name", "runner")
UNIQUE = {"maps": "name", "floors": "node"}  # names within a list of objects
EVENTS = 40  # a tenant has more
IDEMPOTENCY = "Idempotency-Key"
USABLE = re.compile("[!-~]{1,64}")
NOWHERE = "http://127.0.0.1:65535/"  # so that no webhook reaches a real server
SCOPES = ("gpu", "cpu", "gpu/a", "gpu/b", "gpu/a/r1", "gpu/a/r2", *LEAVES)


class Adjust:
    """A hook of schemathesis for each of its cases.

    Half of the valid requests name things that exist, so that answers of success are compared with
    the document, too. The keys that schemathesis asks with are never revoked.
    """

    __name__ = "before_call"

    def __init__(self, is_operator: bool, keys: frozenset[str], secret: str) -> None:
        self._is_operator = is_operator
        self._keys = keys
        self._secret = secret
        self._numbers = itertools.count(1)
        self._names_existing = itertools.cycle((True, False))

    def __call__(self, context: Any, case: Any, kwargs: Any) -> None:
        operation = case.operation.definition.raw["operationId"]
        path = case.path_parameters or {}
        self._adjust_query(operation, case.query)
        self._adjust_path(operation, path)
        if USABLE.fullmatch(case.headers.get(IDEMPOTENCY) or ""):
            # A used one would make nearly every request a conflict.
            case.headers[IDEMPOTENCY] = f"case-{next(self._numbers)}"
        case.body = _adjusted("", case.body)
        if case.meta.generation.mode.is_positive and next(self._names_existing):
            self._name_existing(operation, path, case.body)

    def _adjust_query(self, operation: str, query: dict[str, Any]) -> None:
        first, second = ALONE.get(operation, ("", ""))
        query.pop(CURSOR, None)
        if first in query:
            query.pop(second, None)
        if not self._is_operator:
            for name in OF_OPERATOR.get(operation, ("tenant",)):
                query.pop(name, None)
        elif operation in OF_ONE_TENANT:
            query.setdefault("tenant", TENANT)
        if str(query.get("after", "")).isdecimal():
            query["after"] = min(int(query["after"]), EVENTS)

    def _adjust_path(self, operation: str, path: dict[str, Any]) -> None:
        if operation == "revokeKey" and path.get("id") in self._keys:
            path["id"] = "key_0"
        if operation == "setCaps" and path.get("name") == TENANT:
            path["name"] = OTHER_TENANT
        for name in PRINTABLE:
            if isinstance(path.get(name), str):
                path[name] = quote(_printable(unquote(path[name])), safe="")

    def _name_existing(self, operation: str, path: dict[str, Any], body: Any) -> None:
        if "leaf" in path:
            path["leaf"] = LEAVES[-1]
        if not isinstance(body, dict):
            return
        for alternative, scope in zip(body.get("alternatives", ()), SCOPES, strict=False):
            alternative["scope"] = scope
        if "key" in body:
            body["key"] = self._secret
        if operation == "runInstances":
            for name in ("type", "scope", "near", "level"):
                body.pop(name, None)
            body["type"] = SCOPES[0]


def _adjusted(name: str, value: Any) -> Any:
    """The value under a name in a body, with everything inside it adjusted."""
    if isinstance(value, dict):
        return {field: _adjusted(field, inner) for field, inner in value.items()}
    if isinstance(value, list):
        value = [_adjusted("", inner) for inner in value]
    if name in UNIQUE and isinstance(value, list):
        return _unique(value, UNIQUE[name])
    if name in PRINTABLE and isinstance(value, str):
        return _printable(value)
    if name == "url" and isinstance(value, str) and value.lower().startswith("http"):
        return NOWHERE
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 12.0 is an integer to a schema; the service wants it written as one
    if name == "after" and type(value) is int:
        return min(value, EVENTS)
    return value


def _unique(objects: list[Any], field: str) -> list[Any]:
    """Keep one object of each name, and all that have none."""
    kept: dict[object, Any] = {}
    for index, one in enumerate(objects):
        name = one.get(field) if isinstance(one, dict) else None
        kept[name if isinstance(name, str) else index] = one
    return list(kept.values())


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "x" for letter in text)
