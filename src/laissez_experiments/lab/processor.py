"""The processor's name, for speeds and reports."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Final

PROCESSORS: Final = Path("/proc/cpuinfo")


def processor() -> str:
    """Its name in Linux; on other systems its kind."""
    try:
        lines = PROCESSORS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [
        value.strip()
        for name, _, value in (line.partition(":") for line in lines)
        if name.strip() == "model name"
    ]
    return names[0] if names else platform.machine()
