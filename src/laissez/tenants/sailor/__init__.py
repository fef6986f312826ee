"""Training with Sailor: its model of iteration time, its planner, and the adapter that bids for the
hardware its plans could use.

`builtin` and `loading` give a profile; `planner` the best plan for a set of GPUs; `shadow` what
could be bought or lost; `job` how far the training is. `profiling` and `pricing` are the adapter:
all that ties this to the market.
"""

from laissez.tenants.sailor.builtin import builtin_profile
from laissez.tenants.sailor.job import Job
from laissez.tenants.sailor.planner import Planner
from laissez.tenants.sailor.pricing import Sailor
from laissez.tenants.sailor.shadow import Shadow
from laissez.tenants.sailor.site import Site

__all__ = ["Job", "Planner", "Sailor", "Shadow", "Site", "builtin_profile"]
