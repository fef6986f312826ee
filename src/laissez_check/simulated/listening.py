"""The service behind a network in memory, as uvicorn would put it behind a socket."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from uvicorn.lifespan.off import LifespanOff

from laissez.server.assembly import Service
from laissez.server.server import Server, uvicorn_config
from laissez.server.settings import Settings
from laissez_check.simulated.network import Network


def listen(network: Network, port: int, service: Service, settings: Settings) -> Server:
    config = uvicorn_config(settings, service.app)
    config.load()
    server = Server(config, service.say_farewell)
    state = server.server_state
    state.connections = _InOrder()  # type: ignore[assignment]
    server.lifespan = LifespanOff(config)
    server.servers = [_Listening(lambda: network.deafen(port))]  # type: ignore[list-item]
    protocol: Any = config.http_protocol_class
    network.listen(port, lambda: protocol(config=config, server_state=state, app_state={}))
    return server


class _InOrder(dict[Any, None]):
    """uvicorn's set of connections, in the order in which they came."""

    def add(self, one: Any) -> None:
        self[one] = None

    def discard(self, one: Any) -> None:
        self.pop(one, None)

    remove = discard


class _Listening:
    """What uvicorn takes for its server socket."""

    def __init__(self, close: Callable[[], None]) -> None:
        self.close = close

    async def wait_closed(self) -> None:
        pass
