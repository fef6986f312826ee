"""`resources`: where a task may run, as scopes of which any one will do.

    accelerators: H100                  also H100:1, {H100: 1, A100: 1} or [H100:1, A100:1]
    zone: zone-a                        optional: the level below the type

or, for other places, `scopes` alone:

    scopes: [h100/zone-a/rack1, a100]

Names of accelerators are those of the resource types in small letters. As in SkyPilot, several mean
that any one will do; their order means nothing. A node is one leaf of the cluster, and the market
sells leaves one by one, so a task asks for more nodes instead of several accelerators per node.
SkyPilot's other fields are refused if the task would not run as written, and ignored with a warning
if it runs all the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import msgspec

from laissez.config import ConfigError, Scalar, shown
from laissez.market.commands import ALTERNATIVES_MAX
from laissez.tenants.hooks import Wish
from laissez.tenants.templates.fields import Name

DEPTH_MAX: Final = 16  # names in a path, as in the market
IGNORED: Final = ("cpus", "memory", "disk_size", "disk_tier", "network_tier", "labels")
_SCOPES: Final = "say under `scopes` where it may run"
_ACCELERATOR: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,63})(?::([0-9.]+))?")
_NAME: Final = r"(?!\.\.?(?:/|\Z))[A-Za-z0-9._-]{1,64}"
_SCOPE: Final = re.compile(rf"{_NAME}(?:/{_NAME}){{0,{DEPTH_MAX - 1}}}")


class Accelerators(tuple[str, ...]):
    """The resource types of accelerators, one accelerator of each."""

    __slots__ = ()
    expected: ClassVar = "an accelerator such as H100, or several: {H100: 1, A100: 1}"

    @classmethod
    def of(cls, found: object) -> Accelerators:
        if isinstance(found, Mapping):
            return cls(_kind(name, count) for name, count in found.items())
        kinds = []
        for one in found if isinstance(found, list) else [found]:
            match = _ACCELERATOR.fullmatch(_text(one))
            if match is None:
                raise ConfigError(f"expected {cls.expected}, found {shown(one)}")
            kinds.append(_kind(match[1], match[2] or "1"))
        return cls(kinds)


class Scopes(tuple[str, ...]):
    """One scope or several."""

    __slots__ = ()

    @classmethod
    def of(cls, found: object) -> Scopes:
        several = found if isinstance(found, list) else [found]
        for one in several:
            if not _SCOPE.fullmatch(_text(one)):
                raise ConfigError(
                    f"expected a scope such as h100/zone-a: up to {DEPTH_MAX} names of letters,"
                    f" digits, '.', '_' or '-', with slashes between, found {shown(one)}"
                )
        return cls(map(_text, several))


class Resources(msgspec.Struct, frozen=True, kw_only=True):
    REFUSED: ClassVar[Mapping[str, str]] = {
        "cloud": "there is one market; " + _SCOPES,
        "infra": "there is one market; " + _SCOPES,
        "region": _SCOPES,
        "instance_type": "name the accelerators instead",
        "accelerator_args": "name the accelerators alone",
        "use_spot": "choose `market.template: spot`",
        "spot_recovery": "choose a template that asks again: all do",
        "job_recovery": "choose a template that asks again: all do",
        "max_hourly_cost": "set `market.max_price`",
        "image_id": "start the image from `hooks.on_lease_start`",
        "ports": "open them from `hooks.on_lease_start`",
        "autostop": "nodes are given up when the template needs them no longer",
        "any_of": "list several `accelerators` or `scopes`",
        "ordered": "list several `accelerators` or `scopes`; the market decides by price",
    }

    accelerators: Accelerators | None = None
    zone: Name | None = None
    scopes: Scopes | None = None
    cpus: Any = None
    memory: Any = None
    disk_size: Any = None
    disk_tier: Any = None
    network_tier: Any = None
    labels: Any = None

    def __post_init__(self) -> None:
        places = self.places()
        for field in ("accelerators", "zone"):
            if self.scopes is not None and getattr(self, field) is not None:
                raise ConfigError(
                    f"{field}: cannot stand beside `scopes`, which say it all; keep one of the two"
                )
        if not places:
            raise ConfigError(f"accelerators: expected {Accelerators.expected}, found none")
        if len(places) > ALTERNATIVES_MAX:
            raise ConfigError(f"expected at most {ALTERNATIVES_MAX} places, found {len(places)}")
        for place in places:
            if places.count(place) > 1:
                raise ConfigError(f"expected each place once, found {place} twice")

    def places(self) -> Wish:
        if self.scopes is not None:
            return tuple(self.scopes)
        below = "" if self.zone is None else f"/{self.zone}"
        return tuple(kind + below for kind in self.accelerators or ())

    def warnings(self) -> list[str]:
        return [
            f"resources.{name} is ignored: a node has what its hardware has"
            for name in IGNORED
            if getattr(self, name) is not None
        ]


def _text(found: object) -> str:
    """The text of a YAML scalar; empty if YAML reads something else."""
    plain = found.plain if isinstance(found, Scalar) else None
    return plain if isinstance(plain, str) else ""


def _kind(name: str, count: object) -> str:
    if not re.fullmatch(_NAME, name):
        raise ConfigError(f"expected the name of an accelerator such as H100, found {name[:40]!r}")
    if count != "1":
        raise ConfigError(
            f"expected 1 accelerator per node, found {shown(count)} of {name}; ask for more"
            " `num_nodes` instead"
        )
    return name.lower()
