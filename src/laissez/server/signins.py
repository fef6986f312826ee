"""Sign-ins: a random token in a browser's cookie stands for a key, which the browser never stores.

The server stores only the token's hash, the id of the key and the expiry. Every use checks that the
key is still in force. Sign-ins are in `beside.db`, so they survive a restart; if they are lost,
users sign in again.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import sqlite3

import msgspec
from msgspec.structs import replace

from laissez.server.auth import Principal, holder_of
from laissez.server.beside import Beside, BesideFailed
from laissez.server.gateway import Gateway

LASTS_S = 12 * 3600
RETRY_EVERY_S = 1.0
PER_KEY_MAX = 16  # one more sign-in ends the oldest

log = logging.getLogger("laissez.signins")


class SignIn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    digest: bytes
    key: str  # its id
    until: int  # microseconds since 1970


class SignIns:
    """Runs in its gateway's event loop. Without a database, sign-ins are in memory only."""

    def __init__(self, gateway: Gateway, beside: Beside | None = None) -> None:
        self._gateway = gateway
        self._beside = Beside(None, gateway.identity) if beside is None else beside
        self._unwritten: set[bytes] = set()  # digests whose rows are out of date
        self._is_known = True  # else the stored rows could not be read, and are replaced
        self._by_digest: dict[bytes, SignIn] = {}  # the oldest first
        try:
            self._by_digest = self._beside.transact(self._read)
        except BesideFailed as error:
            self._is_known = False
            log.warning("the sign-ins could not be read", extra={"reason": str(error)})
        # concurrent changes are coalesced into one write
        self._writing = asyncio.Lock()

    async def begin(self, principal: Principal, before: str | None = None) -> str:
        """Issue a token in place of `before`, and write it to disk."""
        if before is not None:
            self._drop(_digest(before))
        for one in [one for one in self._by_digest.values() if self._holder(one) is None]:
            self._drop(one.digest)
        mine = [digest for digest, one in self._by_digest.items() if one.key == principal.key]
        # leave room for one more
        for digest in mine[: 1 - PER_KEY_MAX]:
            self._drop(digest)
        token = secrets.token_urlsafe(32)
        made = SignIn(
            _digest(token), principal.key, self._gateway.clock.now() + LASTS_S * 1_000_000
        )
        self._by_digest[made.digest] = made
        await self._write(made.digest)
        return token

    def principal_of(self, token: str) -> Principal | None:
        """The principal of the token; None if it is unknown or expired, or its key is not in
        force."""
        signin = self._by_digest.get(_digest(token))
        principal = signin and self._holder(signin)
        return replace(principal, signin=signin.digest) if signin and principal else None

    def is_valid(self, principal: Principal) -> bool:
        """Whether the sign-in of this principal is still valid."""
        signin = self._by_digest.get(principal.signin)
        return signin is not None and self._holder(signin) is not None

    async def end(self, token: str) -> bool:
        """Sign out; returns whether the sign-in was valid."""
        signin = self._drop(_digest(token))
        if signin is None:
            return False
        await self._write(signin.digest)
        return self._holder(signin) is not None

    def _holder(self, signin: SignIn) -> Principal | None:
        left = signin.until - self._gateway.clock.now()
        # an expiry too far ahead means that the clock was wrong at sign-in
        if not 0 < left <= LASTS_S * 1_000_000:
            return None
        return holder_of(self._gateway.exchange.keys, signin.key)

    def _drop(self, digest: bytes) -> SignIn | None:
        self._unwritten.add(digest)
        return self._by_digest.pop(digest, None)

    async def run(self) -> None:
        """Retry failed writes: a sign-out must survive a restart."""
        while True:
            await asyncio.sleep(RETRY_EVERY_S)
            await self.flush()

    async def _write(self, digest: bytes) -> None:
        self._unwritten.add(digest)
        await asyncio.shield(self.flush())

    async def flush(self) -> None:
        """Write all changes. If that fails, they stay in memory and in force."""
        async with self._writing:
            changed, self._unwritten = self._unwritten, set()
            rows = [(one, self._by_digest.get(one)) for one in changed]
            try:
                if changed:
                    await self._beside.run(lambda connection: self._store(connection, rows))
            except BesideFailed as error:
                self._unwritten |= changed
                log.warning("the sign-ins could not be written", extra={"reason": str(error)})

    def _store(
        self, connection: sqlite3.Connection, rows: list[tuple[bytes, SignIn | None]]
    ) -> None:
        if not self._is_known:
            connection.execute("DELETE FROM signins")
        for digest, signin in rows:
            connection.execute("DELETE FROM signins WHERE digest = ?", (digest,))
            if signin is not None:
                body = self._beside.encode(f"signin {digest.hex()}", signin)
                connection.execute("INSERT INTO signins VALUES (?, ?)", (digest, body))
        self._is_known = True

    def _read(self, connection: sqlite3.Connection) -> dict[bytes, SignIn]:
        rows = connection.execute("SELECT hex(digest), body FROM signins")
        read = [
            self._beside.decode(f"signin {digest.lower()}", body, SignIn) for digest, body in rows
        ]
        found = [one for one in read if one is not None]
        return {one.digest: one for one in sorted(found, key=lambda one: one.until)}


def _digest(token: str) -> bytes:
    """Tokens are looked up by hash, so that timing reveals nothing about them."""
    return hashlib.sha256(token.encode()).digest()
