"""Sign-ins: who uses the console in a browser. A token stands for a key, so that the key itself
stays out of the browser.

A token is 32 random bytes; only its hash is kept, with the id of the key and when it ends. That the
key is in force is looked up at each use. They are no part of the market, so they are not in the
journal but in a small file of their own: a restart signs nobody out, and a file that is lost or
cannot be read costs nothing but signing in again.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import threading
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from laissez.journal.disk import remove, write_whole
from laissez.server.desk import Desk
from laissez.server.keyring import Principal, holder_of

FILE = "signins.json"  # in the data folder
LASTS_S = 12 * 3600
PER_KEY_MAX = 16  # browsers that are signed in with one key; the next one signs the oldest out

log = logging.getLogger("laissez.signins")


class SignIn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    digest: bytes
    key: str  # its id
    until: int  # microseconds since 1970


_decode = msgspec.json.Decoder(tuple[SignIn, ...]).decode


class SignIns:
    """Belongs to the event loop of its desk. Without a path they are kept in memory alone."""

    def __init__(self, desk: Desk, path: Path | None = None) -> None:
        self._desk = desk
        self._path = path
        # the oldest first
        self._by_digest = {one.digest: one for one in ([] if path is None else read(path))}
        self._changes = 0
        self._written = 0  # the change that the file is up to
        # those who wait for the disk are written together, and take one thread, however many they
        # are
        self._turn = asyncio.Lock()
        # for a write that goes on though nobody waits for it any more
        self._writing = threading.Lock()

    async def begin(self, principal: Principal, before: str | None = None) -> str:
        """A token that nobody has seen before, in place of the one before, if there was one; it is
        on the disk when this returns."""
        if before is not None:
            self._by_digest.pop(_digest(before), None)
        self._drop_what_is_over()
        mine = [digest for digest, one in self._by_digest.items() if one.key == principal.key]
        # all but the newest, so that there is room for one more
        for digest in mine[: 1 - PER_KEY_MAX]:
            del self._by_digest[digest]
        token = secrets.token_urlsafe(32)
        made = SignIn(_digest(token), principal.key, self._desk.clock.now() + LASTS_S * 1_000_000)
        self._by_digest[made.digest] = made
        await self._keep()
        return token

    def whose(self, token: str) -> Principal | None:
        """Who is signed in by this token; None if it is unknown or over, or its key is no longer in
        force, all alike."""
        signin = self._by_digest.get(_digest(token))
        principal = None if signin is None else self._holder(signin)
        return (
            None
            if signin is None or principal is None
            else replace(principal, signin=signin.digest)
        )

    def lasts(self, principal: Principal) -> bool:
        """Whether the sign-in that somebody came by is still good."""
        signin = self._by_digest.get(principal.signin)
        return signin is not None and self._holder(signin) is not None

    async def end(self, token: str) -> bool:
        """Forget a sign-in; says whether there was one."""
        signin = self._by_digest.pop(_digest(token), None)
        if signin is None:
            return False
        await self._keep()
        return self._holder(signin) is not None

    def _holder(self, signin: SignIn) -> Principal | None:
        left = signin.until - self._desk.clock.now()
        # more than it can have: the clock was ahead when it began
        if not 0 < left <= LASTS_S * 1_000_000:
            return None
        return holder_of(self._desk.exchange.keys, signin.key)

    def _drop_what_is_over(self) -> None:
        self._by_digest = {
            digest: one for digest, one in self._by_digest.items() if self._holder(one) is not None
        }

    async def _keep(self) -> None:
        """Have them all on the disk. If that fails they are good until the next restart, and that
        is no reason to turn anybody away."""
        if self._path is None:
            return
        self._changes += 1
        mine = self._changes
        async with self._turn:
            if self._written < mine:
                written = msgspec.json.encode(tuple(self._by_digest.values()))
                await asyncio.to_thread(self._write, self._path, self._changes, written)

    def _write(self, path: Path, change: int, written: bytes) -> None:
        """In a thread, since it waits for the disk. What is older than the file never replaces
        it."""
        with self._writing:
            if change <= self._written:
                return
            try:
                write_whole(path, written)
            except OSError as error:
                log.warning("the sign-ins could not be written", extra={"reason": error.strerror})
                _remove(path)
            self._written = change


def _digest(token: str) -> bytes:
    """What is looked up is a hash of what was sent, so how long the search takes tells nothing
    about the tokens that there are."""
    return hashlib.sha256(token.encode()).digest()


def _remove(path: Path) -> None:
    """What it holds may be over by now, and a restart must not bring a sign-in back that somebody
    has ended."""
    with suppress(OSError):
        remove(path)


def read(path: Path) -> tuple[SignIn, ...]:
    try:
        return _decode(path.read_bytes())
    except FileNotFoundError:
        return ()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        log.warning(
            "the sign-ins could not be read; everybody signs in again",
            extra={"file": str(path), "reason": reason},
        )
        return ()
