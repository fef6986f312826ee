"""What stands in the market and its questions do not tell: the floors and controls that the operator has set, and the fees of a tenant.

The one place of the service that looks inside the market. It only reads.
"""

from __future__ import annotations

from collections.abc import Iterator

from laissez.market import Market
from laissez.market.commands import Band
from laissez.market.controls import Controls as Setting
from laissez.market.node import Node
from laissez.market.tenant import Fee
from laissez.service.telling import band, price, seconds
from laissez.wire.views import Controls, Floor


def floors(market: Market) -> Iterator[Floor]:
    """Every node with a floor of its own, in path order."""
    return (Floor(node.path, price(node.floor), price(node.highest_floor())) for node in _nodes(market) if node.floor)


def controls(market: Market) -> Iterator[Controls]:
    """Every node with controls of its own, in path order."""
    return (_controls(node.path, node.controls) for node in _nodes(market) if node.controls is not None)


def fees(market: Market, tenant: str) -> list[Fee]:
    """All that the books hold, also one that begins this very instant, which no bill shows yet."""
    known = market._state.tenants.get(tenant)
    return [] if known is None else known.fees


def _nodes(market: Market) -> Iterator[Node]:
    return iter(market._state.forest.by_path.values())  # laid out in path order


def _controls(path: str, setting: Setting) -> Controls:
    rise = Band(setting.rise_ppm, setting.rise_interval) if setting.rise_interval else None
    fall = Band(setting.fall_ppm, setting.fall_interval) if setting.fall_interval else None
    return Controls(path, band(rise), band(fall), seconds(setting.hold or None), seconds(setting.flash or None))
