"""The readable page of the API: plain HTML made from the table of operations, with its style inline
and no external files."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from html import escape
from typing import Any

import msgspec

from laissez import __version__
from laissez.server.http.openapi import ABOUT
from laissez.server.http.operation import Operation
from laissez.server.http.schemas import EXAMPLES
from laissez.wire.limits import PAGE_DEFAULT, PAGE_MAX
from laissez.wire.problems import STATUS

STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --soft: #5b6570; --line: #d9dee3;
  --paper: #fcfcfb; --code: #f1f3f4; --mark: #0b6b5d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --soft: #9aa4ae; --line: #343a40;
  --paper: #16191c; --code: #20252a; --mark: #57c9b5; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 5rem; max-width: 52rem;
  font: 1rem/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.7rem; margin: 0 0 .5rem; }
h2 { margin: 3rem 0 .5rem; border-bottom: 1px solid var(--line); padding-bottom: .3rem; }
h3 { margin: 2rem 0 .3rem; font-size: 1.05rem; }
p { margin: .4rem 0; }
.soft, dt, summary { color: var(--soft); }
a { color: var(--mark); }
code, pre { font: .875rem/1.5 ui-monospace, monospace; background: var(--code);
  border-radius: 4px; }
code { padding: .1rem .3rem; overflow-wrap: anywhere; }
pre { padding: .7rem .9rem; overflow-x: auto; }
.way { display: flex; flex-wrap: wrap; gap: .2rem .6rem; align-items: baseline; }
.method { font: 600 .8rem ui-monospace, monospace; color: var(--mark); min-width: 3.6rem; }
dl { margin: .5rem 0; display: grid; grid-template-columns: minmax(5rem, auto) 1fr;
  gap: .3rem .9rem; }
dd { margin: 0; min-width: 0; }
summary { cursor: pointer; }
nav { columns: 17rem; margin: 1rem 0; }
nav a { display: block; text-decoration: none; padding: .1rem 0; }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .5rem; } }
"""
# in the form of a content security policy
STYLE_HASH = f"sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}"

BASICS = f"""
<h2 id="basics">Basics</h2>
<dl>
<dt>Key</dt>
<dd><code>Authorization: Bearer lz_…</code>. Scopes: <code>read</code> and <code>trade</code> for a
tenant, <code>read</code> and <code>operate</code> for the operator. A missing, unknown or revoked
key gets the same 401. In a browser the cookie of a sign-in counts as the key; changes must then
carry <code>X-Laissez-Console: 1</code>.</dd>
<dt>Idempotency</dt>
<dd>Every change may carry an <code>Idempotency-Key</code> (1 to 64 visible ASCII characters). A
repeated request with the same key is not carried out twice: the answer has the same bytes, and
<code>Idempotency-Replayed: true</code>. A different request under the same key gets 409.</dd>
<dt>Lists</dt>
<dd>come in pages of <code>limit</code> items (default {PAGE_DEFAULT}, at most {PAGE_MAX});
<code>cursor</code> asks for the next.</dd>
<dt>Errors</dt>
<dd>are <code>application/problem+json</code>; <code>code</code> is stable, <code>detail</code>
names the expected and the found value.</dd>
<dt>Rates</dt>
<dd>Answers to a tenant's changes have <code>RateLimit-Limit</code> and
<code>RateLimit-Remaining</code>; 429 and 503 have <code>Retry-After</code>.</dd>
<dt>Session</dt>
<dd>A WebSocket at <code>/v1/session</code> carries the same commands and all events:
<code>laissez.v1.json</code> or <code>laissez.v1.msgpack</code>.</dd>
</dl>
"""


HEAD = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">\
<meta name="viewport" content="width=device-width, initial-scale=1">\
<title>LaissezCloud API</title><style>{STYLE}</style></head><body>\
<h1>LaissezCloud API</h1><p class="soft">Version {escape(__version__)} · \
<a href="/openapi.json">OpenAPI document</a> · <a href="/">Console</a></p>\
<p>{escape(ABOUT)}</p>"""


def docs_page(operations: Iterable[Operation]) -> str:
    by_noun: dict[str, list[Operation]] = {}
    for operation in operations:
        by_noun.setdefault(operation.noun, []).append(operation)
    links = "".join(f'<a href="#{noun.lower()}">{escape(noun)}</a>' for noun in by_noun)
    parts = [f'{HEAD}<nav><a href="#basics">Basics</a>{links}</nav>{BASICS}']
    for noun, found in by_noun.items():
        parts.append(f'<h2 id="{noun.lower()}">{escape(noun)}</h2>')
        parts += [_operation(operation) for operation in found]
    return "".join([*parts, "</body></html>\n"])


def _operation(operation: Operation) -> str:
    rows = [(_code(one.name), escape(one.description)) for one in operation.query]
    rows = [row for row in rows if row[0] not in (_code("limit"), _code("cursor"))]
    body = operation.body
    if body is not None:
        rows.append(("Body", f"{_code(body.__name__)} {_words(body)}{_example(body)}"))
    rows.append(("Answer", f"{operation.status} {_answers(operation)}"))
    if operation.problems:
        codes = [_code(f"{STATUS[code]} {code}") for code in operation.problems]
        rows.append(("Problems", " ".join(codes)))
    listed = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows)
    about = f"<p>{escape(operation.description)}</p>" if operation.description else ""
    return (
        f'<h3 id="{operation.name}">{escape(operation.summary)}</h3><div class="way">'
        f'<span class="method">{operation.method}</span>{_code(operation.written_path)}</div>'
        f'{about}<p class="soft">{operation.needs}</p><dl>{listed}</dl>'
    )


def _answers(operation: Operation) -> str:
    if not operation.answers:
        return ", ".join(map(_code, operation.media))
    named = " or ".join(_code(_name(answer)) for answer in operation.answers)
    return named + "".join(map(_example, operation.answers))


def _name(kind: Any) -> str:
    """The name of a type, such as `Page[Order]` for a generic."""
    if hasattr(kind, "__origin__"):
        return re.sub(r"\b[\w.]+\.(?=\w)", "", str(kind))
    return str(kind.__name__)


def _words(kind: Any) -> str:
    """The docstring of a struct, unless msgspec generated it."""
    words = " ".join((kind.__doc__ or "").split())
    if words.startswith(f"{kind.__name__}("):
        return ""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(words))


def _example(kind: Any) -> str:
    if kind not in EXAMPLES:
        return ""
    written = msgspec.json.format(msgspec.json.encode(EXAMPLES[kind]), indent=2).decode()
    return f"<details><summary>Example</summary><pre>{escape(written)}</pre></details>"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"
