"""The market under attack: a real server in a process of its own, with tenants that have orders
and leases, and with short deadlines."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx

from laissez_check import started_server
from laissez_check.finding import Finding
from laissez_check.started_server import Entry, Server
from laissez_check.wire.bad_inputs import LEASE, OTHER_TENANT, TENANT

# Nothing happens by itself, and no rate limit is in the way. Deadlines are short, but not so short
# that quick inputs would miss them on a busy machine.
SETTINGS = {
    "LAISSEZ_BOOKS__CLOSE_AFTER_COMMANDS": "1000000",
    "LAISSEZ_JOURNAL__SNAPSHOT_EVERY_S": "86400",
    "LAISSEZ_LIMITS__WAIT_S_MAX": "60",
    "LAISSEZ_WEBHOOKS__ALLOW_HTTP": "true",
    "LAISSEZ_WEBHOOKS__ALLOW_ADDRESSES": "127.0.0.1/32",
    "LAISSEZ_LIMITS__REFUSALS_PER_SECOND": "1000000",
    "LAISSEZ_LIMITS__REFUSALS_BURST": "1000000",
    "LAISSEZ_LIMITS__HEAD_WITHIN_S": "2",
    "LAISSEZ_LIMITS__BODY_WITHIN_S": "2",
    "LAISSEZ_LIMITS__HEARTBEAT_S": "2",
    "LAISSEZ_LIMITS__DEAD_AFTER_S": "4",
}
RESTING = 40  # orders: enough events for the examples of the API
RECORDED = re.compile(r"^laissez_(?:refusals_total|durable_seq) (\S+)$", re.MULTILINE)
UNWELCOME = ("Traceback", " error ", " critical ")  # in the server's log


class Market:
    """The running server, and the keys and names that bad inputs refer to."""

    def __init__(self, server: Server, http: httpx.AsyncClient) -> None:
        self.server = server
        self.operator_key = server.operator_key
        self.tenant_key = ""
        self._cursor = ""
        self._http = http
        self._log_seen = 0

    @property
    def port(self) -> int:
        return self.server.port

    @property
    def key_ids(self) -> frozenset[str]:
        keys = (self.tenant_key, self.operator_key)
        return frozenset(f"key_{secret.split('_')[1]}" for secret in keys)

    async def found(self) -> None:
        """Make one of everything that requests ask for: tenants, keys, floors, orders, a budget."""
        keys = {}
        for name in (TENANT, OTHER_TENANT):
            await self._ask(self.operator_key, "POST", "/v1/tenants", {"name": name})
            path = f"/v1/tenants/{name}/keys"
            keys[name] = (await self._ask(self.operator_key, "POST", path, {}))["secret"]
        self.tenant_key = keys[TENANT]
        fall = {"fall": {"fraction": "0.5", "seconds": 60}}
        await self._ask(self.operator_key, "PUT", "/v1/floors/gpu", {"price": "0.5"})
        await self._ask(self.operator_key, "PUT", "/v1/controls/gpu", fall)
        won = await self._ask(self.tenant_key, "POST", "/v1/orders", _order("gpu/a/r1", "3"))
        assert won["lease"] == LEASE
        await self._ask(keys[OTHER_TENANT], "POST", "/v1/orders", _order("gpu/a", "4"))
        batch = {"commands": [{"type": "place_order", **_order("gpu", "0.1")}] * RESTING}
        await self._ask(self.tenant_key, "POST", "/v1/batch", batch)
        await self._ask(self.tenant_key, "PUT", "/v1/budget", {"amount": "1000"})
        # the cursor of a list that bad inputs do not ask for
        self._cursor = (await self._ask(self.tenant_key, "GET", "/v1/prices?limit=1"))["cursor"]

    async def _ask(self, key: str, method: str, path: str, body: object = None) -> Any:
        headers = {"Authorization": f"Bearer {key}"}
        answer = await self._http.request(method, path, json=body, headers=headers)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def fill(self, sent: bytes) -> bytes:
        """Put in the words that only this market knows."""
        return (
            sent.replace(b"@tenant-key@", self.tenant_key.encode())
            .replace(b"@operator-key@", self.operator_key.encode())
            .replace(b"@cursor@", self._cursor.encode())
        )

    async def state(self) -> dict[str, Any]:
        """Every leaf with its owner, rate, limit and floor, and the number of events so far, on a
        connection of its own."""
        headers = {"Authorization": f"Bearer {self.operator_key}", "Connection": "close"}
        try:
            answer = await self._http.get("/v1/levels", headers=headers)
        except httpx.HTTPError as error:
            self.server.check_alive()
            raise Finding(
                f"a good request was not answered: {type(error).__name__}"
                f" {error}\n{self.server.log_end()}"
            ) from None
        if answer.status_code != 200:
            raise Finding(
                f"a good request was answered with {answer.status_code}: {answer.text[:300]}"
            )
        return {name: value for name, value in answer.json().items() if name != "at"}

    async def recorded(self) -> float:
        """The number of refusals and entries in the record."""
        headers = {"Authorization": f"Bearer {self.operator_key}"}
        answer = await self._http.get("/metrics", headers=headers)
        return sum(map(float, RECORDED.findall(answer.text)))

    def check_log(self) -> None:
        """Raise if the log has an error since the last look."""
        lines = self.server.log_lines()
        new, self._log_seen = lines[self._log_seen :], len(lines)
        if any(word in line for line in new for word in UNWELCOME):
            raise Finding("the server's log has an error:\n" + "\n".join(new[-20:]))


def _order(scope: str, limit: str) -> dict[str, Any]:
    return {"alternatives": [{"scope": scope, "limit": limit}]}


@contextlib.asynccontextmanager
async def running() -> AsyncIterator[Market]:
    """A new market on a new server."""
    async with (
        started_server.running(Entry(variables=SETTINGS)) as server,
        httpx.AsyncClient(base_url=server.url, timeout=20) as http,
    ):
        market = Market(server, http)
        await market.found()
        yield market
