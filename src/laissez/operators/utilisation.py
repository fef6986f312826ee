"""Utilisation: congestion of a subtree as a price. The fuller a row is beyond its target, the
dearer it gets.

It needs no telemetry: the market itself knows which leaves are leased. The pressure is 0 up to the
`target` share and 1 when every leaf that can be rented is. It pushes back on its own cause, so it
leans on floors that fall slowly (`fall_per_minute`): a tenant that leaves does not find the row
cheap again at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from laissez.operators.inframap import InfraMap
from laissez.operators.view import OperatorView


@dataclass(frozen=True, kw_only=True)
class Utilisation(InfraMap):
    target: Annotated[float, Meta(ge=0, le=0.99)] = 0.8

    def pressure(self, node: str, values: Mapping[str, float], view: OperatorView) -> float:
        return (view.share_leased(node) - self.target) / (1 - self.target)
