"""A market restored from its snapshot cannot be told from one that never stopped, and nothing but a
snapshot is taken for one."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, get_args

import msgspec
import pytest

from laissez.market import (
    AdvanceTime,
    Band,
    BringOnline,
    CancelOrder,
    CloseBooks,
    Command,
    Event,
    Market,
    Relinquish,
    SetControls,
    SetFloor,
    SetLimit,
    TakeOffline,
    Topology,
)
from laissez.market.errors import SnapshotError, UnknownScope
from support.paths import TESTS
from support.stories import amend, place

LEAVES = ["g", *[f"h/r/{number:02}" for number in range(12)], "h/s/x", "h/s/y"]
LEVELS = {"h": ["type", "zone", "gpu"]}
HALF = 500_000

# Every command and every control, accepted and refused; holds that end between commands, fees, ties
# and closed books.
HISTORY: list[tuple[int, Command]] = [
    (0, SetFloor("h", 2)),
    (0, SetControls("h", rise=Band(HALF, 40), fall=Band(HALF, 30), hold_us=20, flash_us=25)),
    (1, place("ann", "h 9")),
    (2, place("bob", "h/r 4..6", "h/s 3")),
    (2, place("cat", "h ..5", "g ..7")),
    (3, place("dan", "g 8", "h 8")),
    (4, amend("bob", 4, "h 3")),
    (5, SetFloor("h/s", 9)),
    (6, place("bob", "h/s 8")),
    (6, place("ann", "h/s 8")),
    (7, TakeOffline("h/r/05")),
    (8, SetLimit("ann", 1, None)),
    (9, place("名前", "h/s 8", "g 20")),
    (10, place("eve", "g 2..30")),
    (11, CancelOrder("ann", 99)),
    (12, place("ann", "nowhere 1")),
    (15, SetFloor("h/s", 3)),
    (16, place("eve", "h/s 4..10", "g 3")),
    (17, amend("eve", 2, "h/s 2..10")),
    (18, place("ann", "h/s 9")),
    (18, place("bob", "h/s 9")),
    (19, SetLimit("bob", 2, 1)),
    (20, SetControls("h/s", flash_us=50)),
    (26, AdvanceTime()),
    (27, place("fay", "h 30")),
    (28, place("fay", "h/s 30", "h/r/03 40")),
    (29, CancelOrder("fay", 2)),
    (30, BringOnline("h/r/05")),
    (31, BringOnline("h/r/05")),
    (33, Relinquish("dan", 1)),
    (35, SetFloor("h", 0)),
    (40, CloseBooks(21)),
    (41, place("gus", "h 5")),
    (45, SetFloor("h/r", 6)),
    (50, place("ann", "h/s 7", "h/r 7")),
    (55, amend("ann", 3, "h/s 12")),
    (60, SetControls("h")),
    (61, place("bob", "h 50")),
    (62, place("bob", "h 60", "g 60")),
    (62, Relinquish("bob", 3, True)),
    (70, SetFloor("h", 12)),
    (71, SetFloor("h", 1)),
    (72, place("cat", "h 13")),
    (75, CloseBooks(70)),
    (76, TakeOffline("h/s/x")),
    (80, SetControls("h", rise=Band(0, 7))),
    (80, place("dan", "h/s/y 99")),
    (87, place("dan", "h 99")),
    (99, SetFloor("g", 3)),
    (120, AdvanceTime()),
]


def fresh() -> Market:
    return Market(Topology.of(LEAVES, LEVELS), orders_per_tenant_max=3)


def told(market: Market, history: list[tuple[int, Command]]) -> list[list[Event]]:
    return [market.apply(command, at) for at, command in history]


def whole() -> Market:
    market = fresh()
    told(market, HISTORY)
    return market


def questions(market: Market) -> list[object]:
    """Everything that can be asked."""
    tenants = market.tenants()
    answers: list[object] = [
        market.now,
        tenants,
        market.orders(),
        market.leases(),
        market.revenue(),
        market.next_deadline(),
    ]
    for leaf in market.topology.leaves:
        answers += [
            market.owner(leaf),
            market.is_online(leaf),
            market.rate(leaf),
            market.lease_on(leaf),
        ]
    for node in market.topology.nodes:
        answers += [market.floor(node), market.quote(None, node)]
    for tenant in tenants:
        answers += [
            market.bill(tenant),
            market.orders(tenant),
            market.leases(tenant),
            market.pricing_domain(tenant),
            market.counts(tenant),
        ]
        answers += [market.quote(tenant, node) for node in market.pricing_domain(tenant)]
    answers += [market.price_history(lease.tenant, lease.lease) for lease in market.leases()]
    return answers


def test_a_restored_market_continues_as_if_it_had_never_stopped() -> None:
    unbroken = fresh()
    snapshots = [unbroken.snapshot()]
    events: list[list[Event]] = []
    for at, command in HISTORY:
        events.append(unbroken.apply(command, at))
        snapshots.append(unbroken.snapshot())
    # the history knows every kind of event
    assert set(get_args(Event)) == {type(event) for each in events for event in each}
    for cut, snapshot in enumerate(snapshots):
        restored = Market.restore(snapshot)
        assert snapshot == restored.snapshot()
        assert events[cut:] == told(restored, HISTORY[cut:])
        assert unbroken.digest() == restored.digest()
        assert questions(unbroken) == questions(restored)


def test_a_market_restored_after_every_command_ends_the_same() -> None:
    market = fresh()
    for at, command in HISTORY:
        market.apply(command, at)
        market = Market.restore(market.snapshot())
    assert whole().snapshot() == market.snapshot()


def test_a_restored_market_answers_every_question_alike() -> None:
    market = whole()
    assert questions(market) == questions(Market.restore(market.snapshot()))


def test_a_restored_market_keeps_its_topology_its_levels_and_its_bound_on_orders() -> None:
    restored = Market.restore(fresh().snapshot())
    assert Topology.of(LEAVES, LEVELS) == restored.topology
    for _ in range(2):
        assert restored.digest() == fresh().digest()
    told(restored, [(0, SetFloor("h", 9)), *[(0, place("ann", "h 1"))] * 3])
    assert "too_many_orders" in str(restored.apply(place("ann", "h 1"), 0))


def test_questions_do_not_change_the_digest() -> None:
    market = fresh()
    for at, command in HISTORY:
        market.apply(command, at)
        before = market.digest()
        questions(market)
        with pytest.raises(UnknownScope):
            market.quote("ann", "nowhere")
        assert before == market.digest()
    assert whole().digest() == market.digest()


def test_the_digest_is_the_hash_of_the_body_of_a_snapshot() -> None:
    market = whole()
    assert hashlib.sha256(market.snapshot()[42:]).hexdigest() == market.digest()
    assert bytes.fromhex(market.digest()) == market.snapshot()[10:42]


def test_a_different_history_has_a_different_digest() -> None:
    digests = {market.digest() for market in [fresh(), whole()]}
    for cut in range(len(HISTORY)):
        market = fresh()
        told(market, HISTORY[:cut])
        digests.add(market.digest())
    assert len(HISTORY) + 1 == len(digests)


def test_the_digest_does_not_depend_on_the_hash_seed() -> None:
    digests = set()
    for seed in ("0", "1", "2"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path]),
        }
        script = "import market.test_snapshot as histories; print(histories.whole().digest())"
        run = subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(run.stdout.strip())
    assert {whole().digest()} == digests


# data that are not a snapshot


def refusal(data: bytes) -> str:
    with pytest.raises(SnapshotError) as error:
        Market.restore(data)
    return str(error.value)


@pytest.mark.parametrize(
    "data", [b"", b"LAISSEZ", b"laissezm" + bytes(100), bytes(100), b"\xff" * 100]
)
def test_data_without_the_magic_word_are_refused(data: bytes) -> None:
    assert (
        f"expected a market snapshot, which starts with b'LAISSEZM'; found {data[:8]!r}"
        == refusal(data)
    )


@pytest.mark.parametrize("length", [8, 9, 10, 41])
def test_a_snapshot_without_its_whole_header_is_refused(length: int) -> None:
    assert f"the snapshot is cut off: expected at least 42 bytes, found {length}" == refusal(
        whole().snapshot()[:length]
    )


def test_a_snapshot_that_is_cut_off_anywhere_is_refused() -> None:
    data = whole().snapshot()
    for length in range(42, len(data), 37):
        assert (
            f"the snapshot is damaged: its {length - 42} bytes do not match their checksum"
            == refusal(data[:length])
        )
    assert "the snapshot is damaged" in refusal(data + b"\0")


def test_a_snapshot_with_a_flipped_byte_anywhere_is_refused() -> None:
    data = whole().snapshot()
    for position in [*range(42), *range(0, len(data), 37), len(data) - 1]:
        refusal(data[:position] + bytes([data[position] ^ 0x41]) + data[position + 1 :])


@pytest.mark.parametrize("version", [0, 2, 256, 65_535])
def test_a_snapshot_of_another_version_is_refused(version: int) -> None:
    data = whole().snapshot()
    expected = f"expected snapshot version 1, found {version}: it was written by another release"
    assert expected == refusal(data[:8] + version.to_bytes(2, "big") + data[10:])


def signed(body: bytes) -> bytes:
    """A header that fits, whatever the body is."""
    return b"LAISSEZM" + (1).to_bytes(2, "big") + hashlib.sha256(body).digest() + body


def test_a_matching_header_makes_a_snapshot() -> None:
    data = whole().snapshot()
    assert data == signed(data[42:])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc1",
        bytes(50),
        b"garbage",
        msgspec.msgpack.encode({}),
        msgspec.msgpack.encode([[]]),
        msgspec.msgpack.encode([1] * 13),
    ],
)
def test_garbage_with_a_matching_header_is_refused(body: bytes) -> None:
    assert "the snapshot does not describe a market: " in refusal(signed(body))


# Positions in the saved state, which is an array: its leaves, tenants, nodes and leases.
SPOILT: dict[str, Callable[[list[Any]], None]] = {
    "no leaves": lambda state: state[0].clear(),
    "a leaf twice": lambda state: state[0].append(state[0][0]),
    "levels that do not fit": lambda state: state[1].update(h=["type"]),
    "a time that is no number": lambda state: state.__setitem__(3, "now"),
    "a charge that is no number": lambda state: state[8][0].__setitem__(1, "much"),
    "an unknown node": lambda state: state[9][0].__setitem__(0, "nowhere"),
    "an unknown leaf": lambda state: state[12][0].__setitem__(1, "nowhere"),
    "a field too many": lambda state: state.append(1),
    "a field too few": lambda state: state.__delitem__(12),
}


@pytest.mark.parametrize("number", [99, 0, -1])
@pytest.mark.parametrize("holder", ["an order", "a lease"])
def test_an_impossible_tenant_with_a_matching_header_is_refused(holder: str, number: int) -> None:
    state = msgspec.msgpack.decode(whole().snapshot()[42:])
    position, field = (11, 1) if holder == "an order" else (12, 2)
    state[position][0][field] = number
    assert f"the snapshot names tenant {number} of {len(state[8])}" == refusal(
        signed(msgspec.msgpack.encode(state))
    )


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT.keys())
def test_an_impossible_state_with_a_matching_header_is_refused(
    spoil: Callable[[list[Any]], None],
) -> None:
    state = msgspec.msgpack.decode(whole().snapshot()[42:])
    assert whole().snapshot() == signed(msgspec.msgpack.encode(state))
    spoil(state)
    assert "the snapshot does not describe a market: " in refusal(
        signed(msgspec.msgpack.encode(state))
    )
