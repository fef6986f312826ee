"""Who may have something done now, and who must wait: asked before anything is done for a
caller."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from laissez.server.allowance import Allowance
from laissez.server.commands import OPERATOR
from laissez.server.keyring import Principal
from laissez.server.pacing import Paces
from laissez.server.turns import RETRY_AFTER_S, Turns
from laissez.wire.problems import Code, ProblemError

if TYPE_CHECKING:
    from laissez.server.desk import Desk

# so many listed orders, leases or events cost as much as another question: about a millisecond
ITEMS_PER_QUESTION = 100

BYTES_PER_REFUSAL = 2_048  # so many more to read cost about as much as another refusal


class Admission:
    """Every question is answered by a `ProblemError`, or by nothing."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._commands: dict[str, Allowance] = {}
        self._questions: dict[str, Allowance] = {}
        self.promised = 0  # commands that were admitted and are to be carried out a little later
        self._paces = Paces(desk.limits)
        self.turns = Turns(desk.clock, round(desk.limits.wait_s_max * 1e6), desk.together)

    def check_open(self) -> None:
        self.check_journal()
        if self._desk.stopping:
            raise stopping()

    def check_journal(self) -> None:
        if self._desk.failure is not None:
            raise failed()

    def admit(self, principal: Principal, commands: int = 1) -> None:
        """May this holder send so many commands now?"""
        desk = self._desk
        if desk.failure is not None or desk.stopping:
            self.check_open()
        if (
            desk.position - desk.durable + self.promised + commands
            > desk.limits.pending_commands_max
        ):
            raise ProblemError(
                Code.OVERLOADED,
                "more commands wait to be stored than are allowed to; nothing was done: try again"
                " in a moment",
                0.1,
            )
        if principal.holder != OPERATOR:
            self.allowance(principal.holder).take(commands, desk.clock.now())

    def check_command(self, principal: Principal) -> None:
        """May this holder send any command at all? Asked before the body is read, which may be
        long; nothing is used up."""
        self.check_open()
        if principal.holder != OPERATOR:
            self.allowance(principal.holder).check(self._desk.clock.now())

    def admit_question(self, principal: Principal, lists: bool = False, events: int = 0) -> None:
        """May this holder ask something now? A list of what it has costs more the more it has, and
        events that it missed the more they are."""
        self.check_journal()
        self._desk.end_holds()
        if principal.holder != OPERATOR:
            account = self._desk.account(principal)
            items = account.open_orders + account.held if lists else events
            allowance = self.questions(principal.holder)
            allowance.take(
                min(1 + items // ITEMS_PER_QUESTION, max(allowance.burst, 1)),
                self._desk.clock.now(),
            )

    def owe_items(self, principal: Principal, items: int) -> None:
        """For a question that was admitted, when it is known how much it asks for."""
        if principal.holder != OPERATOR:
            self.questions(principal.holder).owe(
                items // ITEMS_PER_QUESTION, self._desk.clock.now()
            )

    async def wait_for_question(self, principal: Principal, events: int) -> None:
        """The same for who has been admitted already: it waits until it may."""
        while True:
            try:
                return self.admit_question(principal, events=events)
            except ProblemError as problem:
                if problem.code != Code.RATE_LIMITED or problem.retry_after is None:
                    raise
                await asyncio.sleep(problem.retry_after)

    def delay_s(self, who: str, answers: int = 1, bytes_read: int = 0) -> float:
        """How long a holder, or an address, must wait for answers that no allowance pays for. To
        read what was refused costs, too."""
        return self._paces.delay_s(
            who, self._desk.clock.now(), answers + bytes_read // BYTES_PER_REFUSAL
        )

    @property
    def delayed(self) -> int:
        return self._paces.delayed

    def allowance(self, holder: str) -> Allowance:
        """A tenant's own for commands, by its caps where they are set."""
        return self._allowance(self._commands, holder, "commands")

    def questions(self, holder: str) -> Allowance:
        """The same for questions: as many, and counted apart."""
        return self._allowance(self._questions, holder, "questions")

    def _allowance(self, allowances: dict[str, Allowance], holder: str, what: str) -> Allowance:
        desk = self._desk
        caps = desk.exchange.accounts[holder].caps
        per_second = (
            desk.limits.commands_per_second
            if caps.commands_per_second is None
            else caps.commands_per_second
        )
        burst = desk.limits.commands_burst if caps.commands_burst is None else caps.commands_burst
        kept = allowances.get(holder)
        if kept is None or kept.per_second != per_second or kept.burst != burst:
            kept = allowances[holder] = Allowance(per_second, burst, desk.clock.now(), what)
        return kept


def overloaded() -> ProblemError:
    """For whoever has waited for too long. It tells nothing of the state, so it waits for
    nothing."""
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
    """For whoever asks. The reason is the operator's: it may tell how many commands all tenants
    together have sent."""
    why = (
        "the service cannot store anything until it is started again; what was not acknowledged may"
        " or may not be kept: then send it again"
    )
    return ProblemError(Code.JOURNAL_FAILED, why)
