"""The base of all templates: their scopes, the most nodes at once, and a state small enough to be
written to disk at every step.

The state has only facts learned since the start. The settings come from the task again, so a change
to a task takes effect when its runner is restarted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from laissez.tenants.hooks import Application, Leaves, Wish


class TemplateError(ValueError):
    """A template cannot use its input. The message has the expectation."""


class TaskError(TemplateError):
    """A task cannot be run. The message names the file, the line and the field."""


class State(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, tag_field="template"):
    """The facts that a template has learned since its task began at `start`."""

    start: int


class Template(Application):
    """Runs on up to `nodes_max` nodes, each in any one of `scopes`."""

    probe: ClassVar[str] = ""  # the name of the probe it listens to

    learned: State

    def __init__(self, scopes: Wish, nodes_max: int) -> None:
        if not scopes or not all(scopes):
            raise TemplateError(
                f"expected at least one scope, none of them empty, found {list(scopes)}"
            )
        if nodes_max < 1:
            raise TemplateError(f"expected one node or more, found {nodes_max}")
        self.scopes, self.nodes_max = scopes, nodes_max
        self._below = tuple(f"{scope}/" for scope in scopes)

    @property
    def start(self) -> int:
        return self.learned.start

    def state(self) -> dict[str, object]:
        """The state to store, from which `restore` can continue."""
        written: dict[str, object] = msgspec.to_builtins(self.learned)
        return written

    def restore(self, state: Mapping[str, object]) -> None:
        """Continue from a `state`. Another template's state is refused and changes nothing."""
        try:
            learned = msgspec.convert(dict(state), type(self.learned))
        except (msgspec.ValidationError, TypeError) as error:
            raise TemplateError(f"expected a state as this template wrote it: {error}") from error
        self.adopt(learned)

    def adopt(self, learned: State) -> None:
        """Continue from a state, unless it contradicts the task."""
        self.learned = learned

    def probed(self, probe: str, number: float, now: int) -> None:
        """Told the number of a probe. Raises `TemplateError` if it makes no sense."""
        if probe != self.probe:
            known = f"the probe {self.probe}" if self.probe else "no probe"
            raise TemplateError(f"expected {known}, found {probe}")
        self.told(number, now)

    def told(self, number: float, now: int) -> None:
        """Learn from the number of the template's own probe."""
        raise NotImplementedError

    def checkpointed(self, now: int) -> None:
        """Told that all work done is saved."""
        return

    def is_done(self, now: int) -> bool:
        """Whether the template will never want a node again."""
        return False

    def is_usable(self, node: str) -> bool:
        """Whether a node is one of the scopes or lies below one."""
        return node.startswith(self._below) or node in self.scopes

    def usable(self, held: Leaves) -> int:
        """The number of usable nodes among `held`."""
        return sum(map(self.is_usable, held))


def started(state: Mapping[str, object]) -> int:
    """The start of the task of a state."""
    start = state.get("start")
    if type(start) is not int:
        raise TemplateError(f"expected a state with its start in microseconds, found {start!r}")
    return start
