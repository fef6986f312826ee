"""Templates for tenants who do not want to trade: say what you want in a few numbers, and the
template answers the market for you.

`OnDemand` keeps a fixed number of nodes up to a high price, `Spot` up to a low one, `DeadlineJob`
finishes work in time as cheaply as it can, and `SloService` pays for replicas what missing them
would cost. Each is an `Application` like any other. `task` reads one from a YAML file.
"""

from laissez.tenants.templates.deadline import DeadlineJob
from laissez.tenants.templates.errors import TaskError, TemplateError
from laissez.tenants.templates.on_demand import OnDemand
from laissez.tenants.templates.slo import SloService
from laissez.tenants.templates.spot import Spot
from laissez.tenants.templates.template import Template

__all__ = [
    "DeadlineJob",
    "OnDemand",
    "SloService",
    "Spot",
    "TaskError",
    "Template",
    "TemplateError",
]
