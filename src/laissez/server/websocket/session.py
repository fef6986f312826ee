"""A session: one WebSocket over which a tenant or the operator sends commands and is sent events.

The key is checked once, at the start; revoking it ends the session. Every command is answered under
its own id once it is durable. The answers and events of one commit leave as one frame. A session
that does not read is cut off, and may reconnect and resume.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, MutableMapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

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
from laissez.server.websocket.connection import Connection
from laissez.server.websocket.inbox import Inbox
from laissez.wire import requests as asked
from laissez.wire import session as sent
from laissez.wire.decoding import COMMANDS, SCOPE_OF, check_id, read_fraction
from laissez.wire.events import Notice, Numbered
from laissez.wire.frames import FrameCodec
from laissez.wire.limits import OPEN_ORDERS_MAX
from laissez.wire.problems import Code, ProblemError
from laissez.wire.rendering import rendered

MESSAGES_PER_FRAME = 500  # so that no frame outgrows what clients take by default, 1 MiB
HEARD_AT_ONCE = 16  # messages between two readings of the clock: less than a millisecond
# orders that a session tracks for cancel_on_disconnect; some may have left the market
PLACED_MAX = 2 * OPEN_ORDERS_MAX
_OVERLOADED = overloaded()
# made once, because shedding must be cheap
OVERLOADED = (_OVERLOADED.code, _OVERLOADED.detail, _OVERLOADED.status, _OVERLOADED.retry_after)


class Session:
    """A greeted session; follows its holder's events."""

    def __init__(
        self,
        gateway: Gateway,
        principal: Principal,
        form: FrameCodec,
        hello: asked.Hello,
        connection: Connection,
    ) -> None:
        self.key = principal.key
        self.scope: MutableMapping[str, Any] = {}  # of the connection, for the log
        self.watch = RateWatch(read_fraction(hello.warn_within, "warn_within"))
        self._gateway = gateway
        self._principal = principal
        self._form = form
        self._connection = connection
        # the orders to cancel at the end, if it asked for that
        self._placed: set[int] | None = set() if hello.cancel_on_disconnect else None
        # messages, each with the number of its last event or 0; held back until it has caught up
        self._held_back: list[tuple[bytes, int]] | None = []
        self._queue: list[tuple[bytes, int]] = []
        self._missed = 0  # messages at the front of the queue from before the session began
        self._loop = asyncio.get_running_loop()
        self._flush_soon = False
        self._sent = 0  # the number of the last event that was written
        self._is_ignored = False
        self._unpaid = 0  # answers that no rate limit covers
        self._admitted = 0  # commands of the frame under way that are admitted and not applied yet
        self._inbox = Inbox(self, gateway.admission.queue, principal.holder, connection)
        self.over = asyncio.Event()
        # close code and reason, once the service has ended it
        self.ended: tuple[int, str] | None = None

    # -- in

    def receive(self, frame: bytes | str) -> None:
        """Hear a frame now, or queue it."""
        if not self.is_deaf:
            self._inbox.put(frame)

    @property
    def is_deaf(self) -> bool:
        """Whether frames are dropped: the session has ended, or its key was revoked."""
        return self._is_ignored or self.ended is not None

    def read(self, frame: bytes | str) -> list[asked.SessionMessage]:
        """The messages of a frame; none if it cannot be read, which is refused."""
        try:
            return self._form.read(frame, self._gateway.limits.batch_commands_max)
        except ProblemError as problem:
            self._unpaid += 1
            self._gateway.when_durable(self.deliver, self._refused("", problem))
            self._rest(len(frame))
            return []

    def hear(
        self, messages: list[asked.SessionMessage], may_go_on: Callable[[], bool]
    ) -> list[asked.SessionMessage]:
        """Carry messages out as long as may be; returns the rest. Each is answered once everything
        that its answer reflects is durable."""
        gateway = self._gateway
        heard = 0
        commands = sum([type(message) in COMMANDS for message in messages])
        self._admitted = gateway.admission.admit_frame(self._principal, commands)
        at = gateway.clock.now()  # All commands up to the next question happen at one time.
        for message in messages:
            read = COMMANDS.get(type(message))
            try:
                if read is None:
                    self._answer(message)
                else:
                    self._carry_out(message, read, at)
            except ProblemError as problem:
                self._unpaid += 1
                operation = f"session.{message.__struct_config__.tag}"
                gateway.when_durable(self.deliver, self._refused(message.id, problem, operation))
            if read is None:  # a question lets time pass, also if it is refused
                at = gateway.clock.now()
            heard += 1
            if not heard % HEARD_AT_ONCE and not may_go_on():
                break
        if self._admitted:
            gateway.admission.give_back(self._principal, self._admitted)
            self._admitted = 0
        if self._unpaid:
            self._rest()
        return messages[heard:]

    def turn_away(self, ids: list[str]) -> int:
        """Refuse messages that have waited too long. Nothing was done, so this need not wait for
        durability."""
        encode, (code, detail, status, retry_after) = self._form.encode, OVERLOADED
        self._note(_OVERLOADED, "session", ids[0] if len(ids) == 1 else "", len(ids))
        for id in ids:
            refused = sent.Refused(
                id=id, code=code, detail=detail, status=status, retry_after=retry_after
            )
            self.deliver(encode(refused))
        return len(ids)

    def ids(self, frame: bytes | str) -> list[str]:
        """The ids of a frame's messages, read without the rest of it."""
        found = self._form.ids(frame)
        return [message.id for message in self.read(frame)] if found is None else found

    def _rest(self, bytes_read: int = 0) -> None:
        """Stop reading from a client that is refused too often, for a while."""
        unpaid, self._unpaid = self._unpaid, 0
        delay_s = self.pay(unpaid, bytes_read)
        if delay_s:
            self._connection.rest(delay_s)

    def pay(self, answers: int = 1, bytes_read: int = 0) -> float:
        """Count answers that no rate limit covers; returns how long to delay. The operator is
        never delayed."""
        if self._principal.is_operator:
            return 0.0
        return self._gateway.admission.delay_s(self._principal.holder, answers, bytes_read)

    def _carry_out(
        self, message: asked.SessionMessage, read: Callable[[str, Any], Command], at: int
    ) -> None:
        principal, gateway, id = self._principal, self._gateway, message.id
        check_id(id)
        scope = SCOPE_OF[type(message)]
        if scope not in principal.scopes:
            self._refuse_scope(scope)
        command = read(principal.holder, message)
        if self._admitted:
            self._admitted -= 1
        else:
            gateway.admission.admit(principal)
        of_session = self._placed is not None and type(command) is PlaceOrder
        request = Request(principal.holder, principal.key, id, b"", command, of_session)
        applied, is_repeat = gateway.submit(request, at, self)
        if is_repeat:
            gateway.when_durable(self._repeat, (id, applied))
        elif self._placed is not None:
            self._note_placed(applied)

    def _refuse_scope(self, scope: str) -> NoReturn:
        has = ", ".join(sorted(self._principal.scopes))
        raise ProblemError(Code.FORBIDDEN, f"your key may not {scope}: it has {has}")

    def _answer(self, message: asked.SessionMessage) -> None:
        """Answer a question once the state that it reads is durable."""
        self._gateway.when_durable(self.deliver, self._form.encode(self._ask(message)))

    def _ask(self, message: asked.SessionMessage) -> sent.Sent:
        gateway, holder = self._gateway, self._principal.holder
        gateway.admission.check_journal()
        if type(message) is asked.Ping:
            self._unpaid += 1
            return sent.Pong(id=message.id)
        if "read" not in self._principal.scopes:
            self._refuse_scope("read")
        tenant = None if self._principal.is_operator else holder
        gateway.admission.admit_question(self._principal, lists=type(message) is not asked.AskQuote)
        if type(message) is asked.AskQuote:
            return sent.QuoteReply(
                id=message.id,
                quote=views.quote_view(
                    gateway.exchange, tenant, message.scope, gateway.clock.now()
                ),
            )
        if tenant is None:
            raise ProblemError(
                Code.BAD_REQUEST,
                f"{message.__struct_config__.tag}: the operator lists these with GET requests, in"
                " pages",
            )
        account = gateway.exchange.accounts[holder]
        if type(message) is asked.AskOrders:
            return sent.OrdersReply(
                id=message.id,
                n=account.events,
                orders=tuple(views.order_views(gateway.exchange, account)),
            )
        if type(message) is asked.AskLeases:
            return sent.LeasesReply(
                id=message.id,
                n=account.events,
                leases=tuple(views.lease_views(gateway.exchange, account, gateway.end_holds())),
            )
        raise ProblemError(Code.BAD_REQUEST, "hello is said once, at the start of a session")

    def _refused(self, id: str, problem: ProblemError, operation: str = "session") -> bytes:
        self._note(problem, operation, id)
        refused = sent.Refused(
            id=id,
            code=problem.code,
            detail=problem.detail,
            status=problem.status,
            retry_after=problem.retry_after,
        )
        return self._form.encode(refused)

    def note_broken(self, problem: ProblemError) -> None:
        """Log a violation of the protocol, which closes the connection."""
        self._note(problem, "session")

    def _note(self, problem: ProblemError, operation: str, id: str = "", times: int = 1) -> None:
        self._gateway.refusals.note(
            problem, operation, self._principal, self.scope, id, times=times
        )

    # -- out

    async def greet(self, hello: asked.Hello) -> None:
        """Welcome the client, then send the events it missed, which may take long if many
        reconnect together. Events that happen while the last page is read are held back."""
        gateway, holder, limits = self._gateway, self._principal.holder, self._gateway.limits
        latest = gateway.latest(holder)
        n = self._sent = latest if hello.resume_after is None else hello.resume_after
        welcome = sent.Welcome(
            id=hello.id,
            holder=holder,
            n=n,
            server=__version__,
            heartbeat_s=limits.heartbeat_s,
            dead_after_s=limits.dead_after_s,
            frame_messages_max=limits.batch_commands_max,
            frame_bytes_max=limits.batch_bytes_max,
        )
        gateway.event_log.check_kept(holder, n, latest)
        gateway.keep(self)
        try:
            await gateway.all_durable()
        finally:
            gateway.let_go(self)
        if self.ended is None:
            self._connection.write(self._form.encode(welcome), self._form.text)

        async def send(page: list[Numbered]) -> bool:
            self._connection.write(self._form.join(self._events(page)), self._form.text)
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
        held_back, self._held_back = self._held_back or [], None
        self._missed = len(missed)
        self.tell(missed)
        for message, last in held_back:
            self.deliver(message, last)
        self._connection.attach(self)

    def _events(self, missed: list[Numbered]) -> list[bytes]:
        return [self._form.encode(sent.EventSent(told=one)) for one in missed]

    async def _until_read(self) -> None:
        """Wait until the peer has taken what was written."""
        try:
            async with asyncio.timeout(self._gateway.limits.dead_after_s):
                await self._connection.writable.wait()
        except TimeoutError:
            self.end(sent.CLOSE_SLOW, "slow_consumer")

    @property
    def _is_there(self) -> bool:
        return self.ended is None and not self._connection.is_gone

    def reply(self, id: str, applied: Applied, events: Sequence[Numbered]) -> None:
        if applied.refusal is None:
            n = events[-1].n if events else 0
            self.deliver(self._form.encode(sent.Reply(id=id, events=tuple(events))), n)
            return
        # A refusal has no room for events. There are some if holds were over and ended first.
        self.tell(events)
        self.deliver(self._refused(id, Journaled(applied.refusal, self._principal.holder)))

    def _repeat(self, first: tuple[str, Applied]) -> None:
        """Answer a command that was sent again as the first time; a refusal without its events."""
        id, applied = first
        told = () if applied.refusal is not None else rendered(applied, self._principal.holder)
        self.reply(id, applied, told)

    def tell(self, events: Sequence[Numbered]) -> None:
        for one in events:
            self.deliver(self._form.encode(sent.EventSent(told=one)), one.n)

    def notify(self, notice: Notice) -> None:
        self.deliver(self._form.encode(sent.NoticeSent(notice=notice)))

    def beat(self) -> None:
        self._gateway.when_durable(
            self.deliver,
            self._form.encode(sent.Heartbeat(n=self._gateway.latest(self._principal.holder))),
        )

    def deliver(self, message: bytes, n: int = 0) -> None:
        """Queue a message; `n` is the number of its last event. It is written once all that becomes
        durable together is there, so that it leaves in one frame."""
        if self._held_back is not None:
            self._held_back.append((message, n))
        elif self.ended is None:
            self._queue.append((message, n))
            if not self._flush_soon:
                self._flush_soon = True
                self._gateway.writes.send_soon(self.flush)

    def _is_too_slow(self) -> bool:
        """Whether too much waits for a peer that does not read. Missed events do not count."""
        limits = self._gateway.limits
        waiting = self._queue[self._missed :]
        return (
            len(waiting) > limits.outbound_messages_max
            or sum(len(message) for message, _ in waiting) > limits.outbound_bytes_max
        )

    def flush(self) -> None:
        """Write what waits. If the peer does not read, it keeps waiting, within bounds."""
        self._flush_soon = False
        # A peer that was reading until now may be sent more than the bounds at once.
        if self._connection.is_full and self.ended is None and self._is_too_slow():
            self.end(sent.CLOSE_SLOW, "slow_consumer")
        self._write_queue()

    def _write_queue(self) -> None:
        while self._queue and not self._connection.is_full and self.ended is None:
            piece = self._queue[:MESSAGES_PER_FRAME]
            del self._queue[:MESSAGES_PER_FRAME]
            self._missed = max(0, self._missed - len(piece))
            # A repeated reply has events of earlier numbers.
            self._sent = max(self._sent, *[n for _, n in piece])
            payload = self._form.join([message for message, _ in piece])
            self._connection.write(payload, self._form.text)

    def ignore(self) -> None:
        self._is_ignored = True

    def end(self, code: int, reason: str) -> None:
        """End the session: drop what waits and send a closing message, which says where to
        resume."""
        if self.ended is None:
            self._write_queue()
            self.ended = code, reason
            closing = sent.Closing(reason=reason, n=self._sent)
            self._queue = []
            self._connection.write(self._form.encode(closing), self._form.text)
            self.over.set()

    # -- the end

    def hang_up(self) -> None:
        """Close without waiting for a peer that does not read."""
        assert self.ended is not None
        self._connection.hang_up(*self.ended)

    async def all_heard(self) -> None:
        await self._inbox.all_heard()

    def leave(self) -> None:
        """Stop following, and cancel the session's orders if it asked for that."""
        self._gateway.unfollow(self._principal.holder, self)
        holder, market = self._principal.holder, self._gateway.exchange.market
        for order in sorted(self._placed or ()):
            is_open = market.order(holder, order) is not None
            if is_open and self._gateway.failure is None and not self._gateway.stopping:
                # If the journal fails now, the next start cancels the order.
                with suppress(ProblemError):
                    self._gateway.enter(holder, self._principal.key, "", CancelOrder(holder, order))

    def _note_placed(self, applied: Applied) -> None:
        assert self._placed is not None
        holder = self._principal.holder
        for event in applied.events:
            if type(event) is happened.OrderPlaced:
                self._placed.add(event.order)
                if len(self._placed) > PLACED_MAX:
                    self._placed &= self._gateway.exchange.accounts[holder].session_orders
            elif (
                type(event) is happened.LeaseStarted or type(event) is happened.OrderCancelled
            ) and event.tenant == holder:
                self._placed.discard(event.order)
