"""Templates for tenants who do not want to trade: describe the work in a few numbers, and the
template answers the market.

`OnDemand` keeps a fixed number of nodes up to a high price, `Spot` up to a low one, `DeadlineJob`
finishes work in time as cheaply as it can, and `SloService` pays for replicas what missing them
would cost. Each is an `Application` like any other. `task` reads one from a YAML file.
"""

from laissez.tenants.templates.deadline import DeadlineJob
from laissez.tenants.templates.fixed import OnDemand, Spot
from laissez.tenants.templates.slo import SloService
from laissez.tenants.templates.template import TaskError, Template, TemplateError

__all__ = [
    "DeadlineJob",
    "OnDemand",
    "SloService",
    "Spot",
    "TaskError",
    "Template",
    "TemplateError",
]
