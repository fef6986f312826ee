"""A market in a server process of its own, on a free port, and tenants that trade over the API."""

from __future__ import annotations

import contextlib
import itertools
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from support.doc_shell import environment_of

WITHIN_S = 30
SERVING = "Serving at "
SETTINGS = {
    "LAISSEZ_SERVER__LOG_LEVEL": "debug",
    "LAISSEZ_LIMITS__COMMANDS_PER_SECOND": "100000",
    "LAISSEZ_LIMITS__COMMANDS_BURST": "100000",
    "LAISSEZ_LIMITS__REFUSALS_BURST": "100000",
    "LAISSEZ_STREAM__RATE_EVERY_S": "0.1",
    "LAISSEZ_WEBHOOKS__ALLOW_HTTP": "true",
    "LAISSEZ_WEBHOOKS__ALLOW_ADDRESSES": "127.0.0.1/32",
}


class Market:
    """`laissez serve`, which can be stopped or killed and started again on the same port and
    folder."""

    def __init__(self, home: Path, topology: str) -> None:
        self.home = home
        self.log = home / "log"
        self.port = 0
        (home / "cluster.toml").write_text(topology)
        self.start()
        self.port = int(self.url.rpartition(":")[2])
        self.key = (home / "data" / "keys" / "operator.key").read_text().strip()
        self._numbers = itertools.count(1)

    def start(self) -> None:
        options = [
            "--data",
            str(self.home / "data"),
            "--topology",
            str(self.home / "cluster.toml"),
            "--port",
            str(self.port),
        ]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "laissez.cli", "serve", *options],
                env=environment_of(self.home) | SETTINGS,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        said = next((line for line in self.process.stdout if line.startswith(SERVING)), None)
        assert said is not None, self.log.read_text()
        self.url = said.removeprefix(SERVING).split()[0]
        self.http = httpx.Client(base_url=self.url, timeout=WITHIN_S)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.http.close()
        self.process.send_signal(number)
        self.process.communicate(timeout=WITHIN_S)

    @contextlib.contextmanager
    def away(self, number: signal.Signals) -> Iterator[None]:
        """Stop the server with a signal; afterwards start it again on the same port and folder."""
        self.stop(number)
        try:
            yield
        finally:
            self.start()

    def ask(
        self, method: str, path: str, body: object = None, key: str | None = None, **more: Any
    ) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key or self.key}"}
        return self.http.request(method, path, json=body, headers=headers, **more)

    def done(self, method: str, path: str, body: object = None, key: str | None = None) -> Any:
        """Send a request that must succeed, with the operator's key unless another is given."""
        answer = self.ask(method, path, body, key)
        assert answer.is_success, answer.text
        return answer.json()

    def listed(self, path: str, key: str | None = None) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.done("GET", path, key=key)["data"]
        return found

    def newest_event(self, key: str | None = None) -> int:
        """The number of the last event that a key may see. Tests share a market, so this may take
        many pages."""
        n, page = 0, {"has_more": True}
        while page["has_more"]:
            page = self.done("GET", f"/v1/events?after={n}&limit=1000", key=key)
            n = page["data"][-1]["n"] if page["data"] else n
        return n

    def tenant(self, name: str) -> Tenant:
        """A new tenant with a unique name, so that tests share a market but no tenants."""
        own = f"{name}{next(self._numbers)}"
        self.done("POST", "/v1/tenants", {"name": own})
        made = self.done("POST", f"/v1/tenants/{own}/keys", {})
        return Tenant(self, own, made["secret"], made["id"])

    def set_floor(self, node: str, price: str) -> None:
        self.done("PUT", f"/v1/floors/{node}", {"price": price})


class Tenant:
    """A tenant that trades over the API."""

    def __init__(self, market: Market, name: str, key: str, key_id: str) -> None:
        self.market = market
        self.name = name
        self.key = key
        self.key_id = key_id

    def order(self, scope: str, limit: str, bid: str | None = None) -> str:
        wanted = {"scope": scope, "limit": limit, **({} if bid is None else {"bid": bid})}
        placed: str = self.market.done("POST", "/v1/orders", {"alternatives": [wanted]}, self.key)[
            "id"
        ]
        return placed

    def cancel(self, order: str) -> None:
        self.market.done("DELETE", f"/v1/orders/{order}", key=self.key)

    def leases(self) -> list[dict[str, Any]]:
        return self.market.listed("/v1/leases", self.key)

    def orders(self) -> list[dict[str, Any]]:
        return self.market.listed("/v1/orders", self.key)
