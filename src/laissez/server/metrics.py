"""The service's figures in the form that Prometheus reads. Base units, and no tenant's name
anywhere: who may read figures may not know everybody.

Counting is plain addition, on the way of every command; everything else is read when somebody asks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from laissez.market.commands import BringOnline, TakeOffline
from laissez.server.gateway import Entered, Gateway
from laissez.server.quotas import StreamQuota
from laissez.server.turnover import Turnover
from laissez.server.webhooks.delivery import Tally
from laissez.units import CHARGE_PER_MICRO_DOLLAR
from laissez.wire.texts import code_of

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4.encode()
LATENCIES_S = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)
DONE = "done"


class Spread:
    """A histogram: how many observations fell up to each bound."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def family(self, name: str, help: str) -> Metric:
        buckets: list[tuple[str, float]] = []
        total = 0
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._counts, strict=True):
            total += count
            buckets.append((bound, total))
        return HistogramMetricFamily(name, help, buckets=buckets, sum_value=self._sum)


class Metrics(Collector):
    def __init__(self, gateway: Gateway, places: StreamQuota) -> None:
        self._gateway = gateway
        self._places = places
        # by kind and by the code of a refusal; None: carried out
        self._commands: dict[tuple[type, str | None], int] = {}
        self._answers: dict[tuple[str, int], int] = {}
        self._events = 0
        self._latency = Spread(LATENCIES_S)
        self._group = Spread(SIZES)
        self._turn = Spread(LATENCIES_S)
        self._owed = 0
        self._rate = 0
        self.turnover = Turnover()
        self.webhooks = Tally()
        market = gateway.exchange.market
        self.offline = {leaf for leaf in market.topology.leaves if not market.is_online(leaf)}
        gateway.on_durable = self.durable
        gateway.admission.queue.on_turn = self._turn.observe
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(self)
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)

    # -- counting

    def durable(self, entered: Sequence[Entered], waited_s: float) -> None:
        self._latency.observe(waited_s)
        self._group.observe(len(entered))
        for one in entered:
            command, applied = one.request.command, one.applied
            refusal = applied.refusal
            key = type(command), None if refusal is None else code_of(refusal)
            self._commands[key] = self._commands.get(key, 0) + 1
            self._events += len(applied.events)
            self.turnover.count(applied.events)
            if refusal is None and isinstance(command, TakeOffline):
                self.offline.add(command.leaf)
            elif refusal is None and isinstance(command, BringOnline):
                self.offline.discard(command.leaf)

    def answered(self, operation: str, status: int) -> None:
        key = operation, status
        self._answers[key] = self._answers.get(key, 0) + 1

    # -- telling

    def render(self, owed: int, rate: int) -> bytes:
        """`owed` is the exact charge of all tenants together, `rate` what they are charged per hour
        now."""
        self._owed = owed
        self._rate = rate
        return generate_latest(self.registry)

    def collect(self) -> Iterable[Metric]:
        gateway, exchange = self._gateway, self._gateway.exchange
        accounts = exchange.accounts.values()
        leaves = len(exchange.market.topology.leaves)
        yield self._commands_family()
        yield self._answers_family()
        yield self._latency.family(
            "laissez_commit_latency_seconds",
            "How long the first command of each group that became durable together had waited.",
        )
        yield self._group.family(
            "laissez_commit_group_commands", "Commands that became durable together."
        )
        yield self._turn.family(
            "laissez_loop_delay_seconds",
            "How long each turn of the event loop took. Who arrives meanwhile waits.",
        )
        yield _gauge(
            "laissez_waiting_requests",
            "Requests and frames that wait for their turn.",
            len(gateway.admission.queue),
        )
        yield _counter(
            "laissez_shed",
            "Requests that had waited for too long and were turned away with 503.",
            gateway.admission.queue.shed,
        )
        yield _counter(
            "laissez_delayed_answers",
            "Answers, refusals above all, that were held back.",
            gateway.admission.delayed,
        )
        yield _counter("laissez_events", "Events since the start of this process.", self._events)
        yield _gauge(
            "laissez_pending_commands",
            "Applied and not yet durable.",
            gateway.position - gateway.durable,
        )
        yield _gauge(
            "laissez_durable_seq", "The last entry of the journal that is durable.", gateway.durable
        )
        yield _counter(
            "laissez_refusals",
            "Refused before the exchange, and so not in the journal.",
            gateway.refusals.noted,
        )
        yield _gauge(
            "laissez_audit_lost",
            "Refusals that could not be written to their log.",
            gateway.refusals.lost,
        )
        yield _gauge(
            "laissez_audit_digested_timestamp_seconds",
            "Until when there are digests of days.",
            gateway.refusals.digested_us / 1e6,
        )
        yield _gauge("laissez_sessions", "Sessions and streams that are open.", len(self._places))
        yield _gauge("laissez_tenants", "Tenants.", len(accounts))
        counts = [exchange.market.counts(account.name) for account in accounts]
        yield _gauge("laissez_leases", "Leases that last.", sum(one.leases_live for one in counts))
        yield _gauge(
            "laissez_open_orders",
            "Orders that wait.",
            sum(one.orders_open for one in counts),
        )
        yield _gauge("laissez_leaves", "Leaves of the topology.", leaves)
        yield _gauge(
            "laissez_leaves_online", "Leaves that can be leased.", leaves - len(self.offline)
        )
        yield _counter(
            "laissez_transfers",
            "Leaves that went from one tenant to another at once.",
            self.turnover.transfers,
        )
        yield _counter("laissez_leases_started", "Leases that started.", self.turnover.started)
        yield self._ended_family()
        yield _counter(
            "laissez_budgets_spent", "Budgets that were used up.", self.turnover.budgets_spent
        )
        yield _gauge("laissez_webhooks", "Webhooks.", len(exchange.webhooks.live))
        yield _gauge(
            "laissez_webhooks_retrying",
            "Webhooks whose last delivery failed.",
            self.webhooks.retrying,
        )
        yield self._deliveries_family()
        yield _counter(
            "laissez_webhook_dead_letters",
            "Events that were not delivered to a webhook in time.",
            self.webhooks.given_up,
        )
        yield _gauge(
            "laissez_history_events", "Events kept for streams that resume.", len(gateway.event_log)
        )
        yield _gauge(
            "laissez_idempotency_keys",
            "Clients' ids kept for requests sent again.",
            len(gateway.idempotency_keys),
        )
        yield _gauge(
            "laissez_rate_microdollars_per_hour",
            "What all leases together are charged per hour now.",
            self._rate,
        )
        yield _counter(
            "laissez_revenue_microdollars",
            "What all tenants together owe, rounded down.",
            self._owed // CHARGE_PER_MICRO_DOLLAR,
        )

    def _commands_family(self) -> Metric:
        family = CounterMetricFamily(
            "laissez_commands", "Commands by kind and outcome.", labels=("kind", "outcome")
        )
        named = {
            (kind.__name__, DONE if code is None else code): count
            for (kind, code), count in self._commands.items()
        }
        for labels, count in sorted(named.items()):
            family.add_metric(labels, count)
        return family

    def _ended_family(self) -> Metric:
        """Every reason from the start on: a rate over a counter that was not there misses its first
        step."""
        family = CounterMetricFamily(
            "laissez_leases_ended", "Leases that ended, by reason.", labels=("reason",)
        )
        for reason, count in self.turnover.ended.items():
            family.add_metric((reason,), count)
        return family

    def _deliveries_family(self) -> Metric:
        family = CounterMetricFamily(
            "laissez_webhook_deliveries", "Deliveries to webhooks by outcome.", labels=("outcome",)
        )
        family.add_metric(("delivered",), self.webhooks.delivered)
        family.add_metric(("failed",), self.webhooks.failed)
        return family

    def _answers_family(self) -> Metric:
        family = CounterMetricFamily(
            "laissez_http_answers",
            "Answers to requests by operation and status.",
            labels=("operation", "status"),
        )
        for (operation, status), count in sorted(self._answers.items()):
            family.add_metric((operation, str(status)), count)
        return family


def _gauge(name: str, help: str, value: float) -> Metric:
    return GaugeMetricFamily(name, help, value=value)


def _counter(name: str, help: str, value: float) -> Metric:
    return CounterMetricFamily(name, help, value=value)
