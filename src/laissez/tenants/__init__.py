"""The tenants' side: adapters that turn what an application knows about itself into bids, limits
and leases given up.

Here belong the hooks an application implements (`Application`), the adapter that trades for it
(`EconAdapter`), the applications of the paper (`dynamo`, `sailor`, `parabricks`) and the templates
for tenants who do not want to trade (`templates`). All of it is pure: a view in, commands out, time
in the view. What speaks to a server is in `laissez.live`, what simulates one is elsewhere too.
"""

from laissez.tenants.adapter import EconAdapter
from laissez.tenants.deadline import Deadline
from laissez.tenants.hooks import Application, HookError, Leaves, ProgressApplication, Wish
from laissez.tenants.pricing import grow_price, keep_price, move_price
from laissez.tenants.terms import Terms, TermsError
from laissez.tenants.view import Held, Resting, TenantView

__all__ = [
    "Application",
    "Deadline",
    "EconAdapter",
    "Held",
    "HookError",
    "Leaves",
    "ProgressApplication",
    "Resting",
    "TenantView",
    "Terms",
    "TermsError",
    "Wish",
    "grow_price",
    "keep_price",
    "move_price",
]
