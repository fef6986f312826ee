"""The acts of holders while there are faults: ask, repeat, reuse an id for another request, look,
limit spending, rotate keys, restart."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from laissez.client.errors import ApiError, HistoryGone, LaissezError, Unauthenticated
from laissez.exchange.commands import OPERATOR
from laissez.wire.decoding import ACTIONS
from laissez.wire.ids import KEY
from laissez_check.clients.answers import plain
from laissez_check.clients.holder import Holder
from laissez_check.clients.ledger import Asked, Dense, Json, Ledger
from laissez_check.clients.looking import Looks
from laissez_check.clients.requests import OF_REST, Drawer, another
from laissez_check.finding import Finding

if TYPE_CHECKING:
    from laissez_check.clients.population import Population

BY_SESSION = 0.8  # the rest over REST, which costs more
PATIENCE_S = 20.0
LOOKS_MEANWHILE = 0.9  # while a request is on its way
LATEST = 8  # requests that are asked again
CONFLICT = 409
HOLDS_S = (0.2, 0.7, 1.5)
CAPS = (None, "3", "12")  # about one or two orders
BUDGETS = ("0.0001", "0.002", "0.02")


class Acts:
    def __init__(self, population: Population) -> None:
        self._population = population
        self._ledger = population.ledger
        self._habits = habits = population.habits
        self._holders = population.holders
        self._draw = population.draw
        self._drawer = Drawer(self._draw, habits.forest, habits.prices)
        self._looks = Looks(population)
        self.rotations = 0
        self.met: Counter[str] = Counter()

    async def life_of(self, holder: Holder) -> None:
        draw, habits = self._draw, self._habits
        if holder.session is None:
            await holder.open_session(PATIENCE_S)
        if habits.holds and holder.name == OPERATOR:
            await self._hold_everything(holder)
        for _ in range(habits.requests):
            await asyncio.sleep(draw.uniform(0, habits.pause_s))
            self._ledger.check()
            if draw.random() < habits.restarts or holder.has_new_key:
                self._population.tell(f"{holder.name} restarts")
                forgets = draw.random() < habits.forgetful
                self.met["client restarted without its ids" if forgets else "client restarted"] += 1
                await holder.restart(forgets)
                await holder.open_session(PATIENCE_S)
            await self._act(holder)

    async def _act(self, holder: Holder) -> None:
        chance = self._draw.random()
        if chance < 0.06:
            await self._looks.look(holder)
        elif chance < 0.18:
            await self._ask_again(holder)
        elif chance < 0.24:
            await (self._rotate() if holder.name == OPERATOR else self._limit_spending(holder))
        else:
            await self._ask(holder)

    async def _hold_everything(self, operator: Holder) -> None:
        """Set holds everywhere: otherwise few leases are held, and hardly any is pressed."""
        for root in sorted({leaf.partition("/")[0] for leaf in self._habits.forest.leaves}):
            command = {"type": "set_controls", "node": root, "hold_s": self._draw.choice(HOLDS_S)}
            await self.send(operator, self._ledger.ask(self._drawer.asked(OPERATOR, command)))

    # -- asking

    async def _ask(self, holder: Holder) -> None:
        asked = self._new(holder)
        self._population.tell(f"{holder.name} asks {asked.id} {asked.kind}")
        if self._draw.random() < self._habits.doubles and self._may_cross(holder, asked):
            self.met["doubled"] += 1
            other_way = holder.by_rest if asked.kind in OF_REST else holder.by_session
            await asyncio.gather(holder.by_rest(asked), other_way(asked))
        elif self._draw.random() < LOOKS_MEANWHILE:
            await asyncio.gather(self.send(holder, asked), self._looks.in_session(holder))
        else:
            await self.send(holder, asked)

    def _new(self, holder: Holder) -> Asked:
        has = self._ledger.holdings[holder.name]
        command = (
            self._drawer.for_operator() if holder.name == OPERATOR else self._drawer.for_tenant(has)
        )
        of_session = (
            holder.goes_with_orders
            and holder.session is not None
            and self._draw.random() < BY_SESSION
        )
        return self._ledger.ask(self._drawer.asked(holder.name, command, of_session))

    async def send(self, holder: Holder, asked: Asked) -> None:
        by_session = (
            asked.kind not in OF_REST
            and self._may_cross(holder, asked)
            and holder.session is not None
            and self._draw.random() < BY_SESSION
        )
        await (
            holder.by_session(asked) if asked.of_session or by_session else holder.by_rest(asked)
        )

    def _may_cross(self, holder: Holder, asked: Asked) -> bool:
        """Whether REST and a session can ask for the same: not for orders that go with their
        session."""
        return not asked.of_session and not (
            holder.goes_with_orders and asked.kind == "place_order"
        )

    async def _ask_again(self, holder: Holder) -> None:
        if known := self._population.known(holder.name)[-LATEST:]:
            await self.ask_again(holder, self._draw.choice(known))

    async def ask_again(self, holder: Holder, asked: Asked) -> None:
        """Use the id again: for the same request, answered or not, or for another one."""
        was_carried_out = asked.answer is not None and (
            bool(asked.answer.parts) or (asked.kind == "run" and asked.answer.status < 400)
        )
        if not was_carried_out or self._draw.random() < 0.7:
            await self.send(holder, asked)
        else:
            await self._provoke(holder, asked)

    async def _provoke(self, holder: Holder, asked: Asked) -> None:
        other = another(holder.name, asked.command)
        found = Asked(asked.holder, asked.id, other)
        await holder.by_rest(found, Ledger((asked.holder,)))
        if found.answer is None:
            return
        refused = found.answer.parts[0].refused if found.answer.parts else None
        if found.answer.status != CONFLICT or (
            refused is not None and refused[0] != "idempotency_conflict"
        ):
            raise Finding(
                f"I2: {asked} was sent again as {other}, which must be a conflict and was:"
                f" {refused or found.answer.status}"
            )

    # -- other things

    async def _limit_spending(self, holder: Holder) -> None:
        """Set a budget or caps. Not through the ledger: the answer tells the state of the moment,
        so a repeated one differs."""
        chance = self._draw.random()
        try:
            if chance < 0.2:
                await holder.rest.remove_budget()
            elif chance < 0.5:
                await holder.rest.set_own_caps(self._draw.choice(CAPS), self._draw.choice(CAPS))
            else:
                await holder.rest.set_budget(
                    self._draw.choice(BUDGETS),
                    action=self._draw.choice(list(ACTIONS)),
                    keep=self._draw.random() < 0.5,
                )
            self._population.tell(f"{holder.name} spends otherwise")
        except LaissezError as error:
            self._population.tell(f"{holder.name} spends as before, or not: {error}")

    async def _rotate(self) -> None:
        """Give a tenant a new key, and revoke the old one, which must be worthless from then on."""
        operator = self._holders[OPERATOR]
        tenant = self._holders[self._draw.choice(self._habits.forest.tenants)]
        self.rotations += 1
        old = tenant.key
        try:
            issued = await operator.rest.issue_key(tenant.name, name=f"k{self.rotations % LATEST}")
            if issued.secret is None:
                return
            tenant.key, tenant.has_new_key = issued.secret, True
            await operator.rest.revoke_key(KEY + old.split("_")[1])
            self._population.tell(f"{tenant.name} has a new key")
            id = f"revoked-{self.rotations}"
            self._population.forbidden.add((tenant.name, id))
            await tenant.asks_in_session_of(old, id)
            await tenant.asks_with(old)
        except Unauthenticated:
            return
        except LaissezError as error:
            self._population.tell(f"{tenant.name} has its key no more, or still: {error}")
            return
        raise Finding(f"K1: a key of {tenant.name} was revoked, and is still taken")

    async def read_stream(self, holder: Holder) -> None:
        """Follow server-sent events with the client, which resumes by itself."""
        events = Dense(self._ledger, holder.name, "a stream")
        while True:
            try:
                async for one in holder.rest.follow(events.last, reconnect_timeout_s=10.0):
                    told: Json = plain(one)
                    if "n" in told:
                        events.told(told)
            except HistoryGone:
                return
            # httpx raises RuntimeError if its client was closed meanwhile
            except (ApiError, LaissezError, RuntimeError):
                await asyncio.sleep(0.5)
