"""A market with somebody of every kind in it: keys that are good, keys that are not, sign-ins, and
things that belong to one of two tenants."""

from __future__ import annotations

import itertools
from typing import Any

from laissez_check.access import unmistakable
from laissez_check.access.table import (
    KEYED,
    MINE,
    OPERATING,
    OPERATOR,
    OTHER,
    READER,
    TRADER,
    WATCHER,
)
from laissez_check.access.wire import CONSOLE, Answer, Line, bearer
from laissez_check.finding import Finding

TENANTS = {MINE: "owner-of-it", OTHER: "somebody-else"}
LEASED, RESTING = "cpu", "gpu/a"  # where things are had, and where they are waited for
FLOORS = {"cpu": "1", "gpu": "9000"}  # below which nobody gets anything
BUDGETS = {MINE: unmistakable.BUDGET, OTHER: "50"}
NODE, LEAF_ONLINE, LEAF_OFFLINE = "gpu/b", "gpu/b/r3/g0", "gpu/b/r3/g1"
HOOK = "http://127.0.0.1:65535/"  # where nobody listens
HOLDERS = {
    READER: (MINE, ["read"]),
    TRADER: (MINE, ["trade"]),
    MINE: (MINE, ["read", "trade"]),
    OTHER: (OTHER, ["read", "trade"]),
}
OF_OPERATOR = {WATCHER: ["read"], OPERATING: ["operate"]}
CHANGES = (
    "/v1/orders",
    "/v1/instances",
    "/v1/floors",
    "/v1/controls",
    "/v1/tenants",
    "/v1/keys",
    "/v1/inframaps",
    "/v1/levels",
)
MOVES = frozenset({"at", "cost", "heard_at"})  # with time alone


class World:
    def __init__(self, line: Line, operator: str) -> None:
        self.line = line
        self.keys = {OPERATOR: operator}
        self.strangers: dict[str, dict[str, str]] = {}
        self.signed_in: dict[str, dict[str, str]] = {}
        self.secrets = [operator]  # all that were ever good, sign-ins too
        self._names = (f"new-{number}" for number in itertools.count(1))
        self._live: dict[str, str] = {}

    async def found(self) -> None:
        """Tenants, keys of every kind, floors."""
        for name in TENANTS.values():
            await self.do(OPERATOR, "POST", "/v1/tenants", {"name": name})
        for caller, (tenant, scopes) in HOLDERS.items():
            self.keys[caller] = (
                await self.issue(f"/v1/tenants/{TENANTS[tenant]}/keys", caller, scopes)
            )["secret"]
        for caller, scopes in OF_OPERATOR.items():
            self.keys[caller] = (await self.issue("/v1/keys", caller, scopes))["secret"]
        for tree, price in FLOORS.items():
            await self.do(OPERATOR, "PUT", f"/v1/floors/{tree}", {"price": price})
        for caller in (READER, MINE, OTHER, OPERATOR):
            self.signed_in[caller] = {"Cookie": await self.sign_in(self.keys[caller]), **CONSOLE}
        assert set(KEYED) == set(self.keys)
        self.line.kept_from = {
            bearer(self.keys[OTHER])["Authorization"],
            self.signed_in[OTHER]["Cookie"],
        }
        self.strangers = await self._strangers()

    async def _strangers(self) -> dict[str, dict[str, str]]:
        good = self.keys[MINE]
        id, _, secret = good.removeprefix("lz_").partition("_")
        revoked = await self.revoked()
        over = await self.sign_in(good)
        await self.line.ask("DELETE", "/v1/signin", {"Cookie": over, **CONSOLE})
        dead = await self.revoked(signs_in=True)
        beside = await self.sign_in(good)
        return {
            "no key": {},
            "empty": {"Authorization": "Bearer "},
            "another scheme": {"Authorization": f"Basic {good}"},
            "malformed": {"Authorization": "Bearer lz_"},
            "no prefix": {"Authorization": f"Bearer {secret}"},
            "a key's id": {"Authorization": f"Bearer key_{id}"},
            "wrong secret": {"Authorization": f"Bearer lz_{id}_{secret[::-1]}"},
            "cut short": {"Authorization": f"Bearer {good[:-1]}"},
            "unknown": {"Authorization": f"Bearer lz_{id[::-1]}_{secret}"},
            "revoked": {"Authorization": f"Bearer {revoked}"},
            "unknown sign-in": {"Cookie": f"laissez_signin={secret}", **CONSOLE},
            "sign-in that is over": {"Cookie": over, **CONSOLE},
            "sign-in of a revoked key": {"Cookie": dead, **CONSOLE},
            "revoked key beside a good sign-in": {
                "Authorization": f"Bearer {revoked}",
                "Cookie": beside,
                **CONSOLE,
            },
        }

    # -- keys

    async def issue(self, path: str, name: str, scopes: list[str]) -> dict[str, Any]:
        issued: dict[str, Any] = (
            await self.do(OPERATOR, "POST", path, {"name": name, "scopes": scopes})
        ).json()
        self.secrets.append(issued["secret"])
        return issued

    async def fresh_key(self, scopes: list[str]) -> dict[str, Any]:
        """A key of `mine` that nobody else uses, under one of its few names."""
        return await self.issue(f"/v1/tenants/{TENANTS[MINE]}/keys", "for a while", scopes)

    async def revoke(self, id: str) -> None:
        await self.do(OPERATOR, "DELETE", f"/v1/keys/{id}")

    async def revoked(self, signs_in: bool = False) -> str:
        """A key that was good once, or the cookie of a sign-in with it."""
        issued = await self.fresh_key(["read", "trade"])
        cookie = await self.sign_in(issued["secret"]) if signs_in else ""
        await self.revoke(issued["id"])
        return cookie or str(issued["secret"])

    async def sign_in(self, secret: str) -> str:
        answer = await self.line.ask("POST", "/v1/signin", CONSOLE, {"key": secret})
        set_cookie = next(
            line
            for line in answer.head.decode().split("\n")
            if line.lower().startswith("set-cookie:")
        )
        pair = set_cookie.partition(":")[2].partition(";")[0].strip()
        self.secrets.append(pair.partition("=")[2])
        return pair

    # -- what is asked about

    async def thing(self, about: str) -> dict[str, str]:
        """Something of that kind that is there now, by the names that a path or a body calls it."""
        found = await self._thing(about) if about else {}
        return {"tenant": TENANTS[MINE], "secret": self.keys[TRADER], **found}

    async def _thing(self, about: str) -> dict[str, str]:
        match about:
            case "order" | "instance":
                id = await self._kept(
                    "order",
                    "/v1/orders",
                    {"alternatives": [{"scope": RESTING, "limit": unmistakable.ORDER}]},
                    "id",
                )
                return (
                    {"order": id}
                    if about == "order"
                    else {"instance": "ins_" + id.removeprefix("ord_")}
                )
            case "lease":
                return {
                    "lease": await self._kept(
                        "lease",
                        "/v1/leases",
                        {"alternatives": [{"scope": LEASED, "limit": unmistakable.LEASE}]},
                        "lease",
                    )
                }
            case "webhook":
                return {
                    about: await self._kept(
                        about, "/v1/webhooks", {"url": HOOK}, "id", "/v1/webhooks"
                    )
                }
            case "budgets":
                for caller, amount in BUDGETS.items():
                    await self.do(caller, "PUT", "/v1/budget", {"amount": amount})
                return {}
            case "online" | "offline":
                leaf = LEAF_ONLINE if about == "online" else LEAF_OFFLINE
                await self.line.ask(
                    "PATCH",
                    f"/v1/resources/{leaf}",
                    bearer(self.keys[OPERATOR]),
                    {"online": about == "online"},
                )
                return {about: leaf}
            case "new tenant":
                return {about: await self._new_tenant()}
            case "key":
                return {
                    about: (
                        await self.issue(
                            f"/v1/tenants/{await self._new_tenant()}/keys",
                            "to be revoked",
                            ["read"],
                        )
                    )["id"]
                }
            case "new" | "new key":
                return {"new": next(self._names)}
            case _:
                return {"node": NODE, "runner": "check", "tenant": TENANTS[MINE]}

    async def _new_tenant(self) -> str:
        name = next(self._names)
        await self.do(OPERATOR, "POST", "/v1/tenants", {"name": name})
        return name

    async def _kept(
        self, kind: str, path: str, placed: dict[str, Any], field: str, at: str = "/v1/orders"
    ) -> str:
        """The one that was made before, as long as it is there."""
        id = self._live.get(kind, "none")
        if (await self.line.ask("GET", f"{path}/{id}", bearer(self.keys[MINE]))).status != 200:
            done = (await self.do(MINE, "POST", at, placed)).json()
            id = self._live[kind] = str(done[field])
        return id

    async def do(self, caller: str, method: str, path: str, body: Any = None) -> Answer:
        """What must succeed."""
        answer = await self.line.ask(method, path, bearer(self.keys[caller]), body)
        if answer.status not in (200, 201):
            raise Finding(
                f"{method} {path} by {caller} must succeed, and was answered with {answer.status}:"
                f" {answer.body.decode()}"
            )
        return answer

    # -- what there is

    async def state(self) -> list[Any]:
        """All that anybody's request could have changed, as the operator sees it; the number of the
        latest event is in the levels."""
        paths = (*CHANGES, *(f"/v1/tenants/{name}/keys" for name in TENANTS.values()))
        return [_still((await self.do(OPERATOR, "GET", path)).json()) for path in paths]


def _still(found: Any) -> Any:
    """Without what moves by itself."""
    if isinstance(found, dict):
        return {name: _still(value) for name, value in found.items() if name not in MOVES}
    return [_still(one) for one in found] if isinstance(found, list) else found
