"""Runs an operator's maps against a server in a loop: read, decide, send, report."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Final

import msgspec

from laissez.client import AsyncClient, LaissezError
from laissez.live.map_report import make_report
from laissez.live.trader import Clock, wall_clock
from laissez.market import commands
from laissez.market.answers import ControlsView
from laissez.market.commands import Band, OperatorCommand
from laissez.operators import Alarm, Decision, LeafIndex, Memory, Operator, OperatorView
from laissez.units import SECOND_US, format_price, parse_amount, parse_price
from laissez.wire import events, requests
from laissez.wire.limits import BATCH_COMMANDS_MAX
from laissez.wire.rendering import seconds

PPM: Final = 1_000_000
PACE_S: Final = 10.0  # from one decision to the next
# a report must not delay prices; the next one replaces it anyway
REPORT_WITHIN_S: Final = 2.0


@dataclass
class OperatorRunner:
    """Decides and reports under `name` every `pace_s` seconds. `tell(what, **facts)` is called for
    every notable event; `memory` is the memory of the maps."""

    operator: Operator
    client: AsyncClient
    tell: Callable[..., None]
    memory: Memory = field(default_factory=Memory)
    clock: Clock = wall_clock
    _: KW_ONLY
    name: str = "maps"
    pace_s: float = PACE_S

    def __post_init__(self) -> None:
        self._leaves = LeafIndex(())
        self._standing: dict[str, Alarm] = {}
        self._is_reported = True  # whether the last report was taken

    async def turn(self) -> Decision:
        """Look, decide, send, report. If the server is away, the memory does not change."""
        view = await self.look()
        decision = self.operator.decide(view)
        await self._send(decision.commands)
        self._tell_alarms(decision.alarms)
        self.memory = decision.memory
        await self._report(decision, view.now)
        return decision

    async def plan(self) -> Decision:
        """Decide without sending."""
        return self.operator.decide(await self.look())

    async def look(self) -> OperatorView:
        # in a thread, because sources may wait for servers
        readings = await asyncio.to_thread(self.operator.read, self.clock())
        resources = [resource async for resource in self.client.resources()]
        leaves = {resource.leaf for resource in resources}
        if leaves != set(self._leaves.paths):
            self._leaves = LeafIndex(leaves)
        return OperatorView(
            now=self.clock(),
            leaves=self._leaves,
            floors={
                floor.node: parse_price(floor.own)
                async for floor in self.client.floors()
                if floor.own is not None
            },
            controls={
                one.node: ControlsView(
                    one.node, _band(one.rise), _band(one.fall), _us(one.hold_s), _us(one.flash_s)
                )
                async for one in self.client.controls()
            },
            leased=frozenset(resource.leaf for resource in resources if resource.owner is not None),
            offline=frozenset(resource.leaf for resource in resources if not resource.online),
            readings=readings,
            memory=self.memory,
        )

    async def _send(self, decided: tuple[OperatorCommand, ...]) -> None:
        """Send in batches, and report refusals. The next decision repeats wanted commands."""
        for first in range(0, len(decided), BATCH_COMMANDS_MAX):
            some = decided[first : first + BATCH_COMMANDS_MAX]
            done = await self.client.batch([_request(command) for command in some])
            for command, result in zip(some, done.results, strict=True):
                refused = {} if result.detail is None else {"why": result.detail}
                self.tell(
                    _name(command) if result.code is None else "refused",
                    **_facts(command),
                    **refused,
                )

    async def _report(self, decision: Decision, now: int) -> None:
        """Send the readings and the decision to the server. The first failure in a row is reported;
        failures stop no price."""
        report = make_report(self.operator.composition.maps, decision, now, self.pace_s)
        try:
            async with asyncio.timeout(REPORT_WITHIN_S):
                await self.client.report_inframaps(self.name, report)
            self._is_reported = True
        except (LaissezError, TimeoutError) as error:
            if self._is_reported:
                self.tell(
                    "report_failed",
                    why=str(error)
                    or f"expected it to be taken within {REPORT_WITHIN_S:g} s, found no answer",
                )
            self._is_reported = False

    def _tell_alarms(self, alarms: tuple[Alarm, ...]) -> None:
        """Report each alarm when it begins and when it is over."""
        now = {alarm.key: alarm for alarm in alarms}
        for key, alarm in now.items():
            if key not in self._standing or _gist(self._standing[key]) != _gist(alarm):
                self.tell(
                    "alarm",
                    kind=alarm.kind.value,
                    where=alarm.where,
                    signal=alarm.signal,
                    why=alarm.reason,
                )
        for key, alarm in self._standing.items():
            if key not in now:
                self.tell(
                    "alarm_over", kind=alarm.kind.value, where=alarm.where, signal=alarm.signal
                )
        self._standing = now


def _gist(alarm: Alarm) -> tuple[str, str]:
    """The part of an alarm whose change is reported: its kind and its consequence, with which the
    reason ends. The rest, such as the age of a reading, changes all the time."""
    return alarm.kind.value, alarm.reason.rpartition("; ")[2]


def is_passing(error: LaissezError) -> bool:
    """Whether a retry may succeed."""
    return getattr(error, "status", 503) in (429, 500, 502, 503, 504)


def _request(command: OperatorCommand) -> requests.OperatorCommand:
    match command:
        case commands.SetFloor():
            return requests.SetFloor(
                node=command.node,
                price=None if command.price is None else format_price(command.price),
            )
        case commands.SetControls():
            return requests.SetControls(
                node=command.node,
                rise=_setting(command.rise),
                fall=_setting(command.fall),
                hold_s=seconds(command.hold_us),
                flash_s=seconds(command.flash_us),
            )
        case commands.TakeOffline():
            return requests.TakeOffline(leaf=command.leaf)
        case commands.BringOnline():
            return requests.BringOnline(leaf=command.leaf)
        case _:
            raise AssertionError(f"maps do not give {command}")


def _name(command: OperatorCommand) -> str:
    return str(command.__struct_config__.tag)


def _facts(command: OperatorCommand) -> dict[str, str]:
    facts = msgspec.structs.asdict(command)
    return {
        name.replace("_us", "_s"): _shown(value)
        for name, value in facts.items()
        if value is not None
    }


def _shown(value: object) -> str:
    match value:
        case int():
            # prices in dollars, and durations, which are in microseconds, in seconds
            return format_price(value)
        case Band():
            return f"{value.fraction_ppm / PPM:g}/{value.interval_us / SECOND_US:g}s"
        case _:
            return str(value)


def _setting(band: Band | None) -> requests.BandSetting | None:
    if band is None:
        return None
    return requests.BandSetting(format_price(band.fraction_ppm), band.interval_us / SECOND_US)


def _band(band: events.Band | None) -> Band | None:
    return None if band is None else Band(parse_amount(band.fraction), _us(band.seconds) or 0)


def _us(duration_s: float | None) -> int | None:
    return None if duration_s is None else round(duration_s * SECOND_US)
