"""Findings as files: for each experiment a figure as SVG and PNG, and the rows behind it as CSV."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import msgspec

from laissez_experiments.lab.findings import Findings
from laissez_experiments.lab.style import PNG_DPI, styled


def write_findings(name: str, findings: Findings, folder: Path) -> list[str]:
    """Write the figure and the rows, and return the names of the files. The same findings give the
    same bytes."""
    written = [f"{name}.csv"]
    with (folder / written[0]).open("w", encoding="utf-8", newline="") as file:
        names = list(findings.rows[0]) if findings.rows else []
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(findings.rows)
    if findings.draw is not None:
        written += [f"{name}.svg", f"{name}.png"]
        with styled(name):
            figure = findings.draw()
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
            figure.savefig(folder / f"{name}.png", dpi=PNG_DPI, metadata={"Software": None})
    return written


def write_json(value: object, path: Path) -> None:
    """For people to read, too."""
    encoded: Any = msgspec.json.format(msgspec.json.encode(value), indent=2)
    path.write_bytes(encoded + b"\n")
