"""Watches the whole run for secrets that get out: into the log of this process, or into what the processes that tests start say on standard error.

A secret of this process is known because its random part is remembered when it is drawn; those of other processes are known by their form.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import subprocess
from collections.abc import Callable
from typing import Any

RANDOM_CHARACTERS = 43  # of 32 bytes in base64: the random part of a key, and the whole token of a sign-in
RUN = re.compile(r"[\w-]{43,}")
FORMS = re.compile(r"lz_[0-9a-f]{16}_[\w-]{43}|laissez_signin\w*=[\w-]{43}|whsec_[\w+/=-]{20,}")
LOGGERS = ("laissez", "uvicorn", "asyncio")


class Watch(logging.Handler):
    """What was drawn, and what of it was found where it must not be."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.drawn: set[str] = set()
        self.found: list[str] = []
        self._logs: dict[tuple[int, int], int] = {}  # files that processes write their errors to, open for reading though they may be removed

    # -- what is watched

    def begin(self) -> None:
        """For the rest of this process."""
        secrets.token_urlsafe = self.remembering(secrets.token_urlsafe)  # type: ignore[assignment]
        subprocess.Popen.__init__ = self._noting(subprocess.Popen.__init__)  # type: ignore[method-assign]
        subprocess.Popen.communicate = self._hearing(subprocess.Popen.communicate)  # type: ignore[method-assign]
        for name in LOGGERS:
            logging.getLogger(name).addHandler(self)
        logging.getLogger("laissez").setLevel(logging.DEBUG)

    def remembering(self, draw: Callable[[int | None], str]) -> Callable[[int | None], str]:
        def drawn(nbytes: int | None = None) -> str:
            token = draw(nbytes)
            self.drawn.add(token)
            return token

        return drawn

    def _noting(self, begin: Callable[..., None]) -> Callable[..., None]:
        def begun(process: subprocess.Popen[Any], *arguments: Any, **named: Any) -> None:
            self.note_file(named.get("stderr"))
            begin(process, *arguments, **named)

        return begun

    def _hearing(self, communicate: Callable[..., Any]) -> Callable[..., Any]:
        def heard(process: subprocess.Popen[Any], *arguments: Any, **named: Any) -> Any:
            said = communicate(process, *arguments, **named)
            errors = said[1] or ""
            self.look(errors if isinstance(errors, str) else errors.decode(errors="replace"), f"standard error of {process.args!r}")
            return said

        return heard

    def note_file(self, file: Any) -> None:
        if hasattr(file, "fileno"):
            kept = os.fstat(file.fileno())
            if (kept.st_dev, kept.st_ino) not in self._logs:
                self._logs[kept.st_dev, kept.st_ino] = os.open(f"/proc/self/fd/{file.fileno()}", os.O_RDONLY | os.O_CLOEXEC)

    # -- what is found

    def emit(self, record: logging.LogRecord) -> None:
        said = f"{record.getMessage()} {record.__dict__}"
        self.look(said if record.exc_info is None else said + logging.Formatter().formatException(record.exc_info), f"the log of {record.name}")

    def look(self, text: str, where: str) -> None:
        for line in text.splitlines():
            if self._tells(line):
                self.found.append(f"{where}: {line[:400]}")

    def _tells(self, line: str) -> bool:
        if FORMS.search(line):
            return True
        windows = (run[at : at + RANDOM_CHARACTERS] for run in RUN.findall(line) for at in range(len(run) - RANDOM_CHARACTERS + 1))
        return any(window in self.drawn for window in windows)

    def look_into_files(self) -> None:
        """What was written since the last look."""
        for file in self._logs.values():
            pieces = iter(lambda file=file: os.read(file, 1 << 20), b"")  # type: ignore[misc]
            self.look(b"".join(pieces).decode(errors="replace"), "the log of a process")

    def new_findings(self) -> list[str]:
        found, self.found = self.found, []
        return found


WATCH = Watch()
