"""The documents of the API match the table of operations and are consistent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from laissez.server.http.docs_page import docs_page
from laissez.server.http.openapi import openapi
from laissez.server.http.operations import OPERATIONS
from laissez.server.http.schemas import EXAMPLES
from laissez.wire.problems import STATUS, Code
from support.service_world import World, with_service

pytestmark = pytest.mark.once

DOCUMENT = json.loads(json.dumps(openapi(OPERATIONS)))


def nested(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        yield part
        for value in part.values():
            yield from nested(value)
    elif isinstance(part, list):
        for value in part:
            yield from nested(value)


def test_every_operation_is_in_the_document_once() -> None:
    found = [
        (method.upper(), path, one["operationId"])
        for path, methods in DOCUMENT["paths"].items()
        for method, one in methods.items()
    ]
    assert sorted((one.method, one.written_path, one.name) for one in OPERATIONS) == sorted(found)
    assert len(found) == len({name for _, _, name in found})


def test_every_reference_has_a_target() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    references = [part["$ref"] for part in nested(DOCUMENT) if "$ref" in part]
    targets = [
        target
        for part in nested(DOCUMENT)
        for target in part.get("discriminator", {}).get("mapping", {}).values()
    ]
    assert references and {
        reference.rpartition("/")[2] for reference in [*references, *targets]
    } <= set(schemas)
    assert all(reference.startswith("#/components/schemas/") for reference in references)


def test_every_parameter_of_a_path_is_described() -> None:
    for path, methods in DOCUMENT["paths"].items():
        names = re.findall(r"{(\w+)}", path)
        for one in methods.values():
            assert names == [
                parameter["name"] for parameter in one["parameters"] if parameter["in"] == "path"
            ]
            assert all(
                parameter["required"]
                for parameter in one["parameters"]
                if parameter["in"] == "path"
            )


def test_each_operation_documents_its_key_idempotency_and_problems() -> None:
    assert {"type": "http", "scheme": "bearer"}.items() <= DOCUMENT["components"][
        "securitySchemes"
    ]["key"].items()
    assert {"type": "apiKey", "in": "cookie", "name": "laissez_signin"}.items() <= DOCUMENT[
        "components"
    ]["securitySchemes"]["signin"].items()
    for operation in OPERATIONS:
        one = DOCUMENT["paths"][operation.written_path][operation.method.lower()]
        headers = {
            parameter["name"] for parameter in one["parameters"] if parameter["in"] == "header"
        }
        assert ("Idempotency-Key" in headers) is operation.takes_key
        assert one["security"] == (
            [] if operation.scopes is None else [{"key": []}, {"signin": []}]
        )
        assert ("requestBody" in one) is (operation.body is not None)
        queries = {
            parameter["name"] for parameter in one["parameters"] if parameter["in"] == "query"
        }
        assert not operation.paged or {"limit", "cursor"} <= queries
        problems = [answer for status, answer in one["responses"].items() if int(status) >= 400]
        assert all(list(answer["content"]) == ["application/problem+json"] for answer in problems)


def test_every_operation_of_a_tenant_documents_its_rate_limit() -> None:
    for operation in OPERATIONS:
        if operation.scopes is not None and "operate" not in operation.scopes:
            assert (
                "429"
                in DOCUMENT["paths"][operation.written_path][operation.method.lower()]["responses"]
            ), operation.name


def test_every_problem_code_is_named_by_an_operation_or_is_the_routers() -> None:
    named = {code for operation in OPERATIONS for code in operation.all_problems}
    never_sent = {
        "request_timeout",
        "malformed",
        "time_backwards",
        "time_out_of_range",
        "books_closed",
        "method_not_allowed",
    }
    assert {str(code) for code in STATUS} - named <= never_sent
    assert {str(code) for code in Code} <= set(map(str, STATUS))


def test_the_examples_are_valid() -> None:
    for kind, example in EXAMPLES.items():
        assert example == msgspec.to_builtins(msgspec.convert(example, kind))
    assert {operation.body for operation in OPERATIONS if operation.body} <= set(EXAMPLES)


def test_the_document_and_the_page_are_served_without_a_key(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        served = await world.ask(None, "GET", "/openapi.json")
        assert DOCUMENT == served.json() and "3.1.0" == served.json()["openapi"]
        page = await world.ask(None, "GET", "/docs", headers={"Accept": "text/html"})
        assert (
            docs_page(OPERATIONS) == page.text
            and "text/html; charset=utf-8" == page.headers["content-type"]
        )

    with_service(tmp_path / "data", story)


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += [given["id"] or ""] if "id" in given else []
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in ("meta", "br", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag == self.open.pop()


def test_the_page_is_complete_and_self_contained() -> None:
    text = docs_page(OPERATIONS)
    page = Page(text)
    assert [] == page.open and len(page.ids) == len(set(page.ids))
    assert {operation.name for operation in OPERATIONS} <= set(page.ids)
    assert all(
        link in ("/", "/openapi.json") or link.removeprefix("#") in page.ids for link in page.links
    )
    assert "<script" not in text and "http" not in text.replace(
        "https://hooks.example.com", "an address in an example"
    )
    assert "prefers-color-scheme: dark" in text and "width=device-width" in text
