"""A task as a YAML file in the manner of SkyPilot: what to run on (`resources`, `num_nodes`), on
which terms (`market`), and which commands tell the job about its nodes (`hooks`) and us about the
job (`probes`).

    name: finetune
    resources:
      accelerators: {H100: 1, A100: 1}
    num_nodes: 4
    market:
      template: deadline
      work_hours: 40
      speeds: {H100: 1, A100: 0.45}
      deadline: 24h
      on_demand_price: "6.88"
      budget: "250"
      max_price: "6.50"
    hooks:
      on_lease_start: ./start.sh
      on_limit_near: ./checkpoint.sh
      on_lease_end: ./stop.sh
      timeout: 60s
    probes:
      progress: ./progress.sh

`places` describes `resources`, `offers` describes `market`. A field of SkyPilot's that would change
what is run is refused with what to do instead; nothing is quietly left out. `setup` and `run` are
such fields: a node of ours starts when it is won and may be lost at any time, so what to do then is
said by the hooks. Whatever else is not known is refused too, for it may be a misspelling.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from laissez.market.commands import ORDERS_PER_TENANT_MAX
from laissez.tenants.hooks import Wish
from laissez.tenants.templates import values
from laissez.tenants.templates.document import Field, Section, parse
from laissez.tenants.templates.errors import TaskError
from laissez.tenants.templates.offers import Build, read_offer
from laissez.tenants.templates.places import read_scopes
from laissez.tenants.templates.template import Template, begun
from laissez.tenants.terms import Terms

SECTIONS: Final = ("name", "resources", "num_nodes", "market", "hooks", "probes")
TIMEOUT_S: Final = 60.0
_START: Final = "do it in `hooks.on_lease_start`"
REFUSED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "setup": _START,
        "run": _START,
        "workdir": "the hooks run where the task file is; " + _START,
        "file_mounts": _START,
        "volumes": _START,
        "envs": "set them in the commands of `hooks`",
        "secrets": "read them in the commands of `hooks`",
        "service": "choose `market.template: slo`",
        "event_callback": "use `hooks`",
        "config": "it is SkyPilot's own; leave it out",
        "experimental": "it is SkyPilot's own; leave it out",
    }
)
PROBE_OF: Final[Mapping[str, str]] = MappingProxyType({"progress": "deadline", "needed": "slo"})


class Hooks(msgspec.Struct, frozen=True):
    """Commands to run when a node comes, when its price nears its limit, and when it goes; each is
    ended after `timeout_s`."""

    on_lease_start: str | None = None
    on_limit_near: str | None = None
    on_lease_end: str | None = None
    timeout_s: float = TIMEOUT_S


class Probes(msgspec.Struct, frozen=True):
    """Commands that print one number: how much of the work is done (0 to 1), or how many replicas
    are needed."""

    progress: str | None = None
    needed: str | None = None


class Task(msgspec.Struct, frozen=True):
    """A task that has been read. `build` makes its application for a start; use `make`."""

    name: str
    scopes: Wish
    template: str
    build: Build
    terms: Terms
    hooks: Hooks
    probes: Probes
    warnings: tuple[str, ...]

    def make(self, now: int, state: Mapping[str, object] | None = None) -> Template:
        """The application, begun now, or gone on with from a `state` it gave before."""
        if state is None:
            return self.build(now)
        app = self.build(begun(state))
        app.restore(state)
        return app


def read_task(path: Path) -> Task:
    """The task in a file; raises `TaskError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError(f"{path}: expected a readable file in UTF-8, found: {error}") from error
    return parse_task(text, str(path), path.stem)


def parse_task(text: str, file: str = "task.yaml", stem: str = "task") -> Task:
    """The task in a text; `stem` is its name if it gives none."""
    section = parse(text, file).section(SECTIONS, REFUSED)
    warnings: list[str] = []
    scopes = read_scopes(section.need("resources", "a mapping that says where to run"), warnings)
    nodes = section.get("num_nodes")
    count = 1 if nodes is None else values.whole(nodes, 1, ORDERS_PER_TENANT_MAX)
    offer = read_offer(section.need("market", "a mapping that says on which terms"), scopes, count)
    return Task(
        name=_name(section, stem),
        scopes=scopes,
        template=offer.template,
        build=offer.build,
        terms=offer.terms,
        hooks=_hooks(section.get("hooks")),
        probes=_probes(section, offer.template, warnings),
        warnings=tuple(warnings),
    )


def _name(section: Section, stem: str) -> str:
    label = section.get("name")
    if label is not None:
        return values.name(label, "a name for the task")
    if not values.is_name(stem):
        raise section.absent(
            "name", f"a name for the task, since {stem[:40]!r}, from the file, cannot be one"
        )
    return stem


def _hooks(field: Field | None) -> Hooks:
    if field is None:
        return Hooks()
    events = ("on_lease_start", "on_limit_near", "on_lease_end")
    section = field.section((*events, "timeout"))
    timeout = section.get("timeout")
    commands = {
        name: values.command(section.fields[name]) for name in events if name in section.fields
    }
    return Hooks(
        **commands, timeout_s=TIMEOUT_S if timeout is None else values.duration_s(timeout, 1)
    )


def _probes(task: Section, template: str, warnings: list[str]) -> Probes:
    field = task.get("probes")
    given = {} if field is None else field.section(tuple(PROBE_OF)).fields
    for name, one in given.items():
        if PROBE_OF[name] != template:
            raise one.error(
                f"belongs to the template {PROBE_OF[name]}, and this task uses {template}; leave"
                " it out"
            )
    if not given:
        warnings += _WITHOUT_PROBE.get(template, ())
    return Probes(**{name: values.command(one) for name, one in given.items()})


_WITHOUT_PROBE: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "deadline": (
            (
                "without probes.progress, progress is estimated from market.work_hours, and the"
                " task ends when the estimate says so"
            ),
        ),
        "slo": ("without probes.needed, num_nodes replicas are needed all the time",),
    }
)
