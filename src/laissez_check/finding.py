"""What a crash test stops for."""

from __future__ import annotations


class Finding(Exception):
    """A promise that the service broke; the message says which one and how."""
