"""A session: one WebSocket over which a tenant or the operator sends commands and receives events.

The key is checked once, at the start; revoking it ends the session. Every command is answered under
its own id once it is durable. The answers and events of one commit leave as one frame. A session
that does not read is cut off, and may reconnect and resume.

A frame is carried out at once while the server keeps up. Otherwise it waits in the fair queue, and
with too many waiting the connection is not read (backpressure).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, NoReturn, Protocol

import msgspec

from laissez import __version__
from laissez.exchange.commands import Command, Request
from laissez.exchange.events import Applied
from laissez.market import events as happened
from laissez.market.commands import CancelOrder, PlaceOrder
from laissez.server import views
from laissez.server.admission import overloaded
from laissez.server.audit.refusals import Journaled
from laissez.server.auth import Principal
from laissez.server.catch_up import catch_up
from laissez.server.gateway import Gateway
from laissez.server.rates import RateWatch
from laissez.wire import requests as asked
from laissez.wire import session as sent
from laissez.wire.codec import FrameCodec
from laissez.wire.decoding import COMMANDS, SCOPE_OF, check_id, read_fraction
from laissez.wire.events import Notice, Numbered
from laissez.wire.limits import BATCH_BYTES_MAX, BATCH_COMMANDS_MAX, OPEN_ORDERS_MAX
from laissez.wire.problems import Code, ProblemError
from laissez.wire.rendering import rendered

MESSAGES_PER_FRAME: Final = 500  # keeps frames below 1 MiB, the default limit of clients
HEARD_AT_ONCE: Final = 16  # messages between two readings of the clock: less than a millisecond
# if more waits, the connection is not read
FRAMES_WAITING_MAX, BYTES_WAITING_MAX = 64, 262_144
# orders that a session tracks for cancel_on_disconnect; some may have left the market
PLACED_MAX = 2 * OPEN_ORDERS_MAX
_OVERLOADED = overloaded()


class Peer(Protocol):
    """The connection, as its session uses it."""

    headers: list[tuple[bytes, bytes]]
    scope: dict[str, Any]  # for the audit log
    is_full: bool  # the peer reads too slowly

    @property
    def is_gone(self) -> bool: ...
    def attach(self, session: Session) -> None: ...
    def write(self, payload: bytes, text: bool) -> None: ...
    def close(self, code: int, reason: str) -> None: ...
    def hold(self) -> None: ...
    def let_go(self) -> None: ...
    def rest(self, seconds: float) -> None: ...
    async def drained(self) -> None: ...


class Frame:
    """A frame in the fair queue; part of it may have been carried out."""

    def __init__(
        self, session: Session, payload: bytes, messages: list[asked.SessionMessage] | None
    ) -> None:
        self._session = session
        self.payload = payload
        self._messages = messages  # not carried out yet; None if it has not been decoded
        self._is_done = False

    def carry_out(self, may_go_on: Callable[[], bool]) -> bool:
        session = self._session
        if self._is_done or session.is_deaf:
            return self._done()
        try:
            messages = session.decode(self.payload) if self._messages is None else self._messages
            self._messages = session.carry_out(messages, may_go_on)
        except BaseException:  # a bug: the rest is not tried again
            self._done()
            raise
        return not self._messages and self._done()

    def turn_away(self) -> int:
        """Refuse the messages that were not carried out. Only their ids are read."""
        session, messages = self._session, self._messages
        is_done = self._is_done or session.is_deaf
        self._done()
        if is_done:
            return 0
        return session.turn_away(
            session.ids(self.payload) if messages is None else [message.id for message in messages]
        )

    def _done(self) -> bool:
        if not self._is_done:
            self._is_done = True
            self._session.took(self)
        return True


class Session:
    """A greeted session; follows its holder's events."""

    def __init__(
        self,
        gateway: Gateway,
        principal: Principal,
        codec: FrameCodec,
        hello: asked.Hello,
        connection: Peer,
        on_left: Callable[[Session], None],
    ) -> None:
        self.key = principal.key
        # the decoders of the commands that the key may send
        self._readers = {
            kind: read for kind, read in COMMANDS.items() if SCOPE_OF[kind] in principal.scopes
        }
        self.watch = RateWatch(read_fraction(hello.warn_within, "warn_within"))
        self._gateway = gateway
        self._principal = principal
        self._holder = principal.holder
        self._codec = codec
        self._connection = connection
        self._on_left = on_left
        # the orders to cancel at the end, if the hello asked for that
        self._placed: set[int] | None = set() if hello.cancel_on_disconnect else None
        self._is_ignored = False
        self.ended: tuple[int, str] | None = None  # by the server: close code and reason
        self._is_over = False  # ended, or the connection is lost
        # in
        self._fair_queue = gateway.admission.queue
        self._frames: deque[Frame] = deque()  # waiting
        self._frame_bytes = 0
        self._is_held = False
        self._unpaid = 0  # answers that no rate limit covers
        self._admitted = 0  # commands of the frame under way that are admitted and not applied yet
        # out: messages, each with the number of its last event or 0
        self._queue: list[tuple[sent.Sent | msgspec.Raw, int]] = []
        self._is_caught_up = False  # until then, messages are held back
        self._missed = 0  # messages at the front of the queue from before the session began
        self._measured = 0  # messages after those that are encoded, to know their size
        self._measured_bytes = 0
        self._flush_soon = False
        self._sent = 0  # the number of the last event that was written

    # -- in

    def receive(self, payload: bytes) -> None:
        """Carry out a frame now if nothing waits; its rest goes into the fair queue."""
        if self.is_deaf:
            return
        messages = None
        if not self._frames and self._fair_queue.may_go_on():
            messages = self.carry_out(self.decode(payload), self._fair_queue.in_time)
            if not messages:
                return
        frame = Frame(self, payload, messages)
        self._frames.append(frame)
        self._frame_bytes += len(payload)
        self._fair_queue.wait(self._holder, frame)
        is_much = len(self._frames) > FRAMES_WAITING_MAX or self._frame_bytes > BYTES_WAITING_MAX
        if is_much and not self._is_held:
            self._is_held = True
            self._connection.hold()

    def took(self, frame: Frame) -> None:
        """Remove a finished frame: the first, except after a bug."""
        self._frames.remove(frame)
        self._frame_bytes -= len(frame.payload)
        if (
            self._is_held
            and len(self._frames) <= FRAMES_WAITING_MAX // 2
            and self._frame_bytes <= BYTES_WAITING_MAX // 2
        ):
            self._is_held = False
            self._connection.let_go()
        if self._is_over and not self._frames:
            self._leave()

    @property
    def is_deaf(self) -> bool:
        """Whether frames are dropped: the session has ended, or its key was revoked."""
        return self._is_ignored or self.ended is not None

    def decode(self, payload: bytes) -> list[asked.SessionMessage]:
        """The messages of a frame. An unreadable frame is refused and gives none."""
        try:
            return self._codec.read(payload, self._gateway.limits.batch_commands_max)
        except ProblemError as problem:
            self._unpaid += 1
            self._gateway.when_durable(self.deliver, self._refused("", problem))
            self._rest(len(payload))
            return []

    def carry_out(
        self, messages: list[asked.SessionMessage], may_go_on: Callable[[], bool]
    ) -> list[asked.SessionMessage]:
        """Carry out messages until the turn is over; returns the rest. Each is answered once
        everything that its answer reflects is durable."""
        gateway, readers = self._gateway, self._readers
        done = 0
        at = gateway.clock.now()  # everything in the frame happens at one time
        commands = sum([type(message) in readers for message in messages])
        if commands:
            self._admitted = gateway.admission.admit_frame(self._principal, commands, at)
        for message in messages:
            read = readers.get(type(message))
            try:
                if read is None:
                    gateway.when_durable(self.deliver, self._answer(message, at))
                else:
                    self._enter(message, read, at)
            except ProblemError as problem:
                self._unpaid += 1
                operation = f"session.{message.__struct_config__.tag}"
                gateway.when_durable(self.deliver, self._refused(message.id, problem, operation))
            done += 1
            if not done % HEARD_AT_ONCE and not may_go_on():
                break
        if self._admitted:
            gateway.admission.give_back(self._principal, self._admitted)
            self._admitted = 0
        if self._unpaid:
            self._rest()
        return messages[done:]

    def _enter(
        self, message: asked.SessionMessage, read: Callable[[str, Any], Command], at: int
    ) -> None:
        id = check_id(message.id)
        if self._admitted:
            self._admitted -= 1
        else:
            self._gateway.admission.admit(self._principal)
        command = read(self._holder, message)
        of_session = self._placed is not None and type(command) is PlaceOrder
        request = Request(self._holder, self.key, id, b"", command, of_session)
        applied, is_repeat = self._gateway.submit(request, at, self)
        if is_repeat:
            self._gateway.when_durable(self._repeat, (id, applied))
        elif self._placed is not None:
            self._note_placed(applied)

    def _refuse_scope(self, scope: str) -> NoReturn:
        has = ", ".join(sorted(self._principal.scopes))
        raise ProblemError(Code.FORBIDDEN, f"your key may not {scope}: it has {has}")

    def _answer(self, message: asked.SessionMessage, at: int) -> sent.Sent:
        """Answer a question from the state as it is at that time."""
        gateway = self._gateway
        if type(message) is asked.Ping:
            gateway.admission.check_journal()
            self._unpaid += 1
            return sent.Pong(id=message.id)
        scope = SCOPE_OF.get(type(message), "read")
        if scope not in self._principal.scopes:
            check_id(message.id)
            self._refuse_scope(scope)
        is_list = type(message) is not asked.AskQuote
        gateway.admission.admit_read(self._principal, is_list, at=at)
        exchange = gateway.exchange
        if type(message) is asked.AskQuote:
            quote = views.quote_view(exchange, self._holder, message.scope, at)
            return sent.QuoteReply(id=message.id, quote=quote)
        if self._principal.is_operator:
            raise ProblemError(
                Code.BAD_REQUEST,
                f"{message.__struct_config__.tag}: the operator lists these with GET requests, in"
                " pages",
            )
        account = exchange.accounts[self._holder]
        if type(message) is asked.AskOrders:
            orders = tuple(views.order_views(exchange, account))
            return sent.OrdersReply(id=message.id, n=account.events, orders=orders)
        if type(message) is asked.AskLeases:
            leases = tuple(views.lease_views(exchange, account, at))
            return sent.LeasesReply(id=message.id, n=account.events, leases=leases)
        raise ProblemError(Code.BAD_REQUEST, "hello is said once, at the start of a session")

    def turn_away(self, ids: list[str]) -> int:
        """Refuse messages that have waited too long. Nothing was done, so this need not wait for
        durability."""
        if ids:
            self.note(_OVERLOADED, "session", ids[0] if len(ids) == 1 else "", len(ids))
        for id in ids:
            self.deliver(refusal(id, _OVERLOADED))
        return len(ids)

    def ids(self, payload: bytes) -> list[str]:
        """The ids of a frame's messages, read without the rest. An unreadable frame is refused and
        gives None."""
        found = self._codec.ids(payload)
        return [message.id for message in self.decode(payload)] if found is None else found

    def _refused(self, id: str, problem: ProblemError, operation: str = "session") -> sent.Refused:
        self.note(problem, operation, id)
        return refusal(id, problem)

    def note(self, problem: ProblemError, operation: str, id: str = "", times: int = 1) -> None:
        """Write a refusal to the audit log."""
        self._gateway.refusals.note(
            problem, operation, self._principal, self._connection.scope, id, times=times
        )

    def _rest(self, bytes_read: int = 0) -> None:
        """Stop reading for a while from a client that is refused too often."""
        unpaid, self._unpaid = self._unpaid, 0
        delay_s = self.pay(unpaid, bytes_read)
        if delay_s:
            self._connection.rest(delay_s)

    def pay(self, answers: int = 1, bytes_read: int = 0) -> float:
        """Count answers that no rate limit covers; returns how long to delay. The operator is
        never delayed."""
        if self._principal.is_operator:
            return 0.0
        return self._gateway.admission.delay_s(self._holder, answers, bytes_read)

    # -- the beginning

    async def greet(self, hello: asked.Hello) -> None:
        """Welcome the client, then send the events it missed, which may take long if many
        reconnect together. Events that happen while the last page is read are held back."""
        gateway, holder, limits = self._gateway, self._holder, self._gateway.limits
        latest = gateway.latest(holder)
        n = self._sent = latest if hello.resume_after is None else hello.resume_after
        welcome = sent.Welcome(
            id=hello.id,
            holder=holder,
            n=n,
            server=__version__,
            heartbeat_s=limits.heartbeat_s,
            dead_after_s=limits.dead_after_s,
            frame_messages_max=unless(BATCH_COMMANDS_MAX, limits.batch_commands_max),
            frame_bytes_max=unless(BATCH_BYTES_MAX, limits.batch_bytes_max),
        )
        gateway.event_log.check_kept(holder, n, latest)
        gateway.keep(self)
        try:
            await gateway.all_durable()
        finally:
            gateway.let_go(self)
        if self.ended is None:
            self._write(welcome)

        async def send(page: list[Numbered]) -> bool:
            self._write([sent.EventSent(told=one) for one in page])
            self._sent = page[-1].n
            await self._until_read()
            return self._is_there

        n = await catch_up(gateway, self, self._principal, n, send)
        gateway.follow(holder, self)
        try:
            missed = await gateway.events_after(holder, n) if self._is_there else []
        except BaseException:
            gateway.unfollow(holder, self)
            raise
        self._is_caught_up = True
        self._missed = len(missed)
        self._queue[:0] = [(sent.EventSent(told=one), one.n) for one in missed]
        self._flush_later()
        if self.ended is not None:
            self.lost()
        self._connection.attach(self)

    async def _until_read(self) -> None:
        """Wait until the peer has read everything written."""
        try:
            async with asyncio.timeout(self._gateway.limits.dead_after_s):
                await self._connection.drained()
        except TimeoutError:
            self.end(sent.CLOSE_SLOW, "slow_consumer")

    @property
    def _is_there(self) -> bool:
        return self.ended is None and not self._connection.is_gone

    # -- out

    def reply(self, id: str, applied: Applied, events: Sequence[Numbered]) -> None:
        if applied.refusal is None:
            n = events[-1].n if events else 0
            self.deliver(sent.Reply(id=id, events=tuple(events)), n)
            return
        # A refusal cannot carry events, such as those of due holds that ended first.
        for event in events:
            self.send(event)
        self.deliver(self._refused(id, Journaled(applied.refusal, self._holder)))

    def _repeat(self, first: tuple[str, Applied]) -> None:
        """Repeat the first answer to a command; a refusal without its events."""
        id, applied = first
        told = () if applied.refusal is not None else rendered(applied, self._holder)
        self.reply(id, applied, told)

    def send(self, event: Numbered) -> None:
        self.deliver(sent.EventSent(told=event), event.n)

    def notify(self, notice: Notice) -> None:
        self.deliver(sent.NoticeSent(notice=notice))

    def beat(self) -> None:
        latest = self._gateway.latest(self._holder)
        self._gateway.when_durable(self.deliver, sent.Heartbeat(n=latest))

    def deliver(self, message: sent.Sent, n: int = 0) -> None:
        """Queue a message; `n` is the number of its last event. Messages that become durable
        together leave in one frame."""
        if self.ended is None:
            self._queue.append((message, n))
            self._flush_later()

    def _flush_later(self) -> None:
        if self._is_caught_up and not self._flush_soon:
            self._flush_soon = True
            self._gateway.writes.send_soon(self.flush)

    def flush(self) -> None:
        """Write the queued messages. If the peer does not read, they keep waiting, within
        bounds."""
        self._flush_soon = False
        # A peer that has kept reading may get more than the bounds at once.
        if self._connection.is_full and self.ended is None and self._is_too_slow():
            self.end(sent.CLOSE_SLOW, "slow_consumer")
        self._write_queue()

    def _is_too_slow(self) -> bool:
        """Whether too much waits for a peer that does not read. Missed events do not count."""
        limits = self._gateway.limits
        waiting = len(self._queue) - self._missed
        for place in range(self._missed + self._measured, len(self._queue)):
            message, n = self._queue[place]
            encoded = self._codec.encode(message)
            self._queue[place] = msgspec.Raw(encoded), n
            self._measured_bytes += len(encoded)
        self._measured = waiting
        return (
            waiting > limits.outbound_messages_max
            or self._measured_bytes > limits.outbound_bytes_max
        )

    def _write_queue(self) -> None:
        while (
            self._queue
            and self._is_caught_up
            and not self._connection.is_full
            and self.ended is None
        ):
            piece = self._queue[:MESSAGES_PER_FRAME]
            del self._queue[:MESSAGES_PER_FRAME]
            self._missed = max(0, self._missed - len(piece))
            self._measured = self._measured_bytes = 0  # the rest is measured again
            messages = [message for message, _ in piece]
            # A repeated reply has events of earlier numbers.
            self._sent = max(self._sent, *[n for _, n in piece])
            self._write(messages if len(messages) > 1 else messages[0])

    def _write(self, message: sent.Sent | msgspec.Raw | Sequence[sent.Sent | msgspec.Raw]) -> None:
        self._connection.write(self._codec.encode(message), self._codec.text)

    # -- the end

    def ignore(self) -> None:
        self._is_ignored = True

    def end(self, code: int, reason: str) -> None:
        """End the session: drop queued messages and send a closing message, which says where to
        resume."""
        if self.ended is None:
            self._write_queue()
            self.ended = code, reason
            self._queue = []
            self._write(sent.Closing(reason=reason, n=self._sent))
            self._connection.close(code, reason)
            self.lost()

    def lost(self) -> None:
        """The connection is lost, or will be closed. Frames that arrived before still count."""
        if self._is_caught_up and not self._is_over:
            self._is_over = True
            if not self._frames:
                self._leave()

    def _leave(self) -> None:
        """Stop following, and cancel the session's orders if the hello asked for that."""
        self._gateway.unfollow(self._holder, self)
        market = self._gateway.exchange.market
        for order in sorted(self._placed or ()):
            is_open = market.order(self._holder, order) is not None
            if is_open and self._gateway.failure is None and not self._gateway.stopping:
                # If the journal fails now, the next start cancels the order.
                with suppress(ProblemError):
                    self._gateway.enter(
                        self._holder, self.key, "", CancelOrder(self._holder, order)
                    )
        self._on_left(self)

    def _note_placed(self, applied: Applied) -> None:
        assert self._placed is not None
        for event in applied.events:
            if type(event) is happened.OrderPlaced:
                self._placed.add(event.order)
                if len(self._placed) > PLACED_MAX:
                    self._placed &= self._gateway.exchange.accounts[self._holder].session_orders
            elif (
                type(event) is happened.LeaseStarted or type(event) is happened.OrderCancelled
            ) and event.tenant == self._holder:
                self._placed.discard(event.order)


def unless(usual: int, found: int) -> int | None:
    return None if found == usual else found


def refusal(id: str, problem: ProblemError) -> sent.Refused:
    return sent.Refused(
        id=id,
        code=problem.code,
        detail=problem.detail,
        status=problem.status,
        retry_after=problem.retry_after,
    )
