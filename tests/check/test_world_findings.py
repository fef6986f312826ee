"""Found by simulated worlds, and mended: each as a story of its own, on a machine on which nothing
else goes wrong."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

import msgspec
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from laissez.wire.session import JSON
from laissez_check.simulated.edges import patched
from laissez_check.simulated.machine import PORT, Machine
from laissez_check.simulated.mix import draw_mix
from laissez_check.simulated.network import CALM, End

pytestmark = pytest.mark.once


def on_a_machine(folder: Path, story: Callable[[Machine], Awaitable[None]]) -> None:
    mix = draw_mix(Random(0), str(folder / "data"))
    mix = msgspec.structs.replace(
        mix,
        weather=CALM,
        crashes=0,
        power=0,
        io_errors=0,
        full=0,
        stops=0,
        slow_disk=0,
        wrong_clock=0,
    )
    machine = Machine(mix, folder, 0, lambda what: None)
    loop = machine.loop
    asyncio.set_event_loop(loop)
    with machine.disk, patched(loop, machine.wall, 0):
        try:
            loop.run_until_complete(story(machine))
        finally:
            machine.close()
            asyncio.set_event_loop(None)
            loop.close()


async def session_of(machine: Machine) -> tuple[ClientConnection, End]:
    """The operator's, and its end of the connection."""
    socket = await connect(
        f"ws://127.0.0.1:{PORT}/v1/session",
        subprotocols=[Subprotocol(JSON)],
        compression=None,
        ping_interval=None,
    )
    await socket.send(
        msgspec.json.encode({"type": "hello", "key": machine.key_of("operator")}), text=True
    )
    await socket.recv()
    assert isinstance(socket.transport, End)
    return socket, socket.transport


def test_a_stop_comes_to_its_end_though_a_session_said_goodbye_and_does_not_read(
    tmp_path: Path,
) -> None:
    """To say goodbye once more would be a mistake to the parser."""

    async def story(machine: Machine) -> None:
        await machine.start()
        socket, transport = await session_of(machine)
        transport.hears_again_at = math.inf
        closing = asyncio.create_task(socket.close())
        await asyncio.sleep(1)
        await machine.stop()
        assert {"planned stop": 1} == machine.met
        transport.abort()
        await asyncio.wait((closing,))

    on_a_machine(tmp_path, story)


def test_a_session_that_answers_no_ping_and_is_ended_leaves_no_traceback(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It was told goodbye already, and that is not read yet."""

    async def story(machine: Machine) -> None:
        await machine.start()
        _, transport = await session_of(machine)
        transport.hears_again_at = math.inf
        await asyncio.sleep(10)
        assert 1 == machine.open_streams
        await machine.stop()
        transport.abort()
        await asyncio.sleep(1)

    on_a_machine(tmp_path, story)
    assert [] == [record.getMessage() for record in caplog.records if record.exc_info]
