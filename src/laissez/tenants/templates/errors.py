"""What can be wrong with a template or a task written for one."""

from __future__ import annotations


class TemplateError(ValueError):
    """A template was given something it cannot work with; the message says what was expected and
    what was found."""


class TaskError(TemplateError):
    """A task that cannot be run; the message names the file, the line and the field."""
