"""The log of a world. What a bug leaves there is found, though every answer may have been well; a
fault of the disk is to be told there.

Records also go to whoever else listens, such as the tests' watch for secrets and prices.
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
        """`may_fail` says whether the disk fails, or has failed in this life of the service."""
        super().__init__(logging.ERROR)
        self._breaks = breaks
        self._may_fail = may_fail

    def emit(self, record: logging.LogRecord) -> None:
        process = PROCESS.get()
        # it sees its end as an error, and reaches nobody any more
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
    """While a dead process is buried: what is left of its code logs that it ends, and nobody would
    ever read that."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
