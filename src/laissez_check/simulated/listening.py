"""The service behind a network in memory instead of a socket."""

from __future__ import annotations

from functools import partial

from laissez.server.lifecycle import Service
from laissez.server.serve import Server
from laissez_check.simulated.network import Network


def listen(network: Network, port: int, service: Service) -> Server:
    server = Server(service.app, service.say_farewell)
    server.stop_listening = partial(network.deafen, port)
    network.listen(port, server.connection)
    return server
