"""The operation of the API that each method of the client sends."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from typing import Any

from laissez.client.methods import Blocking, Listing, Method
from laissez.client.operations import Operations
from laissez.client.operator_operations import OperatorOperations
from laissez.client.request import Request
from laissez.server.http.operations import OPERATIONS
from laissez.wire.inframaps import InfraMapsReport
from laissez.wire.requests import Caps

ANY = "x"  # stands for every id, name and node, in arguments and in paths
# for the parameters of methods that are no id, name or node
ARGUMENTS: dict[str, object] = {
    "after": 1,
    "amount": "1",
    "caps": Caps(),
    "commands": (),
    "limit": "1",
    "max_price": "1",
    "online": True,
    "price": "1",
    "report": InfraMapsReport("2026-11-15T08:30:00Z", 10.0, (), (), ()),
}


class Unsent(Operations, OperatorOperations, Blocking):
    """A client that returns its requests instead of sending them."""

    def request(self, request: Request[Any]) -> Request[Any]:
        return request

    _paginate = request


def methods_of_operations() -> dict[str, set[str]]:
    """The client's methods for each operation, by the operation's name."""
    names = {
        (one.method, re.sub(r"\{\w+\}", ANY, one.written_path)): one.name for one in OPERATIONS
    }
    found = defaultdict(set)
    for kind in (Operations, OperatorOperations):
        for method, made in vars(kind).items():
            if isinstance(made, Method | Listing):
                for request in _requests(method):
                    found[names[request.method, request.path]].add(method)
    return found


def _requests(method: str) -> list[Request[Any]]:
    """The requests of a method, with the required arguments alone and for a named tenant."""
    build = getattr(Unsent(), method)
    parameters = inspect.signature(build).parameters
    required = {
        name: ARGUMENTS.get(name, ANY)
        for name, one in parameters.items()
        if one.default is one.empty and one.kind is not one.VAR_POSITIONAL
    }
    of_tenant = [{**required, "tenant": ANY}] if "tenant" in parameters else []
    return [build(**arguments) for arguments in (required, *of_tenant)]
