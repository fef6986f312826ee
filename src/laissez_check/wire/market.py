"""The market that the wire is checked on: a real server in a process of its own, with tenants that
hold something, and deadlines that are short."""

from __future__ import annotations

import contextlib
import random
import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import msgspec

from laissez_check.finding import Finding
from laissez_check.started_server import Entry, Server, unused_port
from laissez_check.wire import bad_inputs

# Nothing happens by itself while it is looked at, no bound on how often is in the way, and what is
# slow is so soon: not so soon that what is quick would seem slow on a busy machine.
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
RECORDED = re.compile(r"^laissez_(?:refusals_total|durable_seq) (\S+)$", re.MULTILINE)
UNWELCOME = ("Traceback", " error ", " critical ")  # in the server's log


class Market:
    """The running server, and what of it bad inputs name."""

    def __init__(self, server: Server, http: httpx.AsyncClient, words: dict[bytes, bytes]) -> None:
        self.server = server
        self.words = words
        self.tenant_key = words[bad_inputs.TENANT_KEY].decode()
        self.operator_key = words[bad_inputs.OPERATOR_KEY].decode()
        self._http = http
        self._log_seen = 0

    @property
    def port(self) -> int:
        return self.server.port

    @property
    def key_ids(self) -> frozenset[str]:
        return frozenset(
            f"key_{secret.split('_')[1]}" for secret in (self.tenant_key, self.operator_key)
        )

    def fill(self, sent: bytes) -> bytes:
        """With the words of this market put in."""
        for word, value in self.words.items():
            sent = sent.replace(word, value)
        return sent

    async def state(self) -> dict[str, Any]:
        """Every leaf with its owner, rate, limit and floor, and the number of events so far, on a
        connection of its own."""
        headers = {"Authorization": f"Bearer {self.operator_key}", "Connection": "close"}
        try:
            answer = await self._http.get("/v1/levels", headers=headers)
        except httpx.HTTPError as error:
            self.server.check_alive()
            raise Finding(
                f"a healthy request was not answered: {type(error).__name__}"
                f" {error}\n{self.server.log_end()}"
            ) from None
        if answer.status_code != 200:
            raise Finding(
                f"a healthy request was answered with {answer.status_code}: {answer.text[:300]}"
            )
        return {name: value for name, value in answer.json().items() if name != "at"}

    async def recorded(self) -> float:
        """How many refusals and entries the record has."""
        answer = await self._http.get(
            "/metrics", headers={"Authorization": f"Bearer {self.operator_key}"}
        )
        return sum(float(found) for found in RECORDED.findall(answer.text))

    def check_log(self) -> None:
        """Nothing went wrong inside since the last look."""
        lines = self.server.log_lines()
        new, self._log_seen = lines[self._log_seen :], len(lines)
        if any(word in line for line in new for word in UNWELCOME):
            raise Finding("the server's log tells of a bug:\n" + "\n".join(new[-20:]))


@contextlib.asynccontextmanager
async def running() -> AsyncIterator[Market]:
    """A new market; its folder is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="laissez-wire-"))
    server = Server(folder, unused_port(random.Random()), Entry(variables=SETTINGS))
    try:
        await server.start_and_wait()
        async with httpx.AsyncClient(base_url=server.url, timeout=20) as http:
            yield Market(server, http, await _found(server, http))
    finally:
        await server.kill(with_children=True)
        shutil.rmtree(folder, ignore_errors=True)


async def _found(server: Server, http: httpx.AsyncClient) -> dict[bytes, bytes]:
    """Tenants, keys, floors, controls, orders, leases, a budget: something of everything that can
    be asked for."""
    operator = (server.data / "keys" / "operator.key").read_text().strip()

    async def ask(key: str, method: str, path: str, body: object = None) -> Any:
        content = b"" if body is None else msgspec.json.encode(body)
        headers = {
            "Authorization": f"Bearer {key}",
            **({} if body is None else {"Content-Type": "application/json"}),
        }
        answer = await http.request(method, path, content=content, headers=headers)
        assert answer.status_code < 300, answer.text
        return answer.json()

    keys = {}
    for tenant in (bad_inputs.TENANT, bad_inputs.OTHER_TENANT):
        await ask(operator, "POST", "/v1/tenants", {"name": tenant})
        keys[tenant] = (await ask(operator, "POST", f"/v1/tenants/{tenant}/keys", {}))["secret"]
    await ask(operator, "PUT", "/v1/floors/gpu", {"price": "0.5"})
    await ask(operator, "PUT", "/v1/controls/gpu", {"fall": {"fraction": "0.5", "seconds": 60}})
    won = await ask(
        keys["ann"], "POST", "/v1/orders", {"alternatives": [{"scope": "gpu/a/r1", "limit": "3"}]}
    )
    await ask(
        keys["bob"], "POST", "/v1/orders", {"alternatives": [{"scope": "gpu/a", "limit": "4"}]}
    )
    assert won["lease"] == bad_inputs.LEASE
    resting = {"type": "place_order", "alternatives": [{"scope": "gpu", "limit": "0.1"}]}
    # enough events for the examples of the API
    await ask(keys["ann"], "POST", "/v1/batch", {"commands": [resting] * 40})
    await ask(keys["ann"], "PUT", "/v1/budget", {"amount": "1000"})
    cursor = (await ask(keys["ann"], "GET", "/v1/prices?limit=1"))["cursor"]  # of another list
    return {
        bad_inputs.TENANT_KEY: keys[bad_inputs.TENANT].encode(),
        bad_inputs.OPERATOR_KEY: operator.encode(),
        bad_inputs.CURSOR: cursor.encode(),
    }
