"""The registry of webhooks: bounds, first events, and ownership, also after a restart."""

from __future__ import annotations

import pytest

from laissez.exchange import events
from laissez.exchange.commands import (
    OPERATOR,
    SERVICE,
    Caps,
    CreateTenant,
    CreateWebhook,
    DeleteWebhook,
    Request,
    RestartWebhook,
    RotateWebhookSecret,
    WebhookCommand,
)
from laissez.exchange.events import Applied
from laissez.exchange.exchange import Exchange
from laissez.exchange.refusals import Denial, Refusal
from laissez.exchange.webhooks import WEBHOOKS_MAX, WebhookRecord
from laissez.market import Market, Topology

URL = "https://ann.example/hook"
HOOK = CreateWebhook(URL, None, None)


class SmallExchange:
    """An exchange with two tenants, `ann` and `bob`, at a time that passes with every command."""

    def __init__(self) -> None:
        self.exchange = Exchange(Market(Topology.of(("a/1",))))
        self.at = 0
        for tenant in ("ann", "bob"):
            self.at += 1
            created = CreateTenant(tenant, Caps())
            self.exchange.apply(self.at, Request(OPERATOR, SERVICE, "", b"", created))

    def say(self, who: str, command: WebhookCommand, after_us: int = 1) -> Applied:
        self.at += after_us
        before = self.exchange.snapshot()
        applied = self.exchange.apply(self.at, Request(who, SERVICE, "", b"", command))
        assert (applied.refusal is None) == (before != self.exchange.snapshot())
        self.exchange = Exchange.restore(self.exchange.snapshot())
        return applied

    def hooks(self, who: str) -> list[WebhookRecord]:
        return list(self.exchange.webhooks.of(who))


def test_a_webhook_gets_events_after_its_creation_or_after_a_named_event() -> None:
    small = SmallExchange()
    assert (events.WebhookCreated(3, "ann", 1, URL, None, 0),) == small.say("ann", HOOK).events
    created = small.say("ann", CreateWebhook(URL, (0, 3), 0))
    assert (events.WebhookCreated(4, "ann", 2, URL, (0, 3), 0),) == created.events
    assert (5, (2,)) == (small.say("operator", HOOK).first, created.numbers)
    assert [1, 2] == [hook.number for hook in small.hooks("ann")]
    (operators,) = small.hooks(OPERATOR)
    assert (1, 4) == (operators.number, operators.after)  # the operator counts all events
    assert [] == small.hooks("bob")


@pytest.mark.parametrize("after", [-1, 2, 10**15])
def test_a_webhook_cannot_begin_after_a_future_event(after: int) -> None:
    small = SmallExchange()
    small.say("ann", HOOK)
    refusal = Refusal(Denial.EVENT_NUMBER_INVALID, "after", (after, 1))
    assert refusal == small.say("ann", CreateWebhook(URL, None, after)).refusal
    assert refusal == small.say("ann", RestartWebhook(1, after)).refusal


def test_webhooks_per_holder_are_limited_and_numbers_are_unique() -> None:
    small = SmallExchange()
    for _ in range(WEBHOOKS_MAX):
        assert small.say("ann", HOOK).refusal is None
    refusal = Refusal(Denial.TOO_MANY_WEBHOOKS, "", (WEBHOOKS_MAX,))
    assert refusal == small.say("ann", HOOK).refusal
    assert small.say("bob", HOOK).refusal is None
    deleted = small.say("ann", DeleteWebhook(WEBHOOKS_MAX))
    assert (events.WebhookDeleted(small.at, "ann", WEBHOOKS_MAX),) == deleted.events
    small.say("ann", HOOK)
    assert WEBHOOKS_MAX + 1 == small.hooks("ann")[-1].number


@pytest.mark.parametrize(
    "command", [DeleteWebhook(1), RotateWebhookSecret(1), RestartWebhook(1, 0)]
)
def test_another_holders_webhook_answers_like_one_that_does_not_exist(
    command: WebhookCommand,
) -> None:
    small = SmallExchange()
    assert Refusal(Denial.WEBHOOK_UNKNOWN, "", (1,)) == small.say("ann", command).refusal
    small.say("bob", HOOK)
    assert Refusal(Denial.WEBHOOK_UNKNOWN, "", (1,)) == small.say("ann", command).refusal
    assert 1 == len(small.hooks("bob"))


def test_a_rotation_makes_a_new_secret_and_keeps_the_previous_one() -> None:
    small = SmallExchange()
    small.say("ann", HOOK)
    made = small.at
    assert (
        Refusal(Denial.WEBHOOK_SECRET_FRESH) == small.say("ann", RotateWebhookSecret(1), 0).refusal
    )
    rotated = small.say("ann", RotateWebhookSecret(1))
    assert (events.WebhookSecretRotated(small.at, "ann", 1),) == rotated.events
    (hook,) = small.hooks("ann")
    assert (small.at, made) == (hook.secret_at, hook.previous_at)


def test_a_restarted_webhook_gets_the_named_events_again() -> None:
    small = SmallExchange()
    small.say("ann", HOOK)
    small.say("ann", RotateWebhookSecret(1))
    restarted = small.say("ann", RestartWebhook(1, 1))
    assert (events.WebhookRestarted(small.at, "ann", 1, 1),) == restarted.events
    (hook,) = small.hooks("ann")
    assert (1, small.at, 2) == (hook.after, hook.started_at, hook.starts)
