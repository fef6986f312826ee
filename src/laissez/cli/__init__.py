"""The command `laissez`: reads arguments, calls one package, prints. The logic of a command is in
the package that it calls.

The commands are listed in `app`, the exit codes in `errors`.
"""

from __future__ import annotations

from laissez.cli.app import app, main

__all__ = ["app", "main"]
