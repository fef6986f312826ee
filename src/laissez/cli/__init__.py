"""The command `laissez`: reads arguments, calls one package, prints. What a command does lives in the package it belongs to.

Exit codes: 0 all well, 1 a check failed or a difference was found, 2 it could not be run as asked.
"""

from __future__ import annotations

from laissez.cli.app import app, main

__all__ = ["app", "main"]
