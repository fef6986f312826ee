"""A task as a YAML file in the manner of SkyPilot: the nodes to run on (`resources`, `num_nodes`),
the terms (`market`), the commands that tell the job about its nodes (`hooks`), and the commands
that tell the adapter about the job (`probes`).

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

`resources.py` describes `resources` and `specs.py` describes `market`. A field of SkyPilot's that
would change what runs is refused with a remedy; nothing is quietly left out. `setup` and `run` are
such fields: a node starts when it is won and may be lost at any time, so the hooks say what to do
then. Unknown fields are refused too, because they may be misspelt.
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
from laissez.tenants.templates.fields import NAME_PATTERN, Command, Interval, Name, Nodes
from laissez.tenants.templates.resources import Resources
from laissez.tenants.templates.specs import TEMPLATES, TemplateSpec
from laissez.tenants.templates.template import TaskError, Template, started

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
    """Commands to run when a node comes, when its price nears its limit, and when it goes. Each is
    killed after `timeout_s`."""

    on_lease_start: Command | None = None
    on_limit_near: Command | None = None
    on_lease_end: Command | None = None
    timeout_s: Interval = Interval(60)


class Probes(msgspec.Struct, frozen=True):
    """Commands that print one number: the share of work done, or the replicas needed."""

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
    """A task as read from its file. `make` builds its application."""

    name: str
    scopes: Wish
    nodes: int
    template: str
    spec: TemplateSpec
    hooks: Hooks
    probes: Probes
    warnings: tuple[str, ...]
    located: Callable[[Place, str], str]  # a mistake with its file, line and field

    @property
    def settings(self) -> AdapterSettings:
        return self.spec.settings

    def make(self, now: int, state: Mapping[str, object] | None = None) -> Template:
        """The application, started now or continued from a `state` that it gave before."""
        try:
            app = self.spec.build(self.scopes, self.nodes, now if state is None else started(state))
        except ConfigError as error:
            field, _, what = str(error).partition(": ")
            raise TaskError(self.located(("market", field), what)) from None
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
    """The task in a text; `stem` names it if the text does not."""
    reader, data = parse(text, file)
    document = reader.table((), TaskFile, data)
    reader.check(TaskError)
    assert document is not None
    scopes = document.resources.places()
    template, spec = _spec(reader, document, scopes)
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
    assert spec is not None
    warnings = document.resources.warnings()
    if template in _WITHOUT_PROBE and not _given(document.probes):
        warnings.append(_WITHOUT_PROBE[template])
    return Task(
        name=document.name or stem,
        scopes=scopes,
        nodes=document.num_nodes,
        template=template,
        spec=spec,
        hooks=document.hooks,
        probes=document.probes,
        warnings=tuple(warnings),
        located=reader.told,
    )


def _given(probes: Probes) -> list[str]:
    return [name for name in PROBE_OF if getattr(probes, name) is not None]


def _spec(reader: Reader, document: TaskFile, scopes: Wish) -> tuple[str, TemplateSpec | None]:
    market = dict(document.market)
    template = market.pop("template", None)
    if not isinstance(template, str) or template not in TEMPLATES:
        reader.wrong(("market", "template"), unknown(template, TEMPLATES))
        return "", None
    spec = reader.table(("market",), TEMPLATES[template], market)
    if spec is not None:
        for line in spec.mistakes(scopes, document.num_nodes):
            reader.wrong_inside(("market",), type(spec), line)
    return template, spec
