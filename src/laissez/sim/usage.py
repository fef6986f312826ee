"""What became of the time that nodes were held: every node-microsecond is in exactly one
account."""

from __future__ import annotations

import msgspec


class Usage(msgspec.Struct):
    """Node-microseconds. `lost` is work that was done and had to be done again; `surplus` is a node
    that was there and not needed."""

    useful: int = 0
    reconfiguring: int = 0
    lost: int = 0
    surplus: int = 0

    @property
    def held(self) -> int:
        return self.useful + self.reconfiguring + self.lost + self.surplus

    def lose(self, work: int) -> None:
        """That much of the useful work was for nothing."""
        self.useful -= work
        self.lost += work
