"""`docs/reference/journal.md` describes entries so that a stranger can write a reader: its lists
are those of the codec, and a reader that knows only the page agrees with the codec.

Run this file as a program to write the lists anew (`make reference`).
"""

from __future__ import annotations

import re
import sqlite3
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from laissez.exchange import codec, commands, events, refusals
from laissez.exchange.codec import Codec
from laissez.exchange.commands import OPERATOR, SERVICE, Action, Request
from laissez.exchange.names import Names
from laissez.journal import Reader
from laissez.market import Market
from laissez.market import commands as market
from support.paths import REFERENCE
from support.service_world import LEAVES, World, with_service

PAGE = REFERENCE / "journal.md"
BEGIN = "<!-- These lists are made by `make reference`. -->\n\n"
END = "\n\n<!-- The end of the lists. -->"
GENESIS_HEADER = 42
# These commands omit their tenant, which is the sender.
OF_TENANT = (
    market.PlaceOrder,
    market.AmendOrder,
    market.CancelOrder,
    market.SetLimit,
    market.Relinquish,
)

pytestmark = pytest.mark.once


def snake(kind: type) -> str:
    return re.sub("(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def coded(title: str, rows: Sequence[tuple[str, str]]) -> str:
    lines = [f"- {code} {name}: {fields or 'none'}" for code, (name, fields) in enumerate(rows)]
    return "\n".join([f"{title}, each with its code and its fields:\n", *lines])


def listed(title: str, names: Mapping[int, str]) -> str:
    return f"{title}: {', '.join(f'{code} `{name}`' for code, name in names.items())}."


def fields_of(kind: type, without: tuple[str, ...]) -> str:
    names: tuple[str, ...] = kind.__struct_fields__  # type: ignore[attr-defined]
    return ", ".join(f"`{name}`" for name in names if name not in without)


def lists() -> str:
    command_rows = [
        (f"`{snake(kind)}`", fields_of(kind, ("tenant",) if kind in OF_TENANT else ()))
        for kind in codec.COMMANDS
    ]
    # The tenant of an event comes first wherever it stands in the struct.
    event_rows = [
        (
            f"`{snake(kind)}`",
            ", ".join(
                filter(
                    None,
                    (
                        "`tenant`" if "tenant" in kind.__struct_fields__ else "",  # type: ignore[attr-defined]
                        fields_of(kind, ("at", "tenant")),
                    ),
                )
            ),
        )
        for kind in events.EVENTS
    ]
    return "\n\n".join(
        (
            coded("Commands", command_rows),
            coded("Events", event_rows),
            listed("Reasons of a refusal", refusals.REASONS),
            listed("Reasons of `lease_ended`", dict(enumerate(codec.END_REASONS))),
            listed("Actions of a budget", {int(one): one.name.lower() for one in Action}),
        )
    )


def test_the_lists_of_the_page_are_those_of_the_codec() -> None:
    written = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    assert written == lists(), "run: make reference"


def test_actions_are_stored_as_their_indexes() -> None:
    assert [int(action) for action in Action] == list(range(len(Action)))


# -- a reader that knows only the page


class PageReader:
    """Reads entries with the page, SQLite and a MessagePack library."""

    def __init__(self, page: str, genesis: bytes) -> None:
        blocks = page.partition(BEGIN)[2].partition(END)[0].split("\n\n")
        self.commands, self.events = (
            {
                int(code): tuple(re.findall(r"`(\w+)`", row))
                for code, row in re.findall(r"^- (\d+) (.*)", one, re.MULTILINE)
            }
            for one in (blocks[1], blocks[3])
        )
        self.reasons, self.ends, self.actions = (
            {int(code): name for code, name in re.findall(r"(\d+) `(\w+)`", one)}
            for one in blocks[4:]
        )
        self.holders, self.keys = ["operator"], ["service"]
        self.nodes = list(nodes_of(msgspec.msgpack.decode(genesis[GENESIS_HEADER:])[0]))

    def read(self, at: int, request: bytes, outcome: bytes) -> dict[str, Any]:
        code, who, key, id, digest, of_session, *values = msgspec.msgpack.decode(request)
        command, *names = self.commands[code]
        found = {
            "who": self.name(self.holders, who),
            "key": self.name(self.keys, key),
            "id": id,
            "digest": digest,
            "of_session": of_session,
            "command": (command, self.fields(command, names, values)),
        }
        first, rows, *refused = msgspec.msgpack.decode(outcome)
        if not refused and command == "create_tenant":
            self.holders.append(values[0])
        if not refused and command == "issue_key":
            self.keys.append(values[1])
        found["first"] = first
        found["events"] = []
        for event_code, n, before, *event_values in rows:
            event, *event_names = self.events[event_code]
            fields = self.fields(event, event_names, event_values)
            if fields.get("alternatives", ()) is None:
                fields["alternatives"] = found["command"][1]["alternatives"]
            found["events"].append((event, n, at - before, fields))
        found["refusal"] = None
        if refused:
            reason, subject, *numbers = refused[0]
            found["refusal"] = self.reasons[reason], self.name(self.nodes, subject), numbers
        return found

    def name(self, by_number: list[str], written: int | str) -> str:
        return written if isinstance(written, str) else by_number[written]

    def fields(self, kind: str, names: list[str], values: list[Any]) -> dict[str, Any]:
        return {
            name: self.field(kind, name, value) for name, value in zip(names, values, strict=True)
        }

    def field(self, kind: str, name: str, value: Any) -> Any:
        if name in ("tenant", "holder"):
            return self.name(self.holders, value)
        if name == "key":
            return self.name(self.keys, value)
        if name in ("scope", "node", "leaf"):
            return self.name(self.nodes, value)
        if name == "reason":
            return self.ends[value]
        if name == "action":
            return self.actions[value]
        if name == "alternatives":
            return value and [
                {
                    "scope": self.name(self.nodes, scope),
                    "bid": limit if bid is None else bid,
                    "limit": limit,
                }
                for scope, bid, limit in zip(value[::3], value[1::3], value[2::3], strict=True)
            ]
        if name in ("rise", "fall") and value is not None:
            return {"fraction_ppm": value[0], "interval_us": value[1]}
        if name == "caps":
            return dict(zip(CAPS, value, strict=True))
        return value


CAPS = (
    "open_orders",
    "commands_per_second",
    "commands_burst",
    "sessions",
    "rate",
    "worst_rate",
)


def nodes_of(leaves: list[str]) -> Iterator[str]:
    seen = set()
    for leaf in leaves:
        parts = leaf.split("/")
        for depth in range(1, len(parts) + 1):
            path = "/".join(parts[:depth])
            if path not in seen:
                seen.add(path)
                yield path


def builtins(struct: Any) -> dict[str, Any]:
    fields = {name: getattr(struct, name) for name in struct.__struct_fields__}
    if "action" in fields:
        fields["action"] = fields["action"].name.lower()
    kept = {name: value for name, value in fields.items() if name != "at"}
    found: dict[str, Any] = msgspec.msgpack.decode(msgspec.msgpack.encode(kept))
    return found


def as_the_codec_reads(codec: Codec, at: int, request: bytes, outcome: bytes) -> dict[str, Any]:
    codec.learn(request, outcome)
    asked = codec.unpack_request(request)
    applied = codec.unpack_outcome(at, asked, outcome)
    command = builtins(asked.command)
    if type(asked.command) in OF_TENANT:
        del command["tenant"]
    return {
        "who": asked.who,
        "key": asked.key,
        "id": asked.id,
        "digest": asked.digest,
        "of_session": asked.of_session,
        "command": (snake(type(asked.command)), command),
        "first": applied.first,
        "events": [
            (snake(type(event)), n, event.at, builtins(event))
            for n, event in zip(applied.numbers, applied.events, strict=True)
        ],
        "refusal": applied.refusal
        and (applied.refusal.reason, applied.refusal.subject, list(applied.refusal.numbers)),
    }


GPU = LEAVES[0]
ONE = (market.Alternative("h100", 1_000_000, 2_000_000),)
EVERY_COMMAND: list[tuple[str, commands.Command]] = [
    (OPERATOR, market.SetControls("h100", market.Band(500_000, 1_000_000), None, 60_000_000, None)),
    (OPERATOR, market.SetFloor("h100", 500_000)),
    ("ann", commands.SetBudget(5_000_000, Action.RELINQUISH, True)),
    ("ann", commands.SetOwnCaps(90_000_000, None)),
    ("ann", market.PlaceOrder("ann", ONE)),
    ("ann", market.PlaceOrder("ann", (market.at_price("a100", 1), market.at_market("h100", 2)))),
    ("ann", market.AmendOrder("ann", 2, ONE)),
    ("ann", market.AmendOrder("ann", 77, ONE)),
    ("ann", market.PlaceOrder("ann", (market.at_price("no/such/place", 1),))),
    ("ann", market.SetLimit("ann", 1, None)),
    ("bob", market.PlaceOrder("bob", (market.at_price("a100", 1),))),
    ("bob", market.CancelOrder("bob", 1)),
    ("ann", commands.CreateWebhook("https://example.com", (0, 3), None)),
    ("ann", commands.RestartWebhook(1, 0)),
    ("ann", commands.RotateWebhookSecret(1)),
    ("ann", commands.DeleteWebhook(1)),
    (OPERATOR, commands.CreateWebhook("https://example.com", None, 0)),
    (OPERATOR, commands.CreateTenant("cat", commands.Caps(open_orders=3, rate=7))),
    (OPERATOR, commands.CreateTenant("cat", commands.Caps())),
    (OPERATOR, commands.SetCaps("cat", commands.Caps(sessions=2))),
    (OPERATOR, commands.SetCaps("nobody", commands.Caps())),
    (OPERATOR, commands.IssueKey("cat", "key_cat", b"12345678", ("read", "trade"), "main")),
    (OPERATOR, commands.RevokeKey("key_cat")),
    (OPERATOR, commands.RevokeKey("key_unknown")),
    (OPERATOR, market.TakeOffline(GPU)),
    (OPERATOR, market.BringOnline(GPU)),
    ("ann", market.Relinquish("ann", 2, True)),
    (OPERATOR, market.AdvanceTime()),
]


def test_a_reader_that_knows_only_the_page_agrees_with_the_codec(tmp_path: Path) -> None:
    assert {type(command) for _, command in EVERY_COMMAND} | {market.CloseBooks} == set(
        codec.COMMANDS
    )

    async def story(world: World) -> None:
        for place, (who, command) in enumerate(EVERY_COMMAND):
            request = Request(who, SERVICE, f"id-{place}", b"", command, place % 2 == 1)
            world.gateway.submit(request, world.gateway.end_holds())
        world.passing.pass_us(3_600_000_000)
        world.close_books()

    with_service(tmp_path, story)
    with Reader.of(tmp_path) as reader:
        ours = Codec(Names(Market.restore(reader.genesis).topology.nodes))
    database = sqlite3.connect(tmp_path / "journal.db")
    (genesis,) = database.execute("SELECT value FROM meta WHERE key = 'genesis'").fetchone()
    stranger = PageReader(PAGE.read_text(), genesis)
    told = set()
    for (packed,) in database.execute("SELECT entries FROM groups ORDER BY first"):
        for at, request, outcome in msgspec.msgpack.decode(packed):
            found = stranger.read(at, request, outcome)
            assert found == as_the_codec_reads(ours, at, request, outcome)
            told |= {event for event, *_ in found["events"]}
    documents = database.execute("SELECT name, body FROM documents").fetchall()
    database.close()
    assert {"lease_started", "lease_ended", "budget_set", "key_revoked", "webhook_created"} <= told
    assert [name for name, _ in documents] == ["statement/ann"]
    since, until, count = struct.unpack_from(">QQI", documents[0][1])
    lines = msgspec.msgpack.decode(documents[0][1][20:])
    assert since < until and count == len(lines)
    assert {kind for kind, *_ in lines} <= {"lease", "fee"}
    assert all(int(charge) > 0 for *_, charge in lines)


if __name__ == "__main__":
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{lists()}{END}{rest.partition(END)[2]}")
