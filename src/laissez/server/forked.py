"""A fork of the process. It works on the state at one moment while the market goes on.

The fork closes all files except its end of a socket pair, even the journal's lock. It is killed if
the `with` block ends before its work does. A timer ends it too, so that it does not outlive a
server that is gone.
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
FAILED = 1  # exit status of a copy whose work raised an error, which it sends


class CopyFailed(Exception):
    """The copy ended before its work was done. `status` is its exit status, or below 0 the signal
    that ended it."""

    def __init__(self, status: int, said: str) -> None:
        why = f": {said}" if said else ""
        super().__init__(f"the copy of the process ended with {status}{why}")
        self.status = status

    @property
    def took_too_long(self) -> bool:
        return self.status == -signal.SIGALRM


class Copy:
    """Forks at once; use it in a `with` block. `work` runs in the fork and may send an answer
    through its socket."""

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
        """Kill the fork; `answer` then raises `CopyFailed`."""
        os.kill(self._pid, signal.SIGKILL)

    async def tell(self, message: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self._line, message)

    async def answer(self) -> bytes:
        """Everything that the fork sends until it ends. Raises `CopyFailed` unless its work was
        done."""
        loop = asyncio.get_running_loop()
        said = bytearray()
        while piece := await loop.sock_recv(self._line, PIECE_BYTES):
            said += piece
        # The fork's end closed the socket, so this does not block.
        _, status = os.waitpid(self._pid, 0)  # noqa: ASYNC222
        self._ended = True
        code = os.waitstatus_to_exitcode(status)
        if code != 0:
            raise CopyFailed(code, said.decode(errors="replace") if code == FAILED else "")
        return bytes(said)


def _work_and_end(
    work: Callable[[socket.socket], None], line: socket.socket, within_s: float | None
) -> NoReturn:
    """Runs in the fork, which always ends here: no code of the server may run twice."""
    status = FAILED
    try:
        gc.disable()
        # the event loop's descriptor: a signal would be written into the next file with its number
        signal.set_wakeup_fd(-1)
        # Otherwise the journal's lock and all connections would stay open after the server's end.
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
