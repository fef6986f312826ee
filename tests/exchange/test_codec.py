"""The journal's entries: every request and outcome survives the codec, in few bytes, and known
names are numbers."""

from __future__ import annotations

from random import Random
from typing import Any, get_args

import msgspec
import pytest

from laissez.exchange import commands, events
from laissez.exchange.codec import COMMANDS, Codec
from laissez.exchange.commands import OPERATOR, SERVICE, Action, Caps, Command, Request
from laissez.exchange.events import EVENTS, Applied, Event, tenant_of
from laissez.exchange.exchange import Exchange
from laissez.exchange.names import Names
from laissez.exchange.refusals import REASONS, Refusal
from laissez.market import Market, Topology
from laissez.market import commands as market
from laissez.market import events as market_events
from laissez.market.commands import Alternative, Band, at_price
from laissez.market.reasons import EndReason
from support.exchange_histories import draw, requests_of, with_fees

AT = 1_800_000_000_000_000  # in the year 2027
BYTES_MAX = 120  # of an entry, on average
PATHS = ("h100", "h100/east", "h100/east/1")
CAPS = Caps(5, 6, 7, 8, 9_000_000, 2**62)
ALTERNATIVES = (Alternative("h100", 3, 9), at_price("h100/east", 5), Alternative("moon", 0, 2**62))
ASKED = Request("ann", SERVICE, "", b"", market.AmendOrder("ann", 1, ALTERNATIVES))
BAND = Band(250_000, 60_000_000)
COMMANDS_OF_ALL_KINDS: tuple[Command, ...] = (
    market.PlaceOrder("ann", ALTERNATIVES),
    market.PlaceOrder("ann", ()),
    market.AmendOrder("ann", 7, ALTERNATIVES),
    market.CancelOrder("ann", 2**53),
    market.SetLimit("ann", 3, 5),
    market.SetLimit("ann", 3, None),
    market.Relinquish("ann", 4, True),
    commands.SetBudget(5_000_000, Action.RELINQUISH, True),
    commands.SetBudget(None),
    commands.SetOwnCaps(1, None),
    commands.CreateWebhook("https://ann.example/hook", (0, 3), 12),
    commands.CreateWebhook("https://ann.example/hook", None, None),
    commands.DeleteWebhook(1),
    commands.RotateWebhookSecret(2),
    commands.RestartWebhook(3, 17),
    commands.CreateTenant("cid", CAPS),
    commands.SetCaps("bob", Caps()),
    commands.SetCaps("nobody", CAPS),
    commands.IssueKey("bob", "key_9", bytes(range(32)), ("read", "trade"), "laptop"),
    commands.RevokeKey("key_1"),
    commands.RevokeKey("key_unknown"),
    market.SetFloor("h100/east", 5),
    market.SetFloor("moon", None),
    market.SetControls("h100", BAND, None, 5, None),
    market.SetControls("h100"),
    market.TakeOffline("h100/east/1"),
    market.BringOnline("h100/east/1"),
    market.AdvanceTime(),
    market.CloseBooks(AT - 5),
)
EVENTS_OF_ALL_KINDS: tuple[Event, ...] = (
    market_events.OrderPlaced(AT, "ann", 1, ALTERNATIVES, False),
    market_events.OrderAmended(AT, "ann", 1, ALTERNATIVES, True),
    market_events.OrderCancelled(AT - 9, "bob", 2**53),
    market_events.LeaseStarted(AT - 1, "bob", 1, "h100/east/1", 2, 3, 4, AT + 60),
    market_events.LeaseStarted(AT, "bob", 1, "h100/east/1", 2, 3, 4, None),
    *[
        market_events.LeaseEnded(AT, "ann", 5, "h100/east/1", reason, 7, None)
        for reason in EndReason
    ],
    market_events.LimitSet(AT, "ann", 5, "h100/east/1", None),
    market_events.FeeCharged(AT, "bob", 5, "h100", 7, AT + 9),
    events.BudgetSet(AT, "ann", None, Action.WARN, False),
    events.BudgetSet(AT, "ann", 5, Action.LIMITS_TO_FLOOR, True),
    events.BudgetWarning(AT, "ann", 80, 4, 5, 6, None),
    events.BudgetSpent(AT, "ann", Action.NO_NEW_ORDERS, 5, 5),
    events.OwnCapsSet(AT, "ann", None, 7),
    events.WebhookCreated(AT, "ann", 1, "https://ann.example/hook", (0, 23), 5),
    events.WebhookCreated(AT, OPERATOR, 1, "https://ops.example/hook", None, 5),
    events.WebhookDeleted(AT, "bob", 1),
    events.WebhookSecretRotated(AT, OPERATOR, 1),
    events.WebhookRestarted(AT, "ann", 1, 9),
    market_events.FloorSet(AT, "h100", 5, True),
    market_events.ControlsSet(AT, "h100", None, BAND, None, 6),
    market_events.LeafTakenOffline(AT, "h100/east/1"),
    market_events.LeafBroughtOnline(AT, "h100/east/1"),
    market_events.BooksClosed(AT, AT - 5),
    events.TenantCreated(AT, "ann", CAPS),
    events.CapsSet(AT, "ann", Caps()),
    events.KeyIssued(AT, "key_1", "ann", "laptop", ("read",)),
    events.KeyRevoked(AT, "key_1", "ann"),
)


def known() -> Names:
    names = Names(PATHS)
    for holder, key in (("ann", "key_1"), ("bob", "key_2")):
        names.holders.add(holder)
        names.keys.add(key)
    return names


def applied(*happened: Event, refusal: Refusal | None = None) -> Applied:
    tenants = tuple(tenant_of(event) for event in happened)
    numbers = tuple(0 if tenant is None else 40 + n for n, tenant in enumerate(tenants))
    return Applied(900, happened, tenants, numbers, refusal)


# -- round trips


def test_samples_cover_every_kind() -> None:
    assert set(COMMANDS) == {type(command) for command in COMMANDS_OF_ALL_KINDS}
    assert set(COMMANDS) == set(get_args(Command))
    assert set(EVENTS) == {type(event) for event in EVENTS_OF_ALL_KINDS}
    assert set(EVENTS) == set(get_args(Event))
    assert len(EVENTS) == len(set(EVENTS)) and len(REASONS) == len(set(REASONS.values()))


@pytest.mark.parametrize("command", COMMANDS_OF_ALL_KINDS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("of_session", [False, True])
def test_a_request_survives_the_codec(command: Command, of_session: bool) -> None:
    who = getattr(command, "tenant", "ann")
    for key, id, digest in ((SERVICE, "", b""), ("key_2", "order-17", bytes(8))):
        request = Request(who, key, id, digest, command, of_session)
        codec = Codec(known())
        if type(command) is commands.SetCaps:
            request = msgspec.structs.replace(request, who=OPERATOR)
        packed = codec.pack_request(request)
        assert request == Codec(known()).unpack_request(packed)


@pytest.mark.parametrize("event", EVENTS_OF_ALL_KINDS, ids=lambda one: type(one).__name__)
def test_an_outcome_survives_the_codec(event: Event) -> None:
    outcome = applied(event, event)
    codec = Codec(known())
    packed = codec.pack_outcome(AT, ASKED, outcome)
    assert outcome == Codec(known()).unpack_outcome(AT, ASKED, packed)
    request = codec.pack_request(msgspec.structs.replace(ASKED, id="x"))
    assert ("ann", "x", 900, (tenant_of(event),) * 2) == codec.indexed(request, packed)


@pytest.mark.parametrize("reason", REASONS.values())
@pytest.mark.parametrize("subject", ["", "h100/east", "moon", "17"])
def test_a_refusal_survives_the_codec(reason: Any, subject: str) -> None:
    for numbers in ((), (5,), (None, 2**62), (1, 2, 3)):
        for happened in ((), EVENTS_OF_ALL_KINDS[:3]):
            outcome = applied(*happened, refusal=Refusal(reason, subject, numbers))
            codec = Codec(known())
            found = codec.unpack_outcome(AT, ASKED, codec.pack_outcome(AT, ASKED, outcome))
            assert outcome == found
            assert found.refusal is not None and type(reason) is type(found.refusal.reason)


@pytest.mark.parametrize("seed", [0, 1, *with_fees(3)])
def test_random_histories_survive_the_codec(seed: int) -> None:
    drawn = draw(seed)
    exchange = Exchange.begin(drawn.genesis)
    codec = Codec(exchange.names)
    for step, (at, request, outcome) in zip(drawn.steps, requests_of(drawn), strict=True):
        exchange.apply(at, request)
        found = codec.unpack_outcome(at, request, step.outcome)
        assert msgspec.structs.replace(outcome, documents=()) == found
        tenants = tuple(map(tenant_of, outcome.events))
        assert (request.who, request.id, outcome.first, tenants) == codec.indexed(
            step.request, step.outcome
        )


# -- names


def test_known_names_are_numbers_and_unknown_ones_stay_text() -> None:
    command = market.PlaceOrder("ann", (at_price("h100/east", 5), at_price("moon", 6)))
    codec = Codec(known())
    row = msgspec.msgpack.decode(codec.pack_request(Request("ann", "key_2", "x", b"d", command)))
    assert [0, 1, 2, "x", b"d", False, [1, None, 5, "moon", None, 6]] == row
    stranger = Request("eve", "key_7", "", b"", commands.RevokeKey("key_7"))
    assert ["eve", "key_7", "key_7"] == [
        msgspec.msgpack.decode(codec.pack_request(stranger))[place] for place in (1, 2, 6)
    ]
    assert stranger == codec.unpack_request(codec.pack_request(stranger))


def test_a_name_becomes_a_number_once_the_exchange_knows_it() -> None:
    names = known()
    codec = Codec(names)
    request = Request("eve", "key_7", "", b"", market.CancelOrder("eve", 1))
    assert ["eve", "key_7"] == msgspec.msgpack.decode(codec.pack_request(request))[1:3]
    names.holders.add("dan")
    names.holders.add("eve")
    names.keys.add("key_7")
    packed = codec.pack_request(request)
    assert [4, 3] == msgspec.msgpack.decode(packed)[1:3]
    assert request == codec.unpack_request(packed)


def test_a_reader_without_an_exchange_learns_names_from_accepted_requests() -> None:
    exchange = Exchange(Market(Topology.of(("a/1",))))
    writer = Codec(exchange.names)
    names = Names(exchange.market.topology.nodes)
    reader = Codec(names)
    said: tuple[Command, ...] = (
        commands.CreateTenant("ann", Caps()),
        commands.CreateTenant("ann", Caps()),  # refused: creates no name
        commands.CreateTenant("bob", Caps()),
        commands.IssueKey("bob", "key_b", bytes(32), ("read",), "laptop"),
        commands.IssueKey("nobody", "key_n", bytes(32), ("read",), "laptop"),  # refused
        commands.RevokeKey("key_b"),  # creates no name
    )
    for at, command in enumerate(said, 1):
        request = Request(OPERATOR, SERVICE, "", b"", command)
        packed = writer.pack_request(request)
        outcome = writer.pack_outcome(at, request, exchange.apply(at, request))
        assert request == reader.unpack_request(packed)
        reader.learn(packed, outcome)
    assert [OPERATOR, "ann", "bob"] == names.holders.names == exchange.names.holders.names
    assert [SERVICE, "key_b"] == names.keys.names == exchange.names.keys.names


# -- bounds


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**30])
def test_numbers_too_large_for_64_bits_are_refused(number: int) -> None:
    codec = Codec(known())
    for command in (market.SetLimit("ann", 1, number), market.CancelOrder("ann", number)):
        with pytest.raises(OverflowError):
            codec.pack_request(Request("ann", SERVICE, "", b"", command))
    with pytest.raises(OverflowError):
        codec.pack_outcome(AT, ASKED, applied(market_events.OrderCancelled(AT, "ann", number)))


@pytest.mark.parametrize("damaged", [b"", b"\xc1", b"\x80", b"\x93\x00\x00", b"\x90"])
def test_invalid_bytes_raise_an_error(damaged: bytes) -> None:
    codec = Codec(known())
    for read in (codec.unpack_request, lambda packed: codec.unpack_outcome(AT, ASKED, packed)):
        with pytest.raises((msgspec.MsgspecError, ValueError, IndexError)):
            read(damaged)


def test_entries_of_ordinary_trading_are_small() -> None:
    """The usual mix: of ten commands, three place and four amend an order, one cancels, two set
    limits."""
    rng = Random(1)
    leaves = [
        f"type{kind}/zone{zone}/node{node}"
        for kind in range(4)
        for zone in range(4)
        for node in range(64)
    ]
    exchange = Exchange(Market(Topology.of(leaves)))
    tenants = [f"tenant-{number:05}" for number in range(100)]
    at = AT
    for number, tenant in enumerate(tenants):
        for command in (
            commands.CreateTenant(tenant, Caps()),
            commands.IssueKey(tenant, f"key_{number:026}", bytes(32), ("trade",), "default"),
        ):
            at += 1
            assert exchange.apply(at, Request(OPERATOR, SERVICE, "", b"", command)).refusal is None
    codec = Codec(exchange.names)
    sizes: list[int] = []
    for number in range(2_000):
        at += rng.randrange(1_000)
        place = rng.randrange(len(tenants))
        tenant, scope = tenants[place], rng.choice(leaves).rsplit("/", rng.randrange(3))[0]
        limit = rng.randrange(1_000_000, 9_000_000)
        wanted = (Alternative(scope, limit // 2, limit),)
        orders, leases = exchange.market.orders(tenant), exchange.market.leases(tenant)
        share = rng.random()
        said: Command = market.PlaceOrder(tenant, wanted)
        if orders and share > 0.6:
            said = market.AmendOrder(tenant, rng.choice(orders).order, wanted)
        elif orders and share > 0.5:
            said = market.CancelOrder(tenant, rng.choice(orders).order)
        elif leases and share > 0.3:
            said = market.SetLimit(tenant, rng.choice(leases).lease, limit)
        request = Request(tenant, f"key_{place:026}", f"c-{number:06}", rng.randbytes(8), said)
        outcome = exchange.apply(at, request)
        sizes.append(
            len(codec.pack_request(request)) + len(codec.pack_outcome(at, request, outcome))
        )
    assert sum(sizes) <= BYTES_MAX * len(sizes), sum(sizes) / len(sizes)
