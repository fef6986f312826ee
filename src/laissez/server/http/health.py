"""Whether the service lives, whether it takes requests, and its figures for a monitor."""

from __future__ import annotations

from laissez.server.admission import failed
from laissez.server.figures import all_owed
from laissez.server.http.call import Answer, Call
from laissez.server.http.docs_page import STYLE_HASH
from laissez.server.http.static import ALONE
from laissez.server.metrics import CONTENT_TYPE
from laissez.wire.views import Health

UNAVAILABLE = 503
HTML = b"text/html; charset=utf-8"
DOCS_POLICY = (
    b"default-src 'none'; style-src '%b'; base-uri 'none'; form-action 'none'; frame-ancestors"
    b" 'none'" % STYLE_HASH.encode()
)


def alive(call: Call) -> Answer:
    return Answer(Health("ok", "the process answers"))


def ready(call: Call) -> Answer:
    if call.gateway.failure is not None:
        return Answer(Health("failed", failed().detail), status=UNAVAILABLE)
    if call.gateway.stopping:
        return Answer(Health("stopping", "the server is being stopped"), status=UNAVAILABLE)
    return Answer(Health("ok", "requests are taken"))


async def metrics(call: Call) -> Answer:
    owed, rate = await all_owed(call.gateway)
    await call.gateway.all_durable()
    return Answer(call.site.metrics.render(owed, rate), CONTENT_TYPE)


def openapi(call: Call) -> Answer:
    return Answer(call.site.openapi, b"application/json")


def docs(call: Call) -> Answer:
    return Answer(call.site.docs, HTML, headers=((b"content-security-policy", DOCS_POLICY), *ALONE))
