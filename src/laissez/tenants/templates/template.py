"""What all templates share: where they may run, how many nodes at most, and a state small enough to
be written down at every step.

The state holds only what was learned since the start. All that was asked for comes from the task
again, so a task that is changed while its runner is down takes effect when it is back.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from laissez.tenants.hooks import Application, Leaves, Wish
from laissez.tenants.templates.errors import TemplateError


class State(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="template"
):
    """What a template has learned; `start` is when its task began."""

    start: int


_State = TypeVar("_State", bound=State)


class Template(Application):
    """Runs on up to `nodes_max` nodes, each in any one of `scopes`, from `start` on."""

    def __init__(self, scopes: Wish, nodes_max: int, start: int = 0) -> None:
        if not scopes or not all(scopes):
            raise TemplateError(
                f"expected at least one scope, none of them empty, found {list(scopes)}"
            )
        if nodes_max < 1:
            raise TemplateError(f"expected one node or more, found {nodes_max}")
        self.scopes, self.nodes_max, self.start = scopes, nodes_max, start
        self._below = tuple(f"{scope}/" for scope in scopes)

    @abstractmethod
    def state(self) -> dict[str, object]:
        """What to write down so that `restore` can go on from here."""

    @abstractmethod
    def restore(self, state: Mapping[str, object]) -> None:
        """Go on from what `state` gave. Raises `TemplateError`, and changes nothing, if it is not a
        state of this template."""

    def probed(self, probe: str, number: float, now: int) -> None:
        """What a probe of the task printed. Raises `TemplateError` if it makes no sense."""
        raise TemplateError(f"expected no probe, found {probe}")

    def checkpointed(self, now: int) -> None:
        """All that is done is saved."""
        return

    def is_done(self, now: int) -> bool:
        """Whether nothing will ever be wanted again."""
        return False

    def is_usable(self, node: str) -> bool:
        """Whether it is, or lies below, one of the scopes."""
        return node.startswith(self._below) or node in self.scopes

    def usable(self, held: Leaves) -> int:
        """How many of `held` are where this runs."""
        return sum(map(self.is_usable, held))


def read_state(state: Mapping[str, object], form: type[_State]) -> _State:
    try:
        return msgspec.convert(dict(state), form)
    except (msgspec.ValidationError, TypeError) as error:
        raise TemplateError(f"expected a state as this template wrote it: {error}") from error


def begun(state: Mapping[str, object]) -> int:
    """When the task of a state began."""
    start = state.get("start")
    if type(start) is not int:
        raise TemplateError(f"expected a state with its start in microseconds, found {start!r}")
    return start


def checked(name: str, number: float, above: float = 0.0, most: float = math.inf) -> float:
    """`number`, if it is above one bound, not beyond the other, and finite."""
    if not above < number <= most or math.isinf(number):
        raise TemplateError(
            f"expected {name} above"
            f" {above:g}{'' if math.isinf(most) else f' and at most {most:g}'}, found {number}"
        )
    return number


def checked_duration(name: str, seconds: float) -> float:
    if not 0 <= seconds < math.inf:
        raise TemplateError(f"expected {name} from 0 seconds on, found {seconds}")
    return seconds
