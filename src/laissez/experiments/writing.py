"""What was found, as files: for each experiment a figure as SVG and PNG, the rows behind it as CSV, and one list of all claims."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from laissez.experiments.findings import Claim, Findings
from laissez.experiments.style import PNG_DPI, styled

CLAIMS = "claims.json"


def write_findings(name: str, findings: Findings, folder: Path) -> None:
    """The figure and the rows. The same findings give the same bytes."""
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(findings.rows[0]) if findings.rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(findings.rows)
    if findings.draw is not None:
        with styled(name):
            figure = findings.draw()
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
            figure.savefig(folder / f"{name}.png", dpi=PNG_DPI, metadata={"Software": None})


def write_claims(claims: Sequence[Claim], folder: Path) -> None:
    encoded: Any = msgspec.json.format(msgspec.json.encode(claims), indent=2)
    (folder / CLAIMS).write_bytes(encoded + b"\n")
