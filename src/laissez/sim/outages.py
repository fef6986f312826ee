"""Which leaves are offline, and why. A leaf may be so for several reasons at once, and is back when
none is left."""

from __future__ import annotations

from collections.abc import Iterable

from laissez.sim.clouds.cloud import Cloud


class Outages:
    """All that takes leaves offline in a run goes through here, so that a host's repair does not
    end a maintenance."""

    def __init__(self, cloud: Cloud, leaves: Iterable[str], reason: str) -> None:
        """`leaves` are offline in the cloud already, for that reason."""
        self._cloud = cloud
        self._reasons: dict[str, set[str]] = {leaf: {reason} for leaf in leaves}

    @property
    def offline(self) -> frozenset[str]:
        return frozenset(self._reasons)

    def begin(self, reason: str, leaf: str) -> None:
        if leaf in self._reasons:
            self._reasons[leaf].add(reason)
            return
        self._reasons[leaf] = {reason}
        self._cloud.take_offline(leaf)

    def end(self, reason: str, leaf: str) -> None:
        reasons = self._reasons.get(leaf, set())
        if reason in reasons:
            reasons.remove(reason)
            if not reasons:
                del self._reasons[leaf]
                self._cloud.bring_online(leaf)
