"""The API as an OpenAPI 3.1 document, made from the table of operations and the structs of the
wire."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from laissez import __version__
from laissez.server.http.examples import BY_TYPE
from laissez.server.http.operation import JSON, Operation, Parameter
from laissez.server.http.schemas import OWN_BODIES, PATHS, narrow
from laissez.server.http.signin import COOKIE
from laissez.wire.limits import CLIENT_ID_MAX, PAGE_DEFAULT, PAGE_MAX
from laissez.wire.problems import STATUS, Problem

PROBLEM = "application/problem+json"
ABOUT = (
    "A market for leases on GPUs. Prices are decimal text in dollars per hour, times RFC 3339 in"
    " UTC, ids opaque text. An answer is sent once everything it reflects is durable. Errors are"
    " problem+json with a stable code. Changes may be sent again with the same Idempotency-Key."
)
SECURITY, SIGNED_IN = "key", "signin"
BY_COOKIE = (
    "For browsers: set by signIn, and worth as much as the key where there is no Authorization"
    " header. Its name also has the port, where the address names one, and the prefix __Host- over"
    " https. What changes something must carry X-Laissez-Console: 1."
)


def openapi(operations: Iterable[Operation]) -> dict[str, Any]:
    operations = tuple(operations)
    schemas, components = _schemas(operations)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.written_path, {})[operation.method.lower()] = _operation(
            operation, schemas
        )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "LaissezCloud",
            "version": __version__,
            "description": ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "tags": [
            {"name": noun} for noun in dict.fromkeys(operation.noun for operation in operations)
        ],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                SECURITY: {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A key: lz_<id>_<secret>.",
                },
                SIGNED_IN: {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": COOKIE,
                    "description": BY_COOKIE,
                },
            },
        },
    }


def answers_of(operation: Operation) -> tuple[Any, ...]:
    if operation.answer is None:
        return ()
    return operation.answer if isinstance(operation.answer, tuple) else (operation.answer,)


def _schemas(operations: tuple[Operation, ...]) -> tuple[dict[Any, dict[str, Any]], dict[str, Any]]:
    """A reference for every type that is sent or answered, and what they refer to."""
    bodies = [operation.body for operation in operations if operation.body is not None]
    types = list(
        dict.fromkeys(
            [
                *bodies,
                *(answer for operation in operations for answer in answers_of(operation)),
                Problem,
            ]
        )
    )
    references, components = msgspec.json.schema_components(
        types, ref_template="#/components/schemas/{name}"
    )
    narrow(components)
    for kind, example in BY_TYPE.items():
        if kind.__name__ in components:
            components[kind.__name__]["examples"] = [example]
    return dict(zip(types, references, strict=True)), components


def _operation(operation: Operation, schemas: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.noun],
        "summary": operation.summary,
        "description": _description(operation),
        "parameters": [
            *_path_parameters(operation),
            *map(_query_parameter, operation.parameters),
            *_header_parameters(operation),
        ],
        "responses": {
            str(operation.status): _success(operation, schemas),
            **_problems(operation, schemas),
        },
        "security": [] if operation.scopes is None else [{SECURITY: []}, {SIGNED_IN: []}],
    }
    if operation.body is not None:
        own = OWN_BODIES.get(operation.name)
        content = (
            _content(operation.body, schemas)
            if own is None
            else {"schema": {"$ref": f"#/components/schemas/{own}"}}
        )
        described["requestBody"] = {"required": True, "content": {JSON: content}}
    return described


def _description(operation: Operation) -> str:
    return " ".join(part for part in (operation.description, needed(operation)) if part)


def needed(operation: Operation) -> str:
    if operation.scopes is None:
        return "Needs no key."
    whose = " of the operator" if operation.of_operator else ""
    return (
        f"Needs a key{whose} with the scope {' or '.join(operation.scopes)}."
        if operation.scopes
        else "Needs a key."
    )


def _content(kind: Any, schemas: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    return {"schema": schemas[kind], **({"example": BY_TYPE[kind]} if kind in BY_TYPE else {})}


def _path_parameters(operation: Operation) -> list[dict[str, Any]]:
    words = {
        "node": "The path of a node, slashes included.",
        "leaf": "The path of a leaf, slashes included.",
    }
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", **PATHS.get(name, {})},
            **({"description": words[name]} if name in words else {}),
        }
        for name in operation.path_names
    ]


def _query_parameter(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if parameter.name == "limit":
        schema = {"type": "integer", "minimum": 1, "maximum": PAGE_MAX, "default": PAGE_DEFAULT}
    elif parameter.kind == "whole":
        schema = {"type": "integer", "minimum": 0}
    elif parameter.kind == "time":
        schema = {"type": "string", "format": "date-time"}
    elif isinstance(parameter.kind, tuple):
        schema = {"type": "string", "enum": list(parameter.kind)}
    return {
        "name": parameter.name,
        "in": "query",
        "required": False,
        "description": parameter.description,
        "schema": schema,
    }


def _header_parameters(operation: Operation) -> list[dict[str, Any]]:
    if operation.takes_key:
        schema = {
            "type": "string",
            "minLength": 1,
            "maxLength": CLIENT_ID_MAX,
            "pattern": "^[!-~]+$",
        }
        words = (
            "Sent again under the same key, the request is answered as the first time and not"
            " carried out twice."
        )
        return [
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "description": words,
                "schema": schema,
            }
        ]
    if operation.mutates and operation.scopes is None:
        words = "Only a page of this server can make a browser send it."
        return [
            {
                "name": "X-Laissez-Console",
                "in": "header",
                "required": True,
                "description": words,
                "schema": {"type": "string", "enum": ["1"]},
            }
        ]
    if "text/event-stream" in operation.media and "after" in operation.query_names:
        words = "The number of the last event seen; a stream goes on after it."
        return [
            {
                "name": "Last-Event-ID",
                "in": "header",
                "required": False,
                "description": words,
                "schema": {"type": "string"},
            }
        ]
    return []


def _success(operation: Operation, schemas: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    answers = answers_of(operation)
    content: dict[str, Any] = {media: {"schema": {"type": "string"}} for media in operation.media}
    if len(answers) == 1:
        content[JSON] = _content(answers[0], schemas)
    elif answers:
        content[JSON] = {"schema": {"anyOf": [schemas[answer] for answer in answers]}}
    elif JSON in content:
        content[JSON] = {"schema": {"type": "object"}}
    described: dict[str, Any] = {"description": operation.summary, "content": content}
    if operation.takes_key:
        replayed = (
            "Present, and true, if the request was carried out before under the same"
            " Idempotency-Key."
        )
        described["headers"] = {
            "Idempotency-Replayed": {
                "description": replayed,
                "schema": {"type": "string", "enum": ["true"]},
            }
        }
    return described


def _problems(operation: Operation, schemas: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    by_status: dict[int, list[str]] = {}
    for code in operation.all_problems:
        by_status.setdefault(STATUS[code], []).append(code)
    return {
        str(status): _problem(status, codes, schemas) for status, codes in sorted(by_status.items())
    }


def _problem(status: int, codes: list[str], schemas: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "description": ", ".join(codes),
        "content": {PROBLEM: {"schema": schemas[Problem]}},
    }
    if status in (429, 503):
        described["headers"] = {
            "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}
        }
    return described
