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

# listing this many orders, leases or events costs as much as one question: about a millisecond
ITEMS_PER_QUESTION = 100

BYTES_PER_REFUSAL = 2_048  # reading this many bytes costs about as much as one refusal


class Admission:
    """Every method raises a `ProblemError` or admits."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._commands: dict[str, RateLimit] = {}
        self._questions: dict[str, RateLimit] = {}
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

    def admit(self, principal: Principal, commands: int = 1) -> None:
        """Admit commands of a holder, taking them from its rate limit."""
        gateway = self._gateway
        if gateway.failure is not None or gateway.stopping:
            self.check_open()
        if (
            gateway.position - gateway.durable + self.promised + commands
            > gateway.limits.pending_commands_max
        ):
            raise ProblemError(
                Code.OVERLOADED,
                "more commands wait to be stored than are allowed to; nothing was done: try again"
                " in a moment",
                0.1,
            )
        if principal.holder != OPERATOR:
            self.rate_limit(principal.holder).take(commands, gateway.clock.now())

    def admit_frame(self, principal: Principal, commands: int) -> int:
        """Admit all commands of a frame at once; returns how many, or 0 if each must be admitted
        by itself."""
        gateway = self._gateway
        if (
            commands == 0
            or gateway.failure is not None
            or gateway.stopping
            or gateway.position - gateway.durable + self.promised + commands
            > gateway.limits.pending_commands_max
        ):
            return 0
        if principal.holder == OPERATOR:
            return commands
        has_room = self.rate_limit(principal.holder).take_if_enough(commands, gateway.clock.now())
        return commands if has_room else 0

    def give_back(self, principal: Principal, commands: int) -> None:
        """Return to the rate limit what was admitted and not used."""
        if principal.holder != OPERATOR:
            self.rate_limit(principal.holder).give_back(commands)

    def check_command(self, principal: Principal) -> None:
        """Refuse a command before its body is read, which may be long. Takes nothing from the rate
        limit."""
        self.check_open()
        if principal.holder != OPERATOR:
            self.rate_limit(principal.holder).check(self._gateway.clock.now())

    def admit_question(self, principal: Principal, lists: bool = False, events: int = 0) -> None:
        """Admit a question. Lists cost by what the holder has, missed events by their number."""
        self.check_journal()
        self._gateway.end_holds()
        if principal.holder != OPERATOR:
            items = events
            if lists:
                counts = self._gateway.exchange.market.counts(principal.holder)
                items = counts.orders_open + counts.leases_live
            rate_limit = self.question_limit(principal.holder)
            cost = min(1 + items // ITEMS_PER_QUESTION, max(rate_limit.burst, 1))
            rate_limit.take(cost, self._gateway.clock.now())

    def owe_items(self, principal: Principal, items: int) -> None:
        """Charge an admitted question for its items, once their number is known."""
        if principal.holder != OPERATOR:
            self.question_limit(principal.holder).owe(
                items // ITEMS_PER_QUESTION, self._gateway.clock.now()
            )

    async def wait_for_question(self, principal: Principal, events: int) -> None:
        """The same, waiting for the rate limit instead of refusing."""
        while True:
            try:
                return self.admit_question(principal, events=events)
            except ProblemError as problem:
                if problem.code != Code.RATE_LIMITED or problem.retry_after is None:
                    raise
                await asyncio.sleep(problem.retry_after)

    def delay_s(self, who: str, answers: int = 1, bytes_read: int = 0) -> float:
        """How long to delay answers that no rate limit covers, to a holder or an address. Reading
        a refused body costs, too."""
        return self._paces.delay_s(
            who, self._gateway.clock.now(), answers + bytes_read // BYTES_PER_REFUSAL
        )

    @property
    def delayed(self) -> int:
        return self._paces.delayed

    def rate_limit(self, holder: str) -> RateLimit:
        """A tenant's rate limit for commands: its caps, or the defaults."""
        return self._rate_limit(self._commands, holder, "commands")

    def question_limit(self, holder: str) -> RateLimit:
        """The same for questions, counted separately."""
        return self._rate_limit(self._questions, holder, "questions")

    def _rate_limit(self, limits: dict[str, RateLimit], holder: str, what: str) -> RateLimit:
        defaults = self._gateway.limits
        caps = self._gateway.exchange.accounts[holder].caps
        per_second = caps.commands_per_second
        burst = caps.commands_burst
        per_second = defaults.commands_per_second if per_second is None else per_second
        burst = defaults.commands_burst if burst is None else burst
        kept = limits.get(holder)
        if kept is None or kept.per_second != per_second or kept.burst != burst:
            now = self._gateway.clock.now()
            kept = limits[holder] = RateLimit(per_second, burst, now, what)
        return kept


def overloaded() -> ProblemError:
    """Reveals no state, so it need not wait for durability."""
    why = (
        "the service is asked for more than it can do, and this has waited for too long; nothing"
        " was done: try again in a moment"
    )
    return ProblemError(Code.OVERLOADED, why, RETRY_AFTER_S)


def stopping() -> ProblemError:
    return ProblemError(
        Code.STOPPING, "the server is being stopped; nothing was done: try again in a moment", 1
    )


def failed() -> ProblemError:
    """Without the reason, which is for the operator: it may reveal how many commands all tenants
    have sent."""
    why = (
        "the service cannot store anything until it is started again; what was not acknowledged may"
        " or may not be kept: then send it again"
    )
    return ProblemError(Code.JOURNAL_FAILED, why)
