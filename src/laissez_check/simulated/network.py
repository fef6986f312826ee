"""A network in memory: connections between protocols, whose bytes come late, in pieces, or never.

As with TCP, bytes of one connection are never reordered. Messages overtake one another if they are
late on one of several connections.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextvars import Context, copy_context
from random import Random
from typing import Any, TypeAlias

import msgspec

from laissez_check.simulated.loop import PROCESS, SimulatedLoop

Make: TypeAlias = Callable[[], asyncio.BaseProtocol]
GIVEN_UP_AFTER_S = 4.0  # by the system, if bytes are not acknowledged


class Weather(msgspec.Struct, frozen=True):
    """The probability of each fault, per connection or piece. All zero is a calm day."""

    refuse: float = 0.0  # of connecting
    reset: float = 0.0  # after some bytes, chosen when it is made
    silent: float = 0.0  # after some bytes nothing comes through, without a word
    pieces: float = 0.0  # bytes arrive in pieces of any size
    late: float = 0.0  # of a piece
    deaf: float = 0.0  # the client stops reading for a while


CALM = Weather()


class Network:
    latencies_s: tuple[float, ...] = (0.0002, 0.001, 0.004)

    def __init__(self, loop: SimulatedLoop, draw: Random, weather: Weather) -> None:
        self.loop = loop
        self.draw = draw
        self.weather = weather
        self.met: Counter[str] = Counter()  # faults that happened, by kind
        self._listening: dict[int, tuple[Make, Context]] = {}
        self._ends: list[End] = []
        loop.connect = self.connect

    def listen(self, port: int, make: Make) -> None:
        self._listening[port] = make, copy_context()

    def deafen(self, port: int) -> None:
        self._listening.pop(port, None)

    async def connect(self, make: Make, host: str, port: int) -> tuple[End, asyncio.BaseProtocol]:
        await asyncio.sleep(self._latency())
        listening = self._listening.get(port)
        if listening is None or self._happens("refuse"):
            raise ConnectionRefusedError(111, f"connection refused by {host}:{port}")
        near, far = End(self), End(self)
        near.peer, far.peer = far, near
        near.name, far.name = f"c{len(self._ends)}", f"s{len(self._ends)}"
        self._ends += (near, far)
        near.context, far.context = copy_context(), listening[1].copy()
        self._doom(near, far)
        protocol = make()
        near.attach(protocol)
        far.context.run(lambda: far.attach(listening[0]()))
        return near, protocol

    def _doom(self, near: End, far: End) -> None:
        """Draw the faults of a connection when it begins: after which bytes they happen."""
        for end in (near, far):
            end.in_pieces = self._happens("pieces")
            if self._draws("reset"):
                end.resets_after = self.draw.choice(
                    (0, 1, 40, 200, 1000, 4000)
                ) + self.draw.randrange(200)
            if self._draws("silent"):
                end.silent_after = self.draw.choice((0, 200, 1000, 4000)) + self.draw.randrange(200)
        if self._draws("deaf"):
            near.hears_again_at = self.loop.time() + self.draw.choice((0.5, 3.0, 8.0))

    def calm_down(self) -> None:
        """End all faults. A silent connection stays silent: its owner must notice."""
        self.weather = CALM
        for end in self._ends:
            end.resets_after = None
            end.in_pieces = False
            end.hears_again_at = 0.0

    def cut(self, process: Any, told: bool) -> None:
        """End the connections of a dead process. Its peers are told or hear nothing any more. Data
        in the system's buffers may still be sent first."""
        for end in self._ends:
            if end.context.get(PROCESS) is process and not end.is_gone:
                left = end.left() if told and self.draw.random() < 0.5 else b""
                self.met["last words"] += bool(left)
                end.die(told, left)

    def _draws(self, kind: str) -> bool:
        """Whether to plan a fault. The connection may end before it happens."""
        rate: float = getattr(self.weather, kind)
        return self.draw.random() < rate

    def _happens(self, kind: str) -> bool:
        happens = self._draws(kind)
        self.met[kind] += happens
        return happens

    def _latency(self) -> float:
        return self.draw.choice(self.latencies_s)

    def delay(self) -> float:
        return self.draw.choice((0.05, 0.3, 1.5)) if self._happens("late") else self._latency()


class End(asyncio.Transport):
    """One end of a connection."""

    peer: End
    context: Context
    name: str

    def __init__(self, network: Network) -> None:
        super().__init__()
        self._network = network
        self._loop = network.loop
        self._out = bytearray()
        self._sending = False
        self._closing = False
        self._eof = False
        self._paused = False
        self._full = False
        self._high, self._low = 65_536, 16_384
        self.passed = 0
        self.in_pieces = False
        self.resets_after: int | None = None
        self.silent_after: int | None = None
        self.hears_again_at = 0.0
        self._is_silent = False
        self.is_gone = False

    def attach(self, protocol: Any) -> None:
        self._protocol = protocol
        protocol.connection_made(self)

    # -- asyncio.Transport

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("127.0.0.1", 50_000), "sockname": ("127.0.0.1", 8340)}.get(
            name, default
        )

    def set_protocol(self, protocol: Any) -> None:
        self._protocol = protocol

    def get_protocol(self) -> Any:
        return self._protocol

    def is_closing(self) -> bool:
        return self._closing

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        if not self._eof:
            self._eof = True
            self._send_soon()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = 65_536 if high is None else high
        self._low = self._high // 4 if low is None else low

    def get_write_buffer_size(self) -> int:
        return len(self._out)

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        if self._paused:
            self._paused = False
            self.peer._send_soon()

    def is_reading(self) -> bool:
        return not self._paused

    def write(self, data: Any) -> None:
        if self.is_gone or self._eof or not data:
            return
        self._out += data
        self._send_soon()
        if not self._full and len(self._out) > self._high:
            self._full = True
            self._protocol.pause_writing()

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._eof = True
            self._send_soon()

    def abort(self) -> None:
        self._closing = True
        self._lose(None)
        self._tell_peer()

    # -- sending

    def _send_soon(self) -> None:
        """Send as the receiver's process, since its protocol is called."""
        if not self._sending and not self.is_gone:
            self._sending = True
            self._loop.call_later(self._network.delay(), self._send, context=self.peer.context)

    def _send(self) -> None:
        self._sending = False
        peer = self.peer
        if self.is_gone or (peer._paused and not peer._closing):
            return
        wait = peer.hears_again_at - self._loop.time()
        if wait > 0:
            self._network.met["deaf"] += 1
            self._sending = True
            self._loop.call_later(wait, self._send, context=peer.context)
            return
        if self._is_cut():
            return
        piece = self._take()
        if piece and not peer.is_gone:
            peer._protocol.data_received(piece)
        self._after_sending()

    def _is_cut(self) -> bool:
        if self.silent_after is not None and self.passed >= self.silent_after:
            self._network.met["silent"] += not self._is_silent
            self._is_silent = True
            self._send_in_vain()
            return True
        # The word of its end was lost, too.
        if self.peer.is_gone and not self._eof:
            self._send_in_vain()
            return True
        if self.resets_after is not None and self.passed >= self.resets_after:
            self._network.met["reset"] += 1
            self.die(told=True)
            self.peer_reset()
            return True
        return False

    def _send_in_vain(self) -> None:
        self._out.clear()
        error = TimeoutError(110, "connection timed out")
        self._loop.call_later(GIVEN_UP_AFTER_S, self._lose, error, context=self.context)

    def _take(self) -> bytes:
        size = len(self._out)
        if self.in_pieces and size > 1:
            size = self._network.draw.choice((1, size, self._network.draw.randrange(1, size)))
        for end in (self.resets_after, self.silent_after):
            if end is not None:
                left = max(0, end - self.passed)
                self._network.met["half a message"] += left < size
                size = min(size, left)
        piece = bytes(self._out[:size])
        del self._out[:size]
        self.passed += size
        return piece

    def _after_sending(self) -> None:
        if self.is_gone:
            return
        if self._full and len(self._out) <= self._low:
            self._full = False
            self.context.run(self._protocol.resume_writing)
        if self._out or self._breaks_now():
            self._send_soon()
        elif self._eof:
            self._end()

    def _breaks_now(self) -> bool:
        return self.resets_after is not None and self.passed >= self.resets_after

    def _end(self) -> None:
        """Everything is sent: tell the peer that nothing more will come."""
        peer = self.peer
        if not peer.is_gone and not peer._closing and not peer._protocol.eof_received():
            peer.close()
        if self._closing:
            self.context.run(self._lose, None)

    # -- the end

    def left(self) -> bytes:
        """The bytes that will still arrive, if the peer reads."""
        hears = not self.peer._paused and self.peer.hears_again_at <= self._loop.time()
        return (
            bytes(self._out)
            if hears and self.resets_after is None and self.silent_after is None
            else b""
        )

    def die(self, told: bool, left: bytes = b"") -> None:
        """End this end without a call to its protocol: the process is gone, or the connection
        broke."""
        self.is_gone = self._closing = True
        self._out.clear()
        if told:
            self._tell_peer(left)

    def peer_reset(self) -> None:
        """Tell this end, too, that the connection broke."""
        self.is_gone = False
        self._loop.call_soon(
            self._lose, ConnectionResetError(104, "connection reset by peer"), context=self.context
        )

    def _tell_peer(self, left: bytes = b"") -> None:
        peer = self.peer
        if not peer.is_gone:
            self._loop.call_later(
                self._network._latency(), peer._hear_the_end, left, context=peer.context
            )

    def _hear_the_end(self, left: bytes) -> None:
        if left and not self.is_gone:
            self._protocol.data_received(left)
        self._lose(ConnectionResetError(104, "connection reset by peer"))

    def _lose(self, error: Exception | None) -> None:
        if not self.is_gone:
            self.is_gone = self._closing = True
            self._out.clear()
            self._protocol.connection_lost(error)
