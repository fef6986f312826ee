"""The processor's name: what a speed was measured on, and where a report was made."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Final

PROCESSORS: Final = Path("/proc/cpuinfo")


def processor() -> str:
    """As Linux names it; where the system does not tell, its kind."""
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
