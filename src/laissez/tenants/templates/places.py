"""`resources`: where a task may run, as scopes of which any one will do.

    accelerators: H100                  also H100:1, {H100: 1, A100: 1} or [H100:1, A100:1]
    zone: zone-a                        optional: the level below the type

or, for other places, `scopes` alone:

    scopes: [h100/zone-a/rack1, a100]

Names of accelerators are those of the resource types in small letters. As in SkyPilot, several mean
that any one will do; all are alike here, so the order says nothing. A node is one leaf of the
cluster, and nothing in the market sells several leaves as one, so no more than one accelerator per
node can be asked for: ask for more nodes. What else SkyPilot knows is either refused, because the
task would not be run as written, or, where the hardware is what it is and the task runs all the
same, ignored with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from laissez.market.commands import ALTERNATIVES_MAX
from laissez.tenants.hooks import Wish
from laissez.tenants.templates import values
from laissez.tenants.templates.document import Field, Section

DEPTH_MAX: Final = 16  # names in a path; the market's own bound
IGNORED: Final = ("cpus", "memory", "disk_size", "disk_tier", "network_tier", "labels")
_SCOPES: Final = "say under `scopes` where it may run"
REFUSED: Final[Mapping[str, str]] = MappingProxyType(
    {
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
)
_ACCELERATOR: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,63})(?::([0-9.]+))?")
_SCOPE_NAME: Final = re.compile(r"(?!\.\.?$)[A-Za-z0-9._-]{1,64}")


def read_scopes(field: Field, warnings: list[str]) -> Wish:
    section = field.section(("accelerators", "zone", "scopes", *IGNORED), REFUSED)
    warnings += [
        f"{section.fields[name].path} is ignored: a node has what its hardware has"
        for name in IGNORED
        if name in section.fields
    ]
    listed = section.get("scopes")
    scopes = _accelerators(section) if listed is None else _listed(listed, section)
    if len(scopes) > ALTERNATIVES_MAX:
        raise field.error(f"expected at most {ALTERNATIVES_MAX} places, found {len(scopes)}")
    return scopes


def _listed(listed: Field, section: Section) -> Wish:
    for name in ("accelerators", "zone"):
        if other := section.get(name):
            raise other.error("cannot stand beside `scopes`, which say it all; keep one of the two")
    return _distinct(
        [
            (one, _scope(one))
            for one in _each(listed, "a scope such as h100/zone-a, or a list of them")
        ]
    )


def _scope(field: Field) -> str:
    path = values.text(field, "a scope such as h100/zone-a")
    names = path.split("/")
    if len(names) > DEPTH_MAX or not all(map(_SCOPE_NAME.fullmatch, names)):
        raise field.unlike(
            f"a scope such as h100/zone-a: up to {DEPTH_MAX} names of letters, digits, '.', '_' or"
            " '-', with slashes between"
        )
    return path


def _accelerators(section: Section) -> Wish:
    expected = "an accelerator such as H100, or several: {H100: 1, A100: 1}"
    field = section.need("accelerators", expected)
    zone = section.get("zone")
    below = "" if zone is None else "/" + values.name(zone, "the name of a zone")
    by_name = field.fields()
    if by_name is None:
        kinds = [(one, _kind(one, expected)) for one in _each(field, expected)]
    else:
        kinds = [
            (count, _counted(count, name, count.scalar("int", "float") or count.shown()))
            for name, count in by_name.items()
        ]
    if not kinds:
        raise field.error(f"expected {expected}, found none")
    return _distinct([(one, kind + below) for one, kind in kinds])


def _each(field: Field, expected: str) -> list[Field]:
    """The values of a list, or the one value there is."""
    several = field.items()
    if several == []:
        raise field.error(f"expected {expected}, found an empty list")
    return [field] if several is None else several


def _kind(field: Field, expected: str) -> str:
    match = _ACCELERATOR.fullmatch(values.text(field, expected))
    if match is None:
        raise field.unlike("an accelerator such as H100 or H100:1")
    return _counted(field, match[1], match[2] or "1")


def _counted(field: Field, name: str, count: str) -> str:
    """The resource type of an accelerator of which one is asked for."""
    if not _SCOPE_NAME.fullmatch(name):
        raise field.error(f"expected the name of an accelerator such as H100, found {name[:40]!r}")
    if count != "1":
        raise field.error(
            f"expected 1 accelerator per node, found {count}; a node is one leaf of the cluster, so"
            " ask for more `num_nodes` instead"
        )
    return name.lower()


def _distinct(found: list[tuple[Field, str]]) -> Wish:
    seen: set[str] = set()
    for field, scope in found:
        if scope in seen:
            raise field.error(f"expected each place once, found {scope} twice")
        seen.add(scope)
    return tuple(scope for _, scope in found)
