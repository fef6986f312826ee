"""The command `laissez`: reads arguments, calls one package, prints. What a command does lives in
the package it belongs to.

The commands are listed in `app`, the exit codes in `errors`.
"""

from __future__ import annotations

from laissez.cli.app import app, main

__all__ = ["app", "main"]
