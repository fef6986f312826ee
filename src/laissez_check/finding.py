"""A broken promise, and the outcome of a check."""

from __future__ import annotations

from typing import Any

import msgspec


class Finding(Exception):
    """A promise that the service broke; the message says which one and how."""


class Outcome(msgspec.Struct, frozen=True):
    """How far a check came, in numbers; the first failure with the command that repeats it; and
    details for programs."""

    counted: dict[str, int]
    failure: str | None = None
    details: dict[str, Any] = {}
