"""A fork of the process, which works on the state as it was while the market goes on.

It keeps no file open but its end of a socket pair, not even the journal's lock. It does not outlive
its purpose: it is killed where the `with` ends before its work does, and ends by itself when its
time is over, also if the server is gone by then.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import traceback
from collections.abc import Callable
from typing import NoReturn, Self

FIRST_OWN_FILE, FILES_MAX = 3, 1 << 20  # after standard input, output and error
PIECE_BYTES = 1 << 16
FAILED = 1  # the exit status of a copy whose work raised something; it says what


class CopyFailed(Exception):
    """The copy ended before its work was done; `status` is its exit status, or less than 0 the
    signal that ended it."""

    def __init__(self, status: int, said: str) -> None:
        why = f": {said}" if said else ""
        super().__init__(f"the copy of the process ended with {status}{why}")
        self.status = status

    @property
    def took_too_long(self) -> bool:
        return self.status == -signal.SIGALRM


class Copy:
    """Forks at once; used in a `with`. `work` runs in the fork and may send its answer through the
    socket it gets."""

    def __init__(
        self, work: Callable[[socket.socket], None], within_s: float | None = None
    ) -> None:
        self._line, theirs = socket.socketpair()
        try:
            self._pid = os.fork()
        except OSError:
            self._line.close()
            theirs.close()
            raise
        if self._pid == 0:
            _work_and_end(work, theirs, within_s)
        theirs.close()
        self._line.setblocking(False)
        self._ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()
        if not self._ended:
            self.kill()
            os.waitpid(self._pid, 0)

    def kill(self) -> None:
        """`answer` raises `CopyFailed` then."""
        os.kill(self._pid, signal.SIGKILL)

    async def tell(self, message: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self._line, message)

    async def answer(self) -> bytes:
        """All that the fork sends until it ends; raises `CopyFailed` unless its work was done."""
        loop = asyncio.get_running_loop()
        said = bytearray()
        while piece := await loop.sock_recv(self._line, PIECE_BYTES):
            said += piece
        # The socket is closed by its end, so there is nothing to wait for.
        _, status = os.waitpid(self._pid, 0)  # noqa: ASYNC222
        self._ended = True
        code = os.waitstatus_to_exitcode(status)
        if code != 0:
            raise CopyFailed(code, said.decode(errors="replace") if code == FAILED else "")
        return bytes(said)


def _work_and_end(
    work: Callable[[socket.socket], None], line: socket.socket, within_s: float | None
) -> NoReturn:
    """In the fork. It ends here, whatever happens: nothing of the server may run twice."""
    status = FAILED
    try:
        gc.disable()
        # the event loop's: a signal would be written into whatever file gets its number next
        signal.set_wakeup_fd(-1)
        # The journal's lock must be free as soon as the server is gone, and connections closed.
        os.closerange(FIRST_OWN_FILE, line.fileno())
        os.closerange(line.fileno() + 1, FILES_MAX)
        os.nice(10)
        if within_s is not None:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, within_s)
        work(line)
        status = 0
    except BaseException:
        line.sendall(traceback.format_exc().encode(errors="replace"))
    finally:
        os._exit(status)
