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

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from laissez.config import ConfigError, Place, Reader, unknown
from laissez.tenants.hooks import Wish
from laissez.tenants.settings import AdapterSettings
from laissez.tenants.templates.document import parse
from laissez.tenants.templates.errors import TaskError
from laissez.tenants.templates.offers import TEMPLATES, Offer
from laissez.tenants.templates.places import Resources
from laissez.tenants.templates.template import Template, begun
from laissez.tenants.templates.values import NAME_PATTERN, Command, Interval, Name, Nodes

_START: Final = "do it in `hooks.on_lease_start`"
PROBE_OF: Final = {"progress": "deadline", "needed": "slo"}
_WITHOUT_PROBE: Final = {
    "deadline": (
        "without probes.progress, progress is estimated from market.work_hours, and the task ends"
        " when the estimate says so"
    ),
    "slo": "without probes.needed, num_nodes replicas are needed all the time",
}


class Hooks(msgspec.Struct, frozen=True, rename={"timeout_s": "timeout"}):
    """Commands to run when a node comes, when its price nears its limit, and when it goes; each is
    ended after `timeout_s`."""

    on_lease_start: Command | None = None
    on_limit_near: Command | None = None
    on_lease_end: Command | None = None
    timeout_s: Interval = Interval(60)


class Probes(msgspec.Struct, frozen=True):
    """Commands that print one number: how much of the work is done (0 to 1), or how many replicas
    are needed."""

    progress: Command | None = None
    needed: Command | None = None


class TaskFile(msgspec.Struct, frozen=True, kw_only=True):
    REFUSED: ClassVar[Mapping[str, str]] = {
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

    name: Name | None = None
    resources: Resources
    num_nodes: Nodes = 1
    market: Annotated[dict[str, Any], Meta(description="a table")]
    hooks: Hooks = Hooks()
    probes: Probes = Probes()


class Task(msgspec.Struct, frozen=True):
    """A task that has been read; `make` gives its application."""

    name: str
    scopes: Wish
    nodes: int
    template: str
    offer: Offer
    hooks: Hooks
    probes: Probes
    warnings: tuple[str, ...]
    told: Callable[[Place, str], str]

    @property
    def settings(self) -> AdapterSettings:
        return self.offer.settings

    def make(self, now: int, state: Mapping[str, object] | None = None) -> Template:
        """The application, begun now, or gone on with from a `state` it gave before."""
        try:
            app = self.offer.build(self.scopes, self.nodes, now if state is None else begun(state))
        except ConfigError as error:
            field, _, what = str(error).partition(": ")
            raise TaskError(self.told(("market", field), what)) from None
        if state is not None:
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
    reader, data = parse(text, file)
    document = reader.table((), TaskFile, data)
    reader.check(TaskError)
    assert document is not None
    scopes = document.resources.places()
    template, offer = _offer(reader, document, scopes)
    if document.name is None and not re.match(NAME_PATTERN, stem):
        reader.wrong(
            ("name",),
            f"expected a name for the task, since {stem[:40]!r}, from the file, cannot be one",
        )
    for probe in _given(document.probes):
        if PROBE_OF[probe] != template:
            reader.wrong(
                ("probes", probe),
                f"belongs to the template {PROBE_OF[probe]}, and this task uses {template}; leave"
                " it out",
            )
    reader.check(TaskError)
    assert offer is not None
    warnings = document.resources.warnings()
    if template in _WITHOUT_PROBE and not _given(document.probes):
        warnings.append(_WITHOUT_PROBE[template])
    return Task(
        name=document.name or stem,
        scopes=scopes,
        nodes=document.num_nodes,
        template=template,
        offer=offer,
        hooks=document.hooks,
        probes=document.probes,
        warnings=tuple(warnings),
        told=reader.told,
    )


def _given(probes: Probes) -> list[str]:
    return [name for name in PROBE_OF if getattr(probes, name) is not None]


def _offer(reader: Reader, document: TaskFile, scopes: Wish) -> tuple[str, Offer | None]:
    market = dict(document.market)
    template = market.pop("template", None)
    if not isinstance(template, str) or template not in TEMPLATES:
        reader.wrong(("market", "template"), unknown(template, TEMPLATES))
        return "", None
    offer = reader.table(("market",), TEMPLATES[template], market)
    if offer is not None:
        for line in offer.impossible(scopes, document.num_nodes):
            reader.wrong_inside(("market",), type(offer), line)
    return template, offer
