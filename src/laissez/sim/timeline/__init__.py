"""The timeline of a run as an HTML page, and the files of the page."""

from laissez.sim.timeline.page import render, write_timeline

__all__ = ["render", "write_timeline"]
