"""The durability gate: the only way into the exchange, and the only way out.

In: `submit` applies a request at once, in the event loop, and hands its entry to the journal, whose
thread commits entries in groups. The state in memory is then ahead of the disk.

Out: everything that reflects an applied request (a reply, an event, a quote, a list, a metric)
waits until its entry is durable. Replies and events of requests wait in `_unstored`. Anything else
that read the state waits in `_outbox` with the position at which it was read. When the journal
reports progress, `_let_out` walks both in the order of entries, so effects are seen in that order.

If the journal fails, waiting answers are never sent and every later request is refused. Only a
restart can settle the true state, from the disk.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol

from laissez.exchange.accounts import Account
from laissez.exchange.codec import Codec
from laissez.exchange.commands import (
    BESIDE_THE_MARKET,
    OPERATOR,
    SERVICE,
    Command,
    Request,
    RevokeKey,
    SetCaps,
)
from laissez.exchange.events import Applied
from laissez.exchange.exchange import Exchange
from laissez.journal import (
    CommitQueue,
    Entry,
    GroupCommit,
    Journal,
    JournalFailed,
    Position,
    Reader,
)
from laissez.market.commands import AdvanceTime
from laissez.server.admission import Admission, failed
from laissez.server.audit.refusals import Refusals
from laissez.server.auth import Principal
from laissez.server.clock import Clock
from laissez.server.counts import Counts
from laissez.server.event_log import EventLog
from laissez.server.event_reader import EventReader
from laissez.server.fair_queue import CoalescedWrites
from laissez.server.rates import RateWatch
from laissez.server.settings import Limits
from laissez.wire.events import Notice, Numbered
from laissez.wire.problems import Code, ProblemError
from laissez.wire.rendering import render_for, rendered
from laissez.wire.session import CLOSE_UNAUTHENTICATED

_FOLLOWED: Final = frozenset((RevokeKey, SetCaps))


class Opened(Protocol):
    """A session or stream. It ends when the key that opened it is revoked."""

    key: str  # its id

    def ignore(self) -> None:
        """Drop all its later input; it will be ended soon."""

    def end(self, code: int, reason: str) -> None:
        """End it; `code` is a close code of a session."""


class Follower(Opened, Protocol):
    """A session or stream that receives a holder's events."""

    watch: RateWatch

    def send(self, event: Numbered) -> None:
        """Send an event, which is durable."""

    def notify(self, notice: Notice) -> None:
        """Send a notice, which reflects only durable state."""


class Origin(Follower, Protocol):
    """A follower that sends commands and receives their events in the replies."""

    def reply(self, id: str, applied: Applied, events: Sequence[Numbered]) -> None:
        """Answer the command `id`, which is durable, with the `events` that it may see."""


class Entered:
    """A request that was applied; it is durable with entry `seq` of the journal."""

    __slots__ = ("applied", "origin", "request", "seq")

    def __init__(self, seq: int, request: Request, applied: Applied, origin: Origin | None) -> None:
        self.seq = seq
        self.request = request
        self.applied = applied
        self.origin = origin


class Commit(Protocol):
    """Makes the committer: a thread that commits in groups, or one that a simulation steps."""

    def __call__(
        self,
        journal: Journal,
        *,
        on_durable: Callable[[int], None],
        on_failure: Callable[[JournalFailed], None],
    ) -> CommitQueue: ...


class Gateway:
    """Belongs to one event loop, which makes it and calls every method."""

    def __init__(
        self,
        exchange: Exchange,
        journal: Journal,
        clock: Clock,
        limits: Limits,
        event_log: EventLog,
        commit: Commit = GroupCommit,
    ) -> None:
        self.exchange = exchange
        self._codec = Codec(exchange.names)
        self.identity = journal.identity  # also marks the files beside the journal
        self.clock = clock
        self.limits = limits
        self.event_log = event_log
        self.writes = CoalescedWrites()
        self.admission = Admission(self)
        self.refusals = Refusals(clock)
        self.stopping = False
        self.failure: str | None = None  # the reason, once the journal has failed
        self.on_failure: Callable[[str], None] = lambda reason: None
        # called with the size of each durable group, and how long its first command waited
        self.on_durable: Callable[[int, float], None] = lambda commands, waited_s: None
        # called after `on_durable`
        self.on_news: Callable[[], None] | None = None
        self.commands = 0  # applied since the start
        market = exchange.market
        offline = {leaf for leaf in market.topology.leaves if not market.is_online(leaf)}
        self.counts = Counts(offline)
        self._loop = asyncio.get_running_loop()
        self._reader = journal.reader()
        self._event_reader = EventReader(self._reader, clock)
        self._journal = journal
        # position and message, and the callbacks for it: on durability, and on failure
        self._outbox: deque[
            tuple[int, Callable[[Any], None], Any, Callable[[Any], None] | None]
        ] = deque()
        self._unstored: deque[Entered] = deque()  # applied, not yet durable
        # the followers of each holder, with the number of the last event before each began
        self._followers: dict[str, dict[Follower, int]] = {}
        self._others: list[Opened] = []  # without followers
        self._commit = commit(journal, on_durable=self._stored, on_failure=self._not_stored)
        # about when the first command that is not durable was applied
        self._waiting_since = 0.0
        self.position = journal.last  # the last entry applied
        self.durable = journal.last  # the last entry known to be stored

    # -- in

    def end_holds(self, at: int | None = None) -> int:
        """Expire due holds, spent budgets and old index entries, so that readers never see them.
        `at` is the time of the frame under way, by default now; returns it."""
        if at is None:
            at = self.clock.now()
        self.event_log.forget(at)
        if self.failure is None and self.exchange.is_due(at):
            self.enter(OPERATOR, SERVICE, "", AdvanceTime(), at=at)
        return at

    def enter(
        self, who: str, key: str, id: str, command: Command, at: int | None = None
    ) -> Applied:
        """As `submit`, for callers that need not know whether the command is a repeat."""
        return self.submit(Request(who, key, id, b"", command), at)[0]

    def submit(
        self, request: Request, at: int | None = None, origin: Origin | None = None
    ) -> tuple[Applied, bool]:
        """Apply a request at `at`, by default now; returns its outcome, and whether the outcome is
        that of an earlier request under the same idempotency key. Hold the outcome back with
        `when_durable`. Once a new request is durable, `origin` gets a reply."""
        if request.id:
            seq = self.event_log.find(request.who, request.id)
            if seq is not None:
                return self._first_time(seq, request), True
        if at is None:
            if type(request.command) in BESIDE_THE_MARKET:
                # Ended holds come first: events are sent in the order of time.
                self.end_holds()
            at = self.clock.now()
        return self._apply(request, at, origin), False

    def _apply(self, request: Request, at: int, origin: Origin | None) -> Applied:
        try:
            packed = self._codec.pack_request(request)
        except (OverflowError, UnicodeEncodeError) as error:
            raise ProblemError(
                Code.BAD_REQUEST, f"the request cannot be stored; nothing was done: {error}"
            ) from None
        try:
            applied = self.exchange.apply(at, request)
            entry = Entry(at, packed, self._codec.pack_outcome(at, request, applied))
        # A bug. The state in memory may be half changed and must not be used.
        except BaseException as error:
            self.fail(_bug(error))
            raise
        try:
            seq = self._commit.put(entry, applied.documents)
        # Applied and never stored: the state in memory is ahead for good.
        except BaseException as error:
            self.fail(str(error))
            if isinstance(error, JournalFailed):
                raise failed() from error
            raise
        if self.position == self.durable:
            self._waiting_since = self._loop.time()
        self.position = seq
        self.commands += 1
        self._unstored.append(Entered(seq, request, applied, origin))
        self.event_log.add(at, seq, request.who, request.id, applied.first, applied.tenants)
        if type(request.command) in _FOLLOWED and applied.refusal is None:
            self._follow_up(request.command)
        return applied

    def _follow_up(self, command: Command) -> None:
        """Apply the command's change of the exchange to the server's own state."""
        if type(command) is RevokeKey:
            self._cut_off(command.key)
        elif type(command) is SetCaps:
            self.admission.change_caps(command.tenant)

    def _first_time(self, seq: int, request: Request) -> Applied:
        """The first outcome under this id, if the request is the same."""
        first, applied = self._entered(seq)
        # The digest of the whole request decides, if there is one: the same request may resolve to
        # another command the second time.
        if first.digest != request.digest or (
            not request.digest and first.command != request.command
        ):
            why = (
                f"the id {request.id!r} was used for another request: use a new id for a new"
                " request"
            )
            raise ProblemError(Code.IDEMPOTENCY_CONFLICT, why)
        return applied

    def first_command(self, who: str, id: str) -> Command | None:
        """The command first carried out under this id. A request that is resolved by the state
        could resolve to another one now."""
        seq = self.event_log.find(who, id) if id else None
        return None if seq is None else self._entered(seq)[0].command

    def _entered(self, seq: int) -> tuple[Request, Applied]:
        """Read an entry from memory until it is durable, then from the journal."""
        if self._unstored and seq >= self._unstored[0].seq:
            entered = self._unstored[seq - self._unstored[0].seq]
            return entered.request, entered.applied
        entry = self._reader.entry(seq)
        assert entry is not None
        return self._unpack(entry)

    def _unpack(self, entry: Entry) -> tuple[Request, Applied]:
        request = self._codec.unpack_request(entry.request)
        return request, self._codec.unpack_outcome(entry.at, request, entry.outcome)

    # -- out

    def when_durable(
        self,
        deliver: Callable[[Any], None],
        message: Any,
        lose: Callable[[Any], None] | None = None,
    ) -> None:
        """Call `deliver(message)` once everything applied so far is durable; at once if it is. If
        the journal fails before that, call `lose(message)`."""
        if self.failure is not None:
            return
        if self.durable >= self.position:
            deliver(message)
        else:
            self._outbox.append((self.position, deliver, message, lose))

    async def all_durable(self) -> None:
        """Wait until everything applied so far is durable. Await this between reading the state
        and answering."""
        self.admission.check_journal()
        if self.durable < self.position:
            future = self._loop.create_future()
            self._outbox.append((self.position, _resolve, future, _give_up))
            await future

    async def events_after(self, holder: str, n: int, most: int | None = None) -> list[Numbered]:
        """A holder's events after number `n` that have happened by now, at most `most`."""
        latest = self.latest(holder)
        found: list[Numbered] = []

        def take(applied: Applied) -> None:
            seen = rendered(applied, holder)
            found.extend(one for one in seen if n < one.n <= latest)

        await self.read_outcomes(holder, n, take, most)
        return found[:most]

    async def read_outcomes(
        self, holder: str, n: int, take: Callable[[Applied], None], most: int | None = None
    ) -> None:
        """Pass the outcomes that have a holder's events after number `n` to `take`, in order: those
        that have happened by now, and at most the next `most` events."""
        entries = self.event_log.entries_after(holder, n, self.latest(holder), most)
        await self.all_durable()

        def unpack(entry: Entry) -> None:
            take(self._unpack(entry)[1])

        await self._event_reader.read(holder, entries, unpack)

    def reader(self) -> Reader:
        """A reader for long reads in another thread. It also reads archives."""
        return self._journal.reader(archived=True)

    def cut(self, until: Position) -> None:
        """Delete the entries up to `until`, which an archive holds."""
        if self.failure is None:
            self._commit.cut(until)

    @property
    def cutting(self) -> bool:
        return self._commit.cutting

    def follow(self, holder: str, follower: Follower) -> None:
        """Send a follower the holder's events from the next one on. `events_after` has the earlier
        ones, durable or not."""
        self._followers.setdefault(holder, {})[follower] = self.latest(holder)

    def unfollow(self, holder: str, follower: Follower) -> None:
        followers = self._followers[holder]
        del followers[follower]
        if not followers:
            del self._followers[holder]

    def keep(self, opened: Opened) -> None:
        """End it with its key or the server, although it follows no events."""
        self._others.append(opened)

    def let_go(self, opened: Opened) -> None:
        self._others.remove(opened)

    def followers(self, holder: str) -> Iterable[Follower]:
        return self._followers.get(holder, ())

    def following(self) -> list[str]:
        """The holders that have followers."""
        return list(self._followers)

    def latest(self, holder: str) -> int:
        """The number of a holder's latest event."""
        return self.exchange.latest(holder)

    @property
    def last_at(self) -> int:
        """The time of the last entry, durable or not. Entry times never fall."""
        return self._commit.last_at

    def streams_max(self, principal: Principal) -> int:
        """The quota of open sessions and streams."""
        if principal.is_operator:
            return self.limits.operator_sessions_max
        cap = self.account(principal).caps.sessions
        return self.limits.sessions_max if cap is None else cap

    def account(self, principal: Principal) -> Account:
        return self.exchange.accounts[principal.holder]

    def _publish(self, entered: Entered) -> None:
        """Reply to the origin of a request and tell its followers, now that it is durable."""
        request, applied, origin = entered.request, entered.applied, entered.origin
        seen = render_for(applied, self._followers) if self._followers else []
        if origin is not None:
            who = request.who
            origin.reply(request.id, applied, [event for holder, event in seen if holder == who])
        for holder, event in seen:
            followers = self._followers[holder]
            if len(followers) > 1 or origin not in followers:
                self._tell(followers, event, origin)

    def _tell(self, followers: dict[Follower, int], event: Numbered, origin: Origin | None) -> None:
        for follower, began_after in tuple(followers.items()):
            if follower is not origin and event.n > began_after:
                follower.send(event)

    def end_streams(self, code: int, reason: str) -> None:
        for opened in self._all_opened():
            opened.end(code, reason)

    def _cut_off(self, key: str) -> None:
        """Ignore the sessions and streams of a revoked key at once, and end them when the
        revocation is durable: a crash before that leaves the key in force."""
        for opened in self._all_opened():
            if opened.key == key:
                opened.ignore()
                self.when_durable(_end_revoked, opened)

    def _all_opened(self) -> list[Opened]:
        return [
            *[follower for followers in self._followers.values() for follower in followers],
            *self._others,
        ]

    def _stored(self, seq: int) -> None:
        """In the journal's thread."""
        self._loop.call_soon_threadsafe(self._release, seq)

    def _release(self, seq: int) -> None:
        if seq <= self.durable:  # `close` has released it
            return
        try:
            self._let_out(seq)
        except BaseException as error:  # A bug. Some followers may have been told, others not.
            self.fail(_bug(error))
            raise

    def _let_out(self, seq: int) -> None:
        now = self._loop.time()
        self.on_durable(seq - self.durable, now - self._waiting_since)
        self._waiting_since = now
        unstored, outbox, counts = self._unstored, self._outbox, self.counts
        self.durable = seq
        with self.writes:
            while unstored and unstored[0].seq <= seq:
                entered = unstored.popleft()
                if outbox and outbox[0][0] < entered.seq:
                    self._deliver_until(entered.seq - 1)
                counts.add(entered.request, entered.applied)
                self._publish(entered)
            self._deliver_until(seq)
        if self.on_news is not None:
            self.on_news()

    def _deliver_until(self, seq: int) -> None:
        outbox = self._outbox
        while outbox and outbox[0][0] <= seq:
            _, deliver, message, _ = outbox.popleft()
            deliver(message)

    # -- the end

    def _not_stored(self, failure: JournalFailed) -> None:
        """In the journal's thread."""
        self._loop.call_soon_threadsafe(self.fail, str(failure))

    def fail(self, reason: str) -> None:
        """Accept no more commands, and send no waiting answers."""
        if self.failure is not None:
            return
        self.failure = reason
        waiting, self._outbox = self._outbox, deque()
        for _, _, message, lose in waiting:
            if lose is not None:
                lose(message)
        self.on_failure(reason)

    def close(self) -> None:
        """Store waiting entries, release their answers, and stop."""
        self.stopping = True
        self._commit.close()
        self._release(self._commit.durable)
        self._reader.close()


def _end_revoked(opened: Opened) -> None:
    opened.end(CLOSE_UNAUTHENTICATED, "key_revoked")


def _bug(error: BaseException) -> str:
    """Name only the kind of error: its text may be about any tenant. The log has all of it."""
    return f"the service met a bug and stopped: {type(error).__name__}; the log says where"


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _give_up(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_exception(failed())
