"""The tenants' side: adapters that turn what an application knows about itself into bids, limits
and leases given up.

Here belong the hooks that an application implements (`Application`), the adapter that trades for it
(`EconAdapter`), the applications of the paper (`dynamo`, `sailor`, `parabricks`), and templates for
tenants who do not want to trade (`templates`). All of it is pure: a view goes in, commands come
out, and the time is in the view. `laissez.live` speaks to servers and `laissez.sim` simulates.
"""

from laissez.tenants.adapter import EconAdapter
from laissez.tenants.deadline import Deadline
from laissez.tenants.hooks import Application, HookError, Leaves, ProgressApplication, Wish
from laissez.tenants.pricing import grow_price, keep_price, move_price
from laissez.tenants.settings import AdapterSettings
from laissez.tenants.view import Held, Resting, TenantView

__all__ = [
    "AdapterSettings",
    "Application",
    "Deadline",
    "EconAdapter",
    "Held",
    "HookError",
    "Leaves",
    "ProgressApplication",
    "Resting",
    "TenantView",
    "Wish",
    "grow_price",
    "keep_price",
    "move_price",
]
