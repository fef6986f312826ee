"""The service's metrics for Prometheus, in base units. They name no tenant, because their readers
need not know the tenants.

Commands only increment counters; everything else is read on request.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TypeAlias

from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from laissez.server.gateway import Gateway
from laissez.server.rate_limits import StreamQuota
from laissez.server.webhooks.delivery import Tally
from laissez.units import micro_dollars
from laissez.wire.texts import code_of

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4.encode()
PREFIX = "laissez_"
LATENCIES_S = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)

Figure: TypeAlias = tuple[str, float, str]  # name, value, help


class Histogram:
    """The number of observations up to each bound."""

    def __init__(self, name: str, help: str, bounds: tuple[float, ...]) -> None:
        self._name = name
        self._help = help
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def family(self) -> Metric:
        bounds = (*map(str, self._bounds), "+Inf")
        buckets = list(zip(bounds, accumulate(self._counts), strict=True))
        return HistogramMetricFamily(
            PREFIX + self._name, self._help, buckets=buckets, sum_value=self._sum
        )


class Metrics(Collector):
    def __init__(self, gateway: Gateway, quota: StreamQuota) -> None:
        self._gateway = gateway
        self._quota = quota
        self._answers: Counter[tuple[str, int]] = Counter()
        self._latency = Histogram(
            "commit_latency_seconds",
            "The wait of the first command of each group that became durable together.",
            LATENCIES_S,
        )
        self._group = Histogram(
            "commit_group_commands", "Commands that became durable together.", SIZES
        )
        self._turn = Histogram(
            "loop_delay_seconds",
            "The length of turns of the event loop, for which new arrivals wait.",
            LATENCIES_S,
        )
        self._owed = 0
        self._rate = 0
        self.webhooks = Tally()
        gateway.on_durable = self.durable
        gateway.admission.queue.on_turn = self._turn.observe
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(self)
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)

    # -- counting

    def durable(self, commands: int, waited_s: float) -> None:
        self._latency.observe(waited_s)
        self._group.observe(commands)

    def answered(self, operation: str, status: int) -> None:
        self._answers[operation, status] += 1

    # -- rendering

    def render(self, owed: int, rate: int) -> bytes:
        """`owed` is the exact charge of all tenants together, `rate` their present charge per
        hour."""
        self._owed = owed
        self._rate = rate
        return generate_latest(self.registry)

    def collect(self) -> Iterable[Metric]:
        counts = self._gateway.counts
        commands = Counter({(kind.__name__, "done"): count for kind, count in counts.done.items()})
        for (kind, reason), count in counts.refused.items():
            commands[kind.__name__, code_of(reason)] += count
        ended = [((reason,), count) for reason, count in counts.leases_ended.items()]
        tally = self.webhooks
        delivered = [(("delivered",), tally.delivered), (("failed",), tally.failed)]
        answers = sorted(self._answers.items())
        by = "Commands by kind and outcome."
        yield _by("commands", by, ("kind", "outcome"), sorted(commands.items()))
        by = "Answers to requests by operation and status."
        yield _by("http_answers", by, ("operation", "status"), answers)
        yield _by("leases_ended", "Ended leases by reason.", ("reason",), ended)
        by = "Deliveries to webhooks by outcome."
        yield _by("webhook_deliveries", by, ("outcome",), delivered)
        for histogram in (self._latency, self._group, self._turn):
            yield histogram.family()
        for name, value, help in self._gauges():
            yield GaugeMetricFamily(PREFIX + name, help, value=value)
        for name, value, help in self._counters():
            yield CounterMetricFamily(PREFIX + name, help, value=value)

    def _gauges(self) -> Iterator[Figure]:
        gateway, exchange = self._gateway, self._gateway.exchange
        queue, pending = gateway.admission.queue, gateway.position - gateway.durable
        event_log, digested_s = gateway.event_log, gateway.refusals.digested_us / 1e6
        counts = [exchange.market.counts(tenant) for tenant in exchange.accounts]
        leases = sum(one.leases_live for one in counts)
        orders = sum(one.orders_open for one in counts)
        leaves = len(exchange.market.topology.leaves)
        online, retrying = leaves - len(gateway.counts.offline), self.webhooks.retrying
        yield "waiting_requests", len(queue), "Requests and frames in the fair queue."
        yield "pending_commands", pending, "Commands applied and not yet durable."
        yield "durable_seq", gateway.durable, "The last durable entry of the journal."
        yield (
            "audit_lost",
            gateway.refusals.lost,
            "Refusals that could not be written to their log.",
        )
        yield (
            "audit_digested_timestamp_seconds",
            digested_s,
            "The end of the last day with a digest.",
        )
        yield "sessions", len(self._quota), "Open sessions and streams."
        yield "tenants", len(exchange.accounts), "Tenants."
        yield "leases", leases, "Running leases."
        yield "open_orders", orders, "Open orders."
        yield "leaves", leaves, "Leaves of the topology."
        yield "leaves_online", online, "Leaves online."
        yield "webhooks", len(exchange.webhooks.live), "Webhooks."
        yield "webhooks_retrying", retrying, "Webhooks whose last delivery failed."
        yield "history_events", event_log.events, "Events kept for streams that resume."
        yield "idempotency_keys", event_log.keys, "Idempotency keys kept."
        yield (
            "rate_microdollars_per_hour",
            self._rate,
            "The present charge of all leases per hour.",
        )

    def _counters(self) -> Iterator[Figure]:
        admission, webhooks = self._gateway.admission, self.webhooks
        counts = self._gateway.counts
        refusals = self._gateway.refusals.noted
        revenue = micro_dollars(self._owed)
        yield (
            "shed",
            admission.queue.shed,
            "Requests shed with 503 because they waited too long.",
        )
        yield (
            "delayed_answers",
            admission.delayed,
            "Delayed answers, mostly refusals.",
        )
        yield "events", counts.events, "Events since the start of this process."
        yield "refusals", refusals, "Requests refused before the exchange, so not in the journal."
        yield "transfers", counts.transfers, "Leaves transferred directly between tenants."
        yield "leases_started", counts.leases_started, "Started leases."
        yield "budgets_spent", counts.budgets_spent, "Spent budgets."
        yield (
            "webhook_dead_letters",
            webhooks.given_up,
            "Events given up, undelivered to a webhook.",
        )
        yield "revenue_microdollars", revenue, "The total owed by all tenants, rounded down."


def _by(
    name: str, help: str, labels: tuple[str, ...], counts: Iterable[tuple[tuple[object, ...], int]]
) -> Metric:
    family = CounterMetricFamily(PREFIX + name, help, labels=labels)
    for values, count in counts:
        family.add_metric([str(value) for value in values], count)
    return family
