"""What can be wrong with a batch of samples or its run times."""

from __future__ import annotations


class ParabricksError(ValueError):
    """A number or a file that no batch can be run with; the message says which, and what was
    expected."""
