"""Monitoring: health, metrics, totals of the market, reports of InfraMaps; and the API's
documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from laissez.server.admission import failed
from laissez.server.http.docs_page import STYLE_HASH
from laissez.server.http.endpoint import Answer, Call
from laissez.server.http.messages import JSON, bad_request, lines
from laissez.server.http.static import ALONE
from laissez.server.metrics import CONTENT_TYPE
from laissez.server.samples import all_owed, market_summary
from laissez.wire.decoding import read_price, read_time
from laissez.wire.figures import MarketHistory
from laissez.wire.inframaps import RUNNER_MAX, InfraMaps, InfraMapsReport
from laissez.wire.views import Done, Health, MarketSummary

UNAVAILABLE = 503
DOCS_POLICY = (
    f"default-src 'none'; style-src '{STYLE_HASH}'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'"
)


def get_health(call: Call) -> Health:
    return Health("ok", "the process answers")


def get_readiness(call: Call) -> Answer[Health]:
    if call.gateway.failure is not None:
        return Answer(Health("failed", failed().detail), status=UNAVAILABLE)
    if call.gateway.stopping:
        return Answer(Health("stopping", "the server is being stopped"), status=UNAVAILABLE)
    return Answer(Health("ok", "requests are taken"))


async def get_metrics(call: Call) -> Answer[bytes]:
    owed, rate = await all_owed(call.gateway)
    await call.gateway.all_durable()
    return Answer(call.site.metrics.render(owed, rate), CONTENT_TYPE.decode())


def get_openapi(call: Call) -> Answer[bytes]:
    return Answer(call.site.openapi, JSON)


def get_docs(call: Call) -> Answer[bytes]:
    headers = lines({"content-security-policy": DOCS_POLICY, **ALONE})
    return Answer(call.site.docs, "text/html; charset=utf-8", headers=headers)


async def get_market(call: Call) -> MarketSummary:
    return await market_summary(call.gateway)


def get_history(call: Call) -> MarketHistory:
    return call.site.samples.history()


# -- InfraMaps: reports change nothing in the market, so they are not stored


def report_inframaps(call: Call) -> Done:
    runner = call.path["runner"]
    if len(runner) > RUNNER_MAX or not runner.isprintable():
        raise bad_request(
            f"runner: expected 1 to {RUNNER_MAX} printable characters, found"
            f" {runner[:RUNNER_MAX]!r}"
        )
    _check(call.body)
    call.site.inframaps.take(runner, call.body, call.gateway.clock.now())
    return Done(())


def get_inframaps(call: Call) -> InfraMaps:
    return call.site.inframaps.shown(call.gateway.clock.now(), call.time("since"))


def _check(report: InfraMapsReport) -> None:
    """Check times and prices, which the structs do not, and refuse duplicate maps and floors."""
    _check_once([one.name for one in report.maps], "maps")
    _check_once([one.node for one in report.floors], "floors")
    read_time(report.at, "at")
    for index, one in enumerate(report.maps):
        _check_fields(one, f"maps[{index}]", ("start", "end"), read_time)
        for place, signal in enumerate(one.signals):
            _check_fields(signal, f"maps[{index}].signals[{place}]", ("at",), read_time)
    for index, floor in enumerate(report.floors):
        fields = ("base", "wanted", "in_force", "asked")
        _check_fields(floor, f"floors[{index}]", fields, read_price)
    for index, alarm in enumerate(report.alarms):
        _check_fields(alarm, f"alarms[{index}]", ("since",), read_time)


def _check_fields(
    part: object, where: str, fields: tuple[str, ...], read: Callable[[str, str], int]
) -> None:
    for field in fields:
        text = getattr(part, field)
        if text is not None:
            read(text, f"{where}.{field}")


def _check_once(names: list[str], field: str) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise bad_request(f"{field}: expected each once, found {name!r} more often")
