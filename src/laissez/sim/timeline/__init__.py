"""A run as one self-contained HTML page: the holder and the price of every GPU over time.

`data` is the data of a run, and `page` fills it into the template beside it: `page.html`,
`page.css` and the parts of the script.
"""

from laissez.sim.timeline.page import render, write_timeline

__all__ = ["render", "write_timeline"]
