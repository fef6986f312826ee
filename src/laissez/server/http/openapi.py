"""The API as an OpenAPI 3.1 document, made from the table of operations and the structs of the
wire."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

import msgspec

from laissez import __version__
from laissez.server.http.cookies import COOKIE
from laissez.server.http.operation import JSON, Operation, Parameter
from laissez.server.http.schemas import EXAMPLES, OWN_BODIES, PATHS, REFERENCE, Schema, narrow
from laissez.wire.limits import CLIENT_ID_MAX, PAGE_DEFAULT, PAGE_MAX
from laissez.wire.problems import STATUS, Problem

PROBLEM = "application/problem+json"
ABOUT = (
    "A market for leases on GPUs. Prices are decimal text in dollars per hour, times RFC 3339 in"
    " UTC, ids opaque text. An answer is sent once everything it reflects is durable. Errors are"
    " problem+json with a stable code. Changes may be sent again with the same Idempotency-Key."
)
KEY, SIGNED_IN = "key", "signin"
BY_COOKIE = (
    "For browsers: set by signIn, and equivalent to the key in requests without an Authorization"
    " header. Its name also has the port, if the address names one, and the prefix __Host- over"
    " https. Changes must carry X-Laissez-Console: 1."
)
ONCE = "A request repeated under the same key gets the first answer and is not carried out twice."
REPLAYED = (
    "Present, and true, if the request was carried out before under the same Idempotency-Key."
)
LAST_EVENT = "The number of the last event seen; a stream resumes after it."
ONLY_CONSOLE = "Only a page of this server can make a browser send it."
TEXT: Schema = {"type": "string"}
KINDS: dict[str, Schema] = {
    "text": TEXT,
    "whole": {"type": "integer", "minimum": 0},
    "time": {"type": "string", "format": "date-time"},
}
LIMIT: Schema = {"type": "integer", "minimum": 1, "maximum": PAGE_MAX, "default": PAGE_DEFAULT}


def openapi(operations: Iterable[Operation]) -> dict[str, Any]:
    operations = tuple(operations)
    schemas, components = _schemas(operations)
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(one.written_path, {})[one.method.lower()] = _operation(one, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "LaissezCloud",
            "version": __version__,
            "description": ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "tags": [{"name": noun} for noun in dict.fromkeys(one.noun for one in operations)],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                KEY: {
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


def _schemas(operations: tuple[Operation, ...]) -> tuple[dict[Any, Schema], dict[str, Schema]]:
    """A reference for every type in bodies and answers, and the schemas they refer to."""
    bodies = [one.body for one in operations if one.body is not None]
    answers = [answer for one in operations for answer in one.answers]
    types = list(dict.fromkeys([*bodies, *answers, Problem]))
    references, components = msgspec.json.schema_components(
        types, ref_template=REFERENCE + "{name}"
    )
    narrow(components)
    for kind, example in EXAMPLES.items():
        if kind.__name__ in components:
            components[kind.__name__]["examples"] = [example]
    return dict(zip(types, references, strict=True)), components


def _operation(operation: Operation, schemas: dict[Any, Schema]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.noun],
        "summary": operation.summary,
        "description": f"{operation.description} {operation.needs}".strip(),
        "parameters": [
            *map(_path_parameter, operation.path_names),
            *map(_query_parameter, operation.parameters),
            *_header_parameters(operation),
        ],
        "responses": {
            str(operation.status): _success(operation, schemas),
            **_problems(operation, schemas[Problem]),
        },
        "security": [] if operation.scopes is None else [{KEY: []}, {SIGNED_IN: []}],
    }
    if operation.body is not None:
        content = _content(operation.body, schemas)
        if operation.name in OWN_BODIES:
            content = {"schema": {"$ref": REFERENCE + OWN_BODIES[operation.name]}}
        described["requestBody"] = {"required": True, "content": {JSON: content}}
    return described


def _content(kind: Any, schemas: dict[Any, Schema]) -> dict[str, Any]:
    example = {"example": EXAMPLES[kind]} if kind in EXAMPLES else {}
    return {"schema": schemas[kind], **example}


def _path_parameter(name: str) -> dict[str, Any]:
    words = f"The path of a {name}, slashes included." if name in ("node", "leaf") else ""
    return _parameter(name, "path", TEXT | PATHS.get(name, {}), words, required=True)


def _query_parameter(parameter: Parameter) -> dict[str, Any]:
    if parameter.name == "limit":
        schema = LIMIT
    elif isinstance(parameter.kind, tuple):
        schema = TEXT | {"enum": list(parameter.kind)}
    else:
        schema = KINDS[parameter.kind]
    return _parameter(parameter.name, "query", schema, parameter.description)


def _header_parameters(operation: Operation) -> list[dict[str, Any]]:
    if operation.takes_key:
        schema = TEXT | {"minLength": 1, "maxLength": CLIENT_ID_MAX, "pattern": "^[!-~]+$"}
        return [_parameter("Idempotency-Key", "header", schema, ONCE)]
    if operation.mutates and operation.scopes is None:
        schema = TEXT | {"enum": ["1"]}
        return [_parameter("X-Laissez-Console", "header", schema, ONLY_CONSOLE, required=True)]
    if "text/event-stream" in operation.media and "after" in operation.query_names:
        return [_parameter("Last-Event-ID", "header", TEXT, LAST_EVENT)]
    return []


def _parameter(
    name: str, where: str, schema: Schema, words: str, required: bool = False
) -> dict[str, Any]:
    described = {"name": name, "in": where, "required": required, "schema": schema}
    return described | {"description": words} if words else described


def _success(operation: Operation, schemas: dict[Any, Schema]) -> dict[str, Any]:
    answers = operation.answers
    content: dict[str, Any] = {media: {"schema": TEXT} for media in operation.media}
    if len(answers) == 1:
        content[JSON] = _content(answers[0], schemas)
    elif answers:
        content[JSON] = {"schema": {"anyOf": [schemas[answer] for answer in answers]}}
    elif JSON in content:
        content[JSON] = {"schema": {"type": "object"}}
    described: dict[str, Any] = {"description": operation.summary, "content": content}
    if operation.takes_key:
        replayed = {"description": REPLAYED, "schema": TEXT | {"enum": ["true"]}}
        described["headers"] = {"Idempotency-Replayed": replayed}
    return described


def _problems(operation: Operation, schema: Schema) -> dict[str, Any]:
    """The problems of an operation by status."""
    described: dict[str, Any] = {}
    codes = sorted(operation.all_problems, key=STATUS.__getitem__)
    for status, same in groupby(codes, STATUS.__getitem__):
        answer: dict[str, Any] = {"description": ", ".join(same)}
        answer["content"] = {PROBLEM: {"schema": schema}}
        if status in (429, 503):
            wait = {"description": "Seconds to wait.", "schema": {"type": "integer"}}
            answer["headers"] = {"Retry-After": wait}
        described[str(status)] = answer
    return described
