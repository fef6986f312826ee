"""The log of a world. It reveals bugs that no answer shows. It may report failures only while the
disk fails.

Other handlers get the records, too, such as the tests' watch for secrets and prices.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from laissez_check.simulated.loop import PROCESS

FRAMES_SHOWN = 6


class Logbook(logging.Handler):
    def __init__(self, breaks: Callable[[str], None], may_fail: Callable[[], bool]) -> None:
        """`may_fail` tells whether the disk fails, or failed in this life of the service."""
        super().__init__(logging.ERROR)
        self._breaks = breaks
        self._may_fail = may_fail

    def emit(self, record: logging.LogRecord) -> None:
        process = PROCESS.get()
        # A dead process sees its end as an error. No user would read that.
        if process is not None and process.is_dead:
            return
        if record.exc_info and record.exc_info[1] is not None:
            seen = "".join(traceback.format_exception(record.exc_info[1])[-FRAMES_SHOWN:])
            self._breaks(
                f"B1: the log of {record.name} tells of a bug:"
                f" {record.getMessage().strip()}\n{seen}"
            )
        elif not self._may_fail():
            self._breaks(
                f"B1: the log of {record.name} tells of a failure, and the disk is well:"
                f" {record.getMessage()}"
            )

    @contextmanager
    def kept(self) -> Iterator[None]:
        root = logging.getLogger()
        root.addHandler(self)
        try:
            yield
        finally:
            root.removeHandler(self)


@contextmanager
def silence() -> Iterator[None]:
    """Drop the log while a dead process is buried: its code logs that it ends."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
