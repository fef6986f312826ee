"""Admission control: decides, before any work is done, whether a request is accepted now."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from laissez.exchange.commands import OPERATOR
from laissez.server.auth import Principal
from laissez.server.fair_queue import RETRY_AFTER_S, FairQueue
from laissez.server.rate_limits import RateLimit, RefusalPace
from laissez.wire.problems import Code, ProblemError

if TYPE_CHECKING:
    from laissez.server.gateway import Gateway

# listing this many orders, leases or events costs as much as one read: about a millisecond
ITEMS_PER_READ = 100

BYTES_PER_REFUSAL = 2_048  # reading this many bytes costs about as much as one refusal


class Admission:
    """Every method admits or raises a `ProblemError`."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._commands: dict[str, RateLimit] = {}
        self._reads: dict[str, RateLimit] = {}
        self.promised = 0  # commands admitted and not yet entered
        self._paces = RefusalPace(gateway.limits)
        self.queue = FairQueue(
            gateway.clock, round(gateway.limits.wait_s_max * 1e6), gateway.writes
        )

    def check_open(self) -> None:
        self.check_journal()
        if self._gateway.stopping:
            raise stopping()

    def check_journal(self) -> None:
        if self._gateway.failure is not None:
            raise failed()

    def admit(self, principal: Principal, commands: int = 1) -> RateLimit | None:
        """Admit commands of a holder, taking them from its rate limit, which is returned."""
        self.check_open()
        if not self._has_room(commands):
            raise ProblemError(
                Code.OVERLOADED,
                "too many commands are pending; nothing was done: try again in a moment",
                0.1,
            )
        if principal.holder == OPERATOR:
            return None
        limit = self.rate_limit(principal.holder)
        limit.take(commands, self._gateway.clock.now())
        return limit

    def admit_frame(self, principal: Principal, commands: int, now: int) -> int:
        """Admit all commands of a frame at once; returns how many, or 0 if each must be admitted
        by itself."""
        gateway = self._gateway
        if gateway.failure is not None or gateway.stopping or not self._has_room(commands):
            return 0
        if principal.holder == OPERATOR:
            return commands
        has_enough = self.rate_limit(principal.holder).take_if_enough(commands, now)
        return commands if has_enough else 0

    def _has_room(self, commands: int) -> bool:
        gateway = self._gateway
        waiting = gateway.position - gateway.durable + self.promised
        return waiting + commands <= gateway.limits.pending_commands_max

    def give_back(self, principal: Principal, commands: int) -> None:
        """Return unused admissions to the rate limit."""
        if principal.holder != OPERATOR:
            self.rate_limit(principal.holder).give_back(commands)

    def check_command(self, principal: Principal) -> None:
        """Refuse a command before its body, which may be long, is read. Takes nothing from the rate
        limit."""
        self.check_open()
        if principal.holder != OPERATOR:
            self.rate_limit(principal.holder).check(self._gateway.clock.now())

    def admit_read(
        self, principal: Principal, lists: bool = False, events: int = 0, at: int | None = None
    ) -> int:
        """Admit a read at the time `at`, by default now; returns that time. Lists cost by their
        length, missed events by their number."""
        self.check_journal()
        at = self._gateway.end_holds(at)
        if principal.holder != OPERATOR:
            items = events
            if lists:
                counts = self._gateway.exchange.market.counts(principal.holder)
                items = counts.orders_open + counts.leases_live
            limit = self.read_limit(principal.holder)
            cost = 1 + items // ITEMS_PER_READ
            limit.take(cost if cost <= limit.burst else max(limit.burst, 1), at)
        return at

    def owe_items(self, principal: Principal, items: int) -> None:
        """Charge an admitted read for its items, once their number is known."""
        if principal.holder != OPERATOR:
            self.read_limit(principal.holder).owe(
                items // ITEMS_PER_READ, self._gateway.clock.now()
            )

    async def wait_for_read(self, principal: Principal, events: int) -> None:
        """As `admit_read`, but wait for the rate limit instead of refusing."""
        while True:
            try:
                self.admit_read(principal, events=events)
                return
            except ProblemError as problem:
                if problem.code != Code.RATE_LIMITED or problem.retry_after is None:
                    raise
                await asyncio.sleep(problem.retry_after)

    def delay_s(self, who: str, answers: int = 1, bytes_read: int = 0) -> float:
        """How long to delay answers to a holder or an address that no rate limit covers. Reading a
        refused body counts, too."""
        return self._paces.delay_s(
            who, self._gateway.clock.now(), answers + bytes_read // BYTES_PER_REFUSAL
        )

    @property
    def delayed(self) -> int:
        return self._paces.delayed

    def rate_limit(self, holder: str) -> RateLimit:
        """A tenant's rate limit for commands: its caps, or the defaults."""
        limit = self._commands.get(holder)
        if limit is None:
            limit = self._commands[holder] = self._new_limit(holder, "commands")
        return limit

    def read_limit(self, holder: str) -> RateLimit:
        """A tenant's rate limit for reads, counted separately."""
        limit = self._reads.get(holder)
        if limit is None:
            limit = self._reads[holder] = self._new_limit(holder, "reads")
        return limit

    def _new_limit(self, holder: str, what: str) -> RateLimit:
        return RateLimit(*self._rates(holder), what)

    def _rates(self, holder: str) -> tuple[int, int]:
        limits, caps = self._gateway.limits, self._gateway.exchange.accounts[holder].caps
        per_second, burst = caps.commands_per_second, caps.commands_burst
        return (
            limits.commands_per_second if per_second is None else per_second,
            limits.commands_burst if burst is None else burst,
        )

    def change_caps(self, holder: str) -> None:
        """Apply a change of a tenant's caps."""
        for limits in (self._commands, self._reads):
            if holder in limits:
                limits[holder].change(*self._rates(holder))


def overloaded() -> ProblemError:
    """Reveals no state, so it need not wait for durability."""
    why = (
        "the service is overloaded, and this request waited too long; nothing was done: try again"
        " in a moment"
    )
    return ProblemError(Code.OVERLOADED, why, RETRY_AFTER_S)


def stopping() -> ProblemError:
    return ProblemError(
        Code.STOPPING, "the server is being stopped; nothing was done: try again in a moment", 1
    )


def failed() -> ProblemError:
    """Omits the reason, which is for the operator: it may reveal how many commands all tenants have
    sent."""
    why = (
        "the service cannot store anything until it is restarted; unacknowledged commands may or"
        " may not be stored: send them again then"
    )
    return ProblemError(Code.JOURNAL_FAILED, why)
