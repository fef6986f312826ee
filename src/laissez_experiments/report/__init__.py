"""The report: one page with every claim, and every figure with what it shows, that needs nothing
but itself.

A figure's SVG is put into the page (`inline`) so that its clouds can be hidden and its points asked
who they are. Numbers are written here as they are in the terminal (`wording`).
"""

from laissez_experiments.report.page import render, write_report

__all__ = ["render", "write_report"]
