"""The report: one self-contained page with every claim and every figure.

A figure's SVG is part of the page (`inline`), so that clouds can be hidden and points can show
their texts. Numbers are written as in the terminal (`wording`).
"""

from laissez_experiments.report.page import render, write_report

__all__ = ["render", "write_report"]
