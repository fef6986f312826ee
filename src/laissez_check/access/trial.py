"""One operation, tried by everybody: those who may not first, then those who may."""

from __future__ import annotations

from typing import Any

from laissez_check.access.table import EVERYBODY, KEYED, OPERATORS, Row
from laissez_check.access.tried import Described, Tried, filled, unknown
from laissez_check.access.wire import Answer, bearer
from laissez_check.access.world import World

# what a server would refuse if it looked before it asked for a key
UNSAID = ("?limit=none", "?nonsense=1")
GARBAGE = b'{"alternatives": '


class Trial:
    """One operation, tried by everybody."""

    def __init__(self, world: World, tried: Tried, operation: Described, row: Row) -> None:
        self._world = world
        self._tried = tried
        self._operation = operation
        self._row = row
        self._name = operation.name
        self._thing: dict[str, str] = {}

    async def all(self) -> None:
        """Those who may not come first, and nothing may be different after them."""
        self._thing = await self._world.thing(self._row.about)
        before = await self._world.state()
        if self._row.may is not EVERYBODY:
            await self._strangers()
            await self._outsiders()
            await self._other_sites()
            self._tried.holds(
                f"{self._name}: something changed, though nobody asked who may",
                before == await self._world.state(),
            )
        await self._insiders()

    async def ask(
        self,
        headers: dict[str, str],
        *,
        never_was: bool = False,
        more: str = "",
        body: Any = None,
        of_operator: bool = False,
    ) -> Answer:
        """As the row says, or about something that never was; with another body, or more in the
        query."""
        thing = (
            {name: unknown(value) for name, value in self._thing.items()}
            if never_was
            else self._thing
        )
        path = self._operation.path
        if "{" in path:
            path = f"{path[: path.index('{')]}{thing[self._row.about]}{path[path.index('}') + 1 :]}"
        query = self._row.operators_query if of_operator else self._row.query
        asked = filled(self._row.body, thing) if body is None else body
        return await self._world.line.ask(
            self._operation.method,
            path + ("?" + filled(query, thing) if query else "") + more,
            headers,
            asked,
        )

    async def _strangers(self) -> None:
        """Without a key that is good, there is one answer, whatever is asked."""
        expected: Answer | None = None
        for stranger, headers in self._world.strangers.items():
            answer = await self.ask(headers)
            self._tried.note(self._name, stranger, answer.status, 401)
            expected = expected or answer
            self._tried.same(f"{self._name} by {stranger}", expected, answer)
        assert expected is not None
        for never_was, more, body in [
            (True, "", None),
            *((False, more, None) for more in UNSAID),
            (False, "", GARBAGE),
        ]:
            found = await self.ask(
                self._world.strangers["revoked"], never_was=never_was, more=more, body=body
            )
            self._tried.same(f"{self._name} by a stranger, asked in another way", expected, found)

    async def _outsiders(self) -> None:
        """Keys that will not do here, and another tenant's: what is there and what never was are
        answered alike."""
        for caller in KEYED:
            is_foreign = self._row.is_foreign_to(caller)
            if self._row.allows(caller) and not is_foreign:
                continue
            headers = bearer(self._world.keys[caller])
            answer = await self.ask(headers)
            self._tried.note(
                self._name, caller, answer.status, 404 if is_foreign else self._refusal(caller)
            )
            if self._row.about in self._thing:
                there = self._thing[self._row.about]
                never = await self.ask(headers, never_was=True)
                self._tried.same(
                    f"{self._name} by {caller}, of what never was",
                    answer,
                    never.with_name(unknown(there), there),
                )

    async def _other_sites(self) -> None:
        """A browser that is signed in asks whatever any page makes it ask."""
        if self._operation.method == "GET":
            return
        for caller, headers in self._world.signed_in.items():
            plain = await self.ask({"Cookie": headers["Cookie"]})
            self._tried.note(
                self._name, f"{caller} by a page without the header", plain.status, 403
            )
            foreign = await self.ask({**headers, "Sec-Fetch-Site": "cross-site"})
            self._tried.note(self._name, f"{caller} by another site's page", foreign.status, 403)

    async def _insiders(self) -> None:
        row = self._row
        for caller in KEYED if row.may is EVERYBODY else sorted(row.may):
            if not row.is_foreign_to(caller):
                await self._insider(caller, caller, bearer(self._world.keys[caller]))
        for caller, headers in self._world.signed_in.items():
            if row.may is not EVERYBODY and not row.is_foreign_to(caller):
                await self._insider(caller, f"{caller} signed in", headers)
        for stranger, headers in self._world.strangers.items() if row.may is EVERYBODY else ():
            self._tried.note(
                self._name,
                stranger,
                (await self.ask({"X-Laissez-Console": "1", **headers})).status,
                row.status,
            )

    async def _insider(self, caller: str, called: str, headers: dict[str, str]) -> None:
        self._thing = await self._world.thing(self._row.about)
        answer = await self.ask(headers, of_operator=caller in OPERATORS)
        self._tried.note(
            self._name,
            called,
            answer.status,
            self._row.status if self._row.allows(caller) else self._refusal(caller),
        )

    def _refusal(self, caller: str) -> int:
        return self._row.operators_status if caller in OPERATORS else 403
