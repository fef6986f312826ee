"""A run to look at: one HTML page, in a file that needs nothing else, that shows who held what, at
which price, over time.

`data` is what the page knows of the run, `page` puts it into the template beside it: `page.html`,
`page.css` and the parts of the script.
"""

from laissez.sim.timeline.page import render, write_timeline

__all__ = ["render", "write_timeline"]
