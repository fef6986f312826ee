"""Watches the whole run for leaks: secrets in the log of this process, in its problems and metrics,
or in the standard error of processes that tests start; and prices in any service's log, which must
hold none.

Secrets of this process are known, because their random part is recorded when it is drawn. Secrets
of other processes are recognised by their form, prices by the name beside them. Other tests look
for other tenants' prices in problems and metrics: `test_secrecy.py`, and `laissez check access` on
a real server.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import subprocess
from collections.abc import Callable
from typing import Any

# 32 bytes in base64: the random part of a key, or the whole token of a sign-in
RANDOM_CHARACTERS = 43
RUN = re.compile(r"[\w-]{43,}")
FORMS = re.compile(r"lz_[0-9a-f]{16}_[\w-]{43}|laissez_signin\w*=[\w-]{43}|whsec_[\w+/=-]{20,}")
LOGGERS = ("laissez", "asyncio")
PRICE = re.compile(
    r"(?<!\w)(?:bid|limit|price|max_price|rate|worst_rate|floor|amount|charged?|cost|spent)[\"']?\s*[=:]\s*b?[\"']?\$?\d"
)
# loggers of the service; tenants may log what they pay
SERVICE = r"laissez\.(?!client|sample)|asyncio"
LINE = re.compile(rf"\d{{4}}-\d\d-\d\dT[\d:.]+Z \w+ +(?:{SERVICE})|\"logger\":\"(?:{SERVICE})")
SERVERS = ("serve", "up")


class Watch(logging.Handler):
    """The secrets drawn, and the leaks found."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.drawn: set[str] = set()
        self.found: list[str] = []
        # error logs of processes, kept open for reading because they may be removed
        self._logs: dict[tuple[int, int], int] = {}

    # -- watching

    def begin(self) -> None:
        """Watch for the rest of this process."""
        secrets.token_urlsafe = self.remembering(secrets.token_urlsafe)  # type: ignore[assignment]
        subprocess.Popen.__init__ = self._noting(subprocess.Popen.__init__)  # type: ignore[method-assign]
        subprocess.Popen.communicate = self._hearing(subprocess.Popen.communicate)  # type: ignore[method-assign]
        for name in LOGGERS:
            logging.getLogger(name).addHandler(self)
        logging.getLogger("laissez").setLevel(logging.DEBUG)

    def begin_with_the_service(self) -> None:
        """Begin this later: importing the market before coverage starts would miss some of its
        branches."""
        from laissez.server.metrics import Metrics
        from laissez.wire.problems import ProblemError

        ProblemError.__init__ = self._reading(ProblemError.__init__)  # type: ignore[method-assign]
        Metrics.render = self._scraping(Metrics.render)  # type: ignore[method-assign]

    def remembering(self, draw: Callable[[int | None], str]) -> Callable[[int | None], str]:
        def drawn(nbytes: int | None = None) -> str:
            token = draw(nbytes)
            self.drawn.add(token)
            return token

        return drawn

    def _noting(self, begin: Callable[..., None]) -> Callable[..., None]:
        def begun(process: subprocess.Popen[Any], *arguments: Any, **named: Any) -> None:
            if named.get("stderr") is subprocess.DEVNULL and not set(SERVERS).isdisjoint(
                map(str, arguments[0] if arguments else ())
            ):
                self.found.append(f"nobody watches the log of {arguments[0]!r}")
            self.note_file(named.get("stderr"))
            begin(process, *arguments, **named)

        return begun

    def _hearing(self, communicate: Callable[..., Any]) -> Callable[..., Any]:
        def heard(process: subprocess.Popen[Any], *arguments: Any, **named: Any) -> Any:
            said = communicate(process, *arguments, **named)
            errors = said[1] or ""
            self.look(
                errors if isinstance(errors, str) else errors.decode(errors="replace"),
                f"standard error of {process.args!r}",
            )
            return said

        return heard

    def _reading(self, make: Callable[..., None]) -> Callable[..., None]:
        def made(problem: Any, code: str, detail: str, *more: Any, **named: Any) -> None:
            # it may repeat a caller's own text that is not a key
            self.look(detail, f"a problem, {code}", known_by_form=False)
            make(problem, code, detail, *more, **named)

        return made

    def _scraping(self, render: Callable[..., bytes]) -> Callable[..., bytes]:
        def rendered(metrics: Any, *arguments: Any, **named: Any) -> bytes:
            figures = render(metrics, *arguments, **named)
            self.look(figures.decode(), "the figures")
            return figures

        return rendered

    def note_file(self, file: Any) -> None:
        if hasattr(file, "fileno"):
            kept = os.fstat(file.fileno())
            if (kept.st_dev, kept.st_ino) not in self._logs:
                self._logs[kept.st_dev, kept.st_ino] = os.open(
                    f"/proc/self/fd/{file.fileno()}", os.O_RDONLY | os.O_CLOEXEC
                )

    # -- findings

    def emit(self, record: logging.LogRecord) -> None:
        said = f"{record.getMessage()} {record.__dict__}"
        where = f"the log of {record.name}"
        self.look(
            said
            if record.exc_info is None
            else said + logging.Formatter().formatException(record.exc_info),
            where,
        )
        if re.match(SERVICE, record.name) and PRICE.search(said):
            self.found.append(f"{where}, a price: {said[:400]}")

    def look(self, text: str, where: str, known_by_form: bool = True) -> None:
        for line in text.splitlines():
            if self._was_drawn(line) or (known_by_form and _looks_so(line)):
                self.found.append(f"{where}: {line[:400]}")

    def _was_drawn(self, line: str) -> bool:
        windows = (
            run[at : at + RANDOM_CHARACTERS]
            for run in RUN.findall(line)
            for at in range(len(run) - RANDOM_CHARACTERS + 1)
        )
        return any(window in self.drawn for window in windows)

    def look_into_files(self) -> None:
        """Search everything written since the last look."""
        for file in self._logs.values():
            pieces = iter(lambda file=file: os.read(file, 1 << 20), b"")  # type: ignore[misc]
            self.look(b"".join(pieces).decode(errors="replace"), "the log of a process")

    def new_findings(self) -> list[str]:
        found, self.found = self.found, []
        return found


def _looks_so(line: str) -> bool:
    return FORMS.search(line) is not None or (
        PRICE.search(line) is not None and LINE.search(line) is not None
    )


WATCH = Watch()
