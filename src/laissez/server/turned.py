"""A request that the exchange turns away by itself, before the market is asked."""

from __future__ import annotations

from laissez.server.outcomes import Refusal


class Turned(Exception):
    """Raised and caught inside the exchange, before anything is changed."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.refusal = Refusal(str(code), detail)
