"""Previews of the operator's commands: a fork of the process carries them out, so the answer is
exact and nothing changes.

A preview shows immediate effects only, not those that a band or a hold delays.
"""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from laissez.exchange.commands import OPERATOR, SERVICE, Command, Request
from laissez.exchange.events import Event
from laissez.exchange.exchange import Exchange
from laissez.market import Market
from laissez.market.answers import LeaseView
from laissez.market.commands import AdvanceTime
from laissez.market.events import LeaseEnded, LeaseStarted
from laissez.server.forked import Copy, CopyFailed
from laissez.server.gateway import Gateway
from laissez.units import format_time
from laissez.wire.figures import PreviewDone, PreviewEnded, PreviewRefused, PreviewTenant
from laissez.wire.problems import Code, ProblemError
from laissez.wire.rendering import optional_price, price
from laissez.wire.texts import problem_of

PREVIEWS_AT_ONCE = 2  # each is a copy of the process, and keeps a core busy
PREVIEW_S = 8.0  # less than the ten seconds that clients wait
ENDED_SHOWN = 100

Readable: TypeAlias = Command | PreviewRefused  # a command, or the reason why it is invalid

_read_done = msgspec.msgpack.Decoder(PreviewDone).decode


class Previews:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._under_way: set[Copy] = set()

    async def of(self, commands: Sequence[Readable]) -> PreviewDone:
        self._gateway.admission.check_open()
        if len(self._under_way) >= PREVIEWS_AT_ONCE:
            why = f"{PREVIEWS_AT_ONCE} previews are running: try again in a moment"
            raise ProblemError(Code.OVERLOADED, why, 1.0)
        copy = self._begin(commands)
        self._under_way.add(copy)
        try:
            with copy:
                return _read_done(await copy.answer())
        except CopyFailed as failed:
            self._gateway.admission.check_open()  # a stopping server kills previews
            if not failed.took_too_long:
                raise
            why = (
                f"the preview took longer than {PREVIEW_S:g} seconds and was stopped: preview fewer"
                " commands"
            )
            raise ProblemError(Code.OVERLOADED, why, 60.0) from None
        finally:
            self._under_way.remove(copy)

    def _begin(self, commands: Sequence[Readable]) -> Copy:
        exchange, at = self._gateway.exchange, self._gateway.clock.now()

        def work(line: socket.socket) -> None:
            line.sendall(msgspec.msgpack.encode(carried_out(exchange, at, commands)))

        try:
            return Copy(work, PREVIEW_S)
        except OSError as error:
            why = f"the process cannot be copied: {error.strerror}; try again later"
            raise ProblemError(Code.OVERLOADED, why, 10.0) from None

    def give_up(self) -> None:
        """End all previews, because the server stops."""
        for copy in self._under_way:
            copy.kill()


def carried_out(exchange: Exchange, at: int, commands: Sequence[Readable]) -> PreviewDone:
    """Apply the commands to the exchange and compare it before and after."""
    # End due holds first: they are no effect of the commands.
    exchange.apply(at, Request(OPERATOR, SERVICE, "", b"", AdvanceTime()))
    before = _Look(exchange.market)
    events: list[Event] = []
    refused: list[PreviewRefused] = []
    for index, command in enumerate(commands):
        if isinstance(command, PreviewRefused):
            refused.append(command)
            continue
        applied = exchange.apply(at, Request(OPERATOR, SERVICE, "", b"", command))
        events += applied.events
        if applied.refusal is not None:
            problem = problem_of(applied.refusal, OPERATOR)
            refused.append(PreviewRefused(index, problem.code, problem.detail))
    return _compared(at, before, _Look(exchange.market), events, refused)


class _Look:
    """The market at one moment: its leases by leaf, and the number of idle leaves."""

    def __init__(self, market: Market) -> None:
        self.leases: dict[str, LeaseView] = {lease.leaf: lease for lease in market.leases()}
        self.rate = sum(lease.charged for lease in self.leases.values())
        online = sum(market.is_online(leaf) for leaf in market.topology.leaves)
        self.idle = online - len(self.leases)


def _compared(
    at: int, before: _Look, after: _Look, events: Sequence[Event], refused: Sequence[PreviewRefused]
) -> PreviewDone:
    pairs = [
        (lease, after.leases[leaf]) for leaf, lease in before.leases.items() if leaf in after.leases
    ]
    lasting = [(was.charged, now.charged) for was, now in pairs if was.fence == now.fence]
    ended = [
        PreviewEnded(one.leaf, one.tenant, one.reason, price(one.rate), optional_price(one.limit))
        for one in events
        if isinstance(one, LeaseEnded)
    ]
    lost = Counter(one.tenant for one in ended)
    won = Counter(one.tenant for one in events if isinstance(one, LeaseStarted))
    tenants = [PreviewTenant(name, lost[name], won[name]) for name in sorted({*lost, *won})]
    return PreviewDone(
        at=format_time(at),
        refused=tuple(refused),
        leases_ended=len(ended),
        leases_started=won.total(),
        transfers=sum(was.tenant != now.tenant for was, now in pairs),
        tenants=tuple(tenants),
        ended=tuple(ended[:ENDED_SHOWN]),
        rate_before=price(before.rate),
        rate_after=price(after.rate),
        dearer=sum(now > was for was, now in lasting),
        cheaper=sum(now < was for was, now in lasting),
        idle_before=before.idle,
        idle_after=after.idle,
    )
