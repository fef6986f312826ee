"""The log: a line per event, as text or as JSON; no keys, no bodies, no prices."""

from __future__ import annotations

import logging
import sys

import msgspec

from laissez.server.settings import Server as LogSettings
from laissez.units import format_time

_STANDARD = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}


def fields_of(record: logging.LogRecord) -> dict[str, object]:
    """The fields that the caller added with `extra`."""
    return {name: value for name, value in vars(record).items() if name not in _STANDARD}


class TextLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        extra = "".join(f" {name}={value}" for name, value in fields_of(record).items())
        line = (
            f"{format_time(round(record.created * 1e6))} {record.levelname.lower():7}"
            f" {record.name}: {record.getMessage()}{extra}"
        )
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": format_time(round(record.created * 1e6)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **fields_of(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()


def set_up_log(settings: LogSettings) -> None:
    writer = logging.StreamHandler(sys.stderr)
    writer.setFormatter(JsonLines() if settings.log_format == "json" else TextLines())
    root = logging.getLogger()
    root.handlers[:] = [writer]
    root.setLevel(settings.log_level.upper())
