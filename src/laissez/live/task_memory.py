"""What the runner of a task must not forget: which leases the user's hooks were told of, up to
which event, and what the task knows about its progress.
"""

from __future__ import annotations

from typing import Any

import msgspec


class TaskMemory(msgspec.Struct, forbid_unknown_fields=True):
    """`leases` are those whose start was told to the hooks, by id; `spent_before` is what the
    tenant owed when the task began, in micro-dollars.

    `application` is empty until the task has been seen running once.
    """

    task: str
    tenant: str
    url: str
    started_at: int
    spent_before: int = 0
    last_event: int | None = None
    leases: dict[str, str] = {}
    application: dict[str, Any] = {}
