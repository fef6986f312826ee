"""Reads of holders: lists and quotes, in a session and over REST. All are noted, and must agree
with the journal and the events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from laissez.client.errors import ApiError, LaissezError
from laissez.exchange.commands import OPERATOR
from laissez_check.clients.answers import plain, tells_of_bug
from laissez_check.clients.holder import ANSWER_WAITED_S, Holder
from laissez_check.clients.ledger import Quoted, Shown

if TYPE_CHECKING:
    from laissez_check.clients.population import Population

SCOPES_MAX = 8


class Looks:
    def __init__(self, population: Population) -> None:
        self._population = population
        self._ledger = population.ledger
        self._draw = population.draw
        self._leaves = population.habits.forest.leaves
        self._roots = sorted({leaf.partition("/")[0] for leaf in self._leaves})

    async def look(self, holder: Holder) -> None:
        if holder.session is not None and self._draw.random() < 0.5:
            await self.in_session(holder)
        else:
            await self._over_rest(holder)

    async def in_session(self, holder: Holder) -> None:
        """Quotes, and a list of a tenant, in one frame. Quotes of leaves check most: above them
        only the cheapest leaf counts."""
        session, name = holder.session, holder.name
        if session is None:
            return
        scopes = (*self._roots, *self._leaves)[-SCOPES_MAX:] if name == OPERATOR else self._roots
        quoted = partial(self._quoted, name, self._population.run)
        try:
            asked = [(session.quote(scope), quoted) for scope in scopes]
            if name != OPERATOR:
                kind = self._draw.choice(("orders", "leases"))
                listed: asyncio.Future[Any] = getattr(session, kind)()
                asked.append((listed, partial(self._shown, name, kind)))
        except LaissezError:
            return
        for future, note in asked:
            future.add_done_callback(partial(self._answered, note))
        await asyncio.wait([future for future, _ in asked], timeout=ANSWER_WAITED_S)

    async def _over_rest(self, holder: Holder) -> None:
        kind, run = self._draw.choice(("orders", "leases", "prices")), self._population.run
        try:
            found = await holder.pages(f"/v1/{kind}")
        except LaissezError as error:
            self._population.tell(f"{holder.name} sees no {kind}: {error}")
            return
        for one in found:
            if kind == "prices":
                self._quoted(holder.name, run, one)
            else:
                self._ledger.shown_ids.add((one["tenant"] or holder.name, kind, one["id"]))

    def _answered(self, note: Callable[[Any], None], done: asyncio.Future[Any]) -> None:
        error = None if done.cancelled() else done.exception()
        if isinstance(error, ApiError) and tells_of_bug(error):
            self._ledger.breaks(f"B1: a question was answered with {error!r} in a session")
        if error is None and not done.cancelled():
            note(plain(done.result()))

    def _quoted(self, holder: str, run: int, quote: Any) -> None:
        """Note a quote if the service has not restarted meanwhile. Otherwise it may be of either
        run, and their clocks need not agree."""
        if run == self._population.run:
            self._ledger.quoted.append(
                Quoted(holder, quote["scope"], quote["price"], quote["at"], run)
            )

    def _shown(self, holder: str, kind: str, reply: Any) -> None:
        self._ledger.shown.append(Shown(holder, kind, reply["n"], tuple(reply[kind])))
