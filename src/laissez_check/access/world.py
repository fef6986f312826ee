"""A market with callers of every kind, and things of two tenants."""

from __future__ import annotations

import itertools
from typing import Any

from laissez_check.access.client import (
    BUDGET,
    CONSOLE,
    LEASE_PRICE,
    ORDER_PRICE,
    Answer,
    Client,
    bearer,
)
from laissez_check.access.table import (
    FORGED,
    HOOK,
    KEYED,
    MINE,
    OPERATING,
    OPERATOR,
    OTHER,
    READER,
    SIGNED_IN,
    TRADER,
    WATCHER,
)
from laissez_check.finding import Finding

TENANTS = {MINE: "owner-of-it", OTHER: "somebody-else"}
LEASED, RESTING = "cpu", "gpu/a"  # where leases are won, and where orders rest
FLOORS = {"cpu": "1", "gpu": "9000"}  # below which no order wins
NODE, LEAF_ONLINE, LEAF_OFFLINE = "gpu/b", "gpu/b/r3/g0", "gpu/b/r3/g1"
BUDGETS = {MINE: BUDGET, OTHER: "50"}
KEYS = {
    READER: (f"/v1/tenants/{TENANTS[MINE]}/keys", ["read"]),
    TRADER: (f"/v1/tenants/{TENANTS[MINE]}/keys", ["trade"]),
    MINE: (f"/v1/tenants/{TENANTS[MINE]}/keys", ["read", "trade"]),
    OTHER: (f"/v1/tenants/{TENANTS[OTHER]}/keys", ["read", "trade"]),
    WATCHER: ("/v1/keys", ["read"]),
    OPERATING: ("/v1/keys", ["operate"]),
}
# Everything that a request could change, as the operator sees it. The levels have the number of the
# last event.
LISTS = ("orders", "instances", "floors", "controls", "tenants", "keys", "inframaps", "levels")
STATE = (*LISTS, *(f"tenants/{name}/keys" for name in TENANTS.values()))
MOVES = frozenset({"at", "cost", "heard_at"})  # with time alone


class World:
    def __init__(self, client: Client, operator: str) -> None:
        self.client = client
        self.keys = {OPERATOR: operator}
        self.headers: dict[str, dict[str, str]] = {}  # of all callers, by name
        self.strangers: list[str] = []  # the callers without a good key
        self.secrets = [operator]  # all that were ever good, sign-ins too
        self._names = (f"new-{number}" for number in itertools.count(1))
        self._live: dict[str, str] = {}

    async def found(self) -> None:
        """Make the tenants, keys of every kind, sign-ins and floors."""
        for name in TENANTS.values():
            await self.do(OPERATOR, "POST", "/v1/tenants", {"name": name})
        for caller, (path, scopes) in KEYS.items():
            self.keys[caller] = (await self.issue(path, caller, scopes))["secret"]
        assert set(KEYED) == set(self.keys)
        for tree, price in FLOORS.items():
            await self.do(OPERATOR, "PUT", f"/v1/floors/{tree}", {"price": price})
        strangers = await self._strangers()
        self.strangers = list(strangers)
        self.headers = {caller: {**CONSOLE, **headers} for caller, headers in strangers.items()}
        self.headers |= {caller: bearer(self.keys[caller]) for caller in KEYED}
        for caller in (READER, MINE, OTHER, OPERATOR):
            cookie = {"Cookie": await self.sign_in(self.keys[caller])}
            self.headers[caller + SIGNED_IN] = {**cookie, **CONSOLE}
            self.headers[caller + FORGED[0]] = cookie
            self.headers[caller + FORGED[1]] = {**cookie, **CONSOLE, "Sec-Fetch-Site": "cross-site"}
        self.client.outsiders = {
            self.headers[OTHER]["Authorization"],
            self.headers[OTHER + SIGNED_IN]["Cookie"],
        }

    async def _strangers(self) -> dict[str, dict[str, str]]:
        good = self.keys[MINE]
        id, _, secret = good.removeprefix("lz_").partition("_")
        over = await self.sign_in(good)
        await self.client.ask("DELETE", "/v1/signin", {"Cookie": over, **CONSOLE})
        revoked, cookie = await self._revoked()
        authorizations = {
            "empty": "Bearer",
            "another scheme": f"Basic {good}",
            "malformed": "Bearer lz_",
            "no prefix": f"Bearer {secret}",
            "a key's id": f"Bearer key_{id}",
            "wrong secret": f"Bearer lz_{id}_{secret[::-1]}",
            "cut short": f"Bearer {good[:-1]}",
            "unknown": f"Bearer lz_{id[::-1]}_{secret}",
            "revoked": f"Bearer {revoked}",
        }
        return {
            "no key": {},
            **{name: {"Authorization": value} for name, value in authorizations.items()},
            "unknown sign-in": {"Cookie": f"laissez_signin={secret}"},
            "sign-in that is over": {"Cookie": over},
            "sign-in of a revoked key": {"Cookie": cookie},
            "revoked key beside a good sign-in": {
                "Authorization": f"Bearer {revoked}",
                "Cookie": await self.sign_in(good),
            },
        }

    # -- keys

    async def issue(self, path: str, name: str, scopes: list[str]) -> dict[str, Any]:
        answer = await self.do(OPERATOR, "POST", path, {"name": name, "scopes": scopes})
        issued: dict[str, Any] = answer.json()
        self.secrets.append(issued["secret"])
        return issued

    async def fresh_key(self) -> dict[str, Any]:
        """A new key of the tenant of `mine`."""
        return await self.issue(KEYS[MINE][0], "for a while", KEYS[MINE][1])

    async def _revoked(self) -> tuple[str, str]:
        """A revoked key, and the cookie of a sign-in with it."""
        issued = await self.fresh_key()
        cookie = await self.sign_in(issued["secret"])
        await self.do(OPERATOR, "DELETE", f"/v1/keys/{issued['id']}")
        return issued["secret"], cookie

    async def sign_in(self, secret: str) -> str:
        answer = await self.client.ask("POST", "/v1/signin", CONSOLE, {"key": secret})
        headers = {name.lower(): value.decode() for name, value in answer.headers}
        cookie = headers[b"set-cookie"].partition(";")[0]
        self.secrets.append(cookie.partition("=")[2])
        return cookie

    # -- things that requests name

    async def thing(self, about: str) -> dict[str, str]:
        """A thing of this kind that exists now, by the names of paths and bodies."""
        return {"tenant": TENANTS[MINE], "secret": self.keys[TRADER], **await self._thing(about)}

    async def _thing(self, about: str) -> dict[str, str]:
        match about:
            case "order" | "instance":
                id = await self._placed("/v1/orders", "id", RESTING, ORDER_PRICE)
                return {"order": id, "instance": "ins_" + id.removeprefix("ord_")}
            case "lease":
                return {about: await self._placed("/v1/leases", "lease", LEASED, LEASE_PRICE)}
            case "webhook":
                return {about: await self._kept("/v1/webhooks", "id", "/v1/webhooks", HOOK)}
            case "budgets":
                for caller, amount in BUDGETS.items():
                    await self.do(caller, "PUT", "/v1/budget", {"amount": amount})
                return {}
            case "online" | "offline":
                leaf = LEAF_ONLINE if about == "online" else LEAF_OFFLINE
                body = {"online": about == "online"}
                await self.client.ask(
                    "PATCH", f"/v1/resources/{leaf}", self.headers[OPERATOR], body
                )
                return {about: leaf}
            case "new":
                return {about: next(self._names)}
            case "new tenant" | "key":
                tenant = next(self._names)
                await self.do(OPERATOR, "POST", "/v1/tenants", {"name": tenant})
                if about == "new tenant":
                    return {about: tenant}
                path = f"/v1/tenants/{tenant}/keys"
                return {about: (await self.issue(path, "to be revoked", ["read"]))["id"]}
            case _:
                return {"node": NODE, "runner": "check"}

    async def _placed(self, path: str, field: str, scope: str, limit: str) -> str:
        order = {"alternatives": [{"scope": scope, "limit": limit}]}
        return await self._kept(path, field, "/v1/orders", order)

    async def _kept(self, path: str, field: str, made_at: str, body: dict[str, Any]) -> str:
        """The id of the last one made below `path`, or of a new one if that is gone."""
        id = self._live.get(path, "none")
        if (await self.client.ask("GET", f"{path}/{id}", self.headers[MINE])).status != 200:
            id = self._live[path] = str((await self.do(MINE, "POST", made_at, body)).json()[field])
        return id

    async def do(self, caller: str, method: str, path: str, body: Any = None) -> Answer:
        """Send a request that must succeed."""
        answer = await self.client.ask(method, path, bearer(self.keys[caller]), body)
        if answer.status not in (200, 201):
            raise Finding(
                f"{method} {path} by {caller} must succeed, and was answered with {answer.status}:"
                f" {answer.body.decode()}"
            )
        return answer

    async def state(self) -> list[Any]:
        return [_still((await self.do(OPERATOR, "GET", f"/v1/{path}")).json()) for path in STATE]


def _still(found: Any) -> Any:
    """The answer without the fields that change by themselves."""
    if isinstance(found, dict):
        return {name: _still(value) for name, value in found.items() if name not in MOVES}
    return [_still(one) for one in found] if isinstance(found, list) else found
