"""Training with Sailor: its model of iteration time, its planner, and the adapter that bids for the
hardware that its plans could use.

`builtin` and `loading` give a profile; `planner` the best plan for a set of GPUs; `what_if` the
value of a node that could be bought or lost; `job` the progress of the training. `profiling` and
`pricing` are the adapter: all that ties this to the market.
"""

from laissez.tenants.sailor.builtin import builtin_profile
from laissez.tenants.sailor.hosts import HostLayout
from laissez.tenants.sailor.job import Job
from laissez.tenants.sailor.planner import Planner
from laissez.tenants.sailor.pricing import Sailor
from laissez.tenants.sailor.what_if import WhatIf

__all__ = ["HostLayout", "Job", "Planner", "Sailor", "WhatIf", "builtin_profile"]
