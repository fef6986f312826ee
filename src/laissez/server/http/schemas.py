"""Schemas beyond the types of the wire's structs: bounds of fields, and examples of each body and
of the most common answers.

A request that satisfies the document can at least be read. Commands inside a batch or a preview
have no bounds: the body is accepted as a whole, and each command is refused by itself.
"""

from __future__ import annotations

import copy
from typing import Any, TypeAlias

import msgspec

from laissez.exchange.caps import COUNT_MAX
from laissez.exchange.keys import NAME_MAX as KEY_NAME_MAX
from laissez.exchange.keys import OPERATOR_SCOPES, TENANT_SCOPES
from laissez.market.commands import DURATION_MAX_US
from laissez.market.topology import DEPTH_MAX
from laissez.server.http.market import SetOnlineBody
from laissez.server.http.operation import body_of
from laissez.units import SECOND_US
from laissez.wire import events, figures, inframaps, requests, views, webhooks
from laissez.wire.decoding import ACTIONS, NAME_MAX
from laissez.wire.limits import (
    BATCH_COMMANDS_MAX,
    INSTANCES_PER_REQUEST_MAX,
    OPEN_ORDERS_MAX,
    PREVIEW_COMMANDS_MAX,
    WEBHOOK_URL_MAX,
)
from laissez.wire.problems import Problem
from laissez.wire.rendering import EVENT_CODES

Schema: TypeAlias = dict[str, Any]

REFERENCE = "#/components/schemas/"


def _text(**asked: Any) -> Schema:
    return {"type": "string", **asked}


def _whole(minimum: int, maximum: int) -> Schema:
    return {"type": "integer", "minimum": minimum, "maximum": maximum}


def _array(**asked: Any) -> Schema:
    return {"type": "array", "minItems": 1, **asked}


def _money(digits: int, start: str = "^") -> Schema:
    """Dollars up to ten to the power of `digits`, with at most six decimals."""
    most = "1" + "0" * digits
    less = rf"[0-9]{{1,{digits}}}(\.[0-9]{{1,6}})?"
    return _text(pattern=rf"{start}0*({less}|{most}(\.0{{1,6}})?)$")


PRICE = _money(4)  # per hour
PER_HOUR = _money(9)  # of all leases together
AMOUNT = _money(9, r"^(?=.*[1-9])")  # of a budget: not zero
TIME = _text(format="date-time")
NAME = _text(maxLength=NAME_MAX)
SECONDS: Schema = {
    "type": "number",
    "exclusiveMinimum": 0,
    "maximum": DURATION_MAX_US // SECOND_US,
}

# The bounds of each struct's fields.
NARROWED: dict[str, dict[str, Schema]] = {
    "PlaceOrderBody": {"alternatives": _array(maxItems=16)},
    "AmendOrderBody": {"alternatives": _array(maxItems=16)},
    "SetLimitBody": {"limit": PRICE},
    "SetFloorBody": {"price": PRICE},
    "BudgetBody": {"amount": AMOUNT, "action": _text(enum=list(ACTIONS))},
    "OwnCaps": {"rate": PER_HOUR, "worst_rate": PER_HOUR},
    "RunInstances": {
        "count": _whole(1, INSTANCES_PER_REQUEST_MAX),
        "max_price": PRICE,
        "type": _text(maxLength=NAME_MAX, pattern="^[^/]*$"),
        "scope": NAME,
        "near": NAME,
        "level": _whole(0, DEPTH_MAX - 1),
    },
    "Batch": {"commands": _array(maxItems=BATCH_COMMANDS_MAX)},
    "Preview": {"commands": _array(maxItems=PREVIEW_COMMANDS_MAX)},
    "SetControlsBody": {"hold_s": SECONDS, "flash_s": SECONDS},
    "Caps": {
        "open_orders": _whole(0, OPEN_ORDERS_MAX),
        "commands_per_second": _whole(0, COUNT_MAX),
        "commands_burst": _whole(0, COUNT_MAX),
        "sessions": _whole(0, COUNT_MAX),
        "rate": PER_HOUR,
        "worst_rate": PER_HOUR,
    },
    "IssueKey": {
        "scopes": _array(items={"enum": list(TENANT_SCOPES)}),
        "name": _text(minLength=1, maxLength=KEY_NAME_MAX),
    },
    "WebhookBody": {
        "url": _text(minLength=1, maxLength=WEBHOOK_URL_MAX),
        "types": _array(uniqueItems=True, items={"enum": sorted(EVENT_CODES)}),
    },
    "InfraMapsReport": {"at": TIME},
    "SignalRead": {"at": TIME},
    "MapReport": {"start": TIME, "end": TIME},
    "FloorReport": {"base": PRICE, "wanted": PRICE, "in_force": PRICE, "asked": PRICE},
    "AlarmReport": {"since": TIME},
}
# parameters of paths
PATHS: dict[str, Schema] = {
    "runner": {"minLength": 1, "maxLength": inframaps.RUNNER_MAX},
    "id": NAME,
    "order": NAME,
    "lease": NAME,
}
# operations whose body differs from its struct
OWN_BODIES = {"issueKey": "IssueOperatorKey"}


def narrow(components: dict[str, Schema]) -> None:
    """Add the bounds of fields to the schemas of bodies. Structs that batches share get separate
    schemas."""
    for name, fields in NARROWED.items():
        if name in components:
            components[name] = _narrowed(components[name], fields)
    alternative = _narrowed(
        components["Alternative"], {"scope": NAME, "limit": PRICE, "bid": PRICE}
    )
    for name in ("PlaceOrderBody", "AmendOrderBody"):
        components[name]["properties"]["alternatives"]["items"] = alternative
    band = _narrowed(components["BandSetting"], {"fraction": PRICE, "seconds": SECONDS})
    for name in ("rise", "fall"):
        components["SetControlsBody"]["properties"][name]["anyOf"] = [band, {"type": "null"}]
    components["RunInstances"]["oneOf"] = [_given("type"), _given("scope"), _given("near", "level")]
    # An operator's key must name its scopes: the default is a tenant's.
    own = _narrowed(components["IssueKey"], {"scopes": _array(items={"enum": OPERATOR_SCOPES})})
    del own["properties"]["scopes"]["default"]
    example = {"scopes": ["read", "operate"], "name": "default"}
    components[OWN_BODIES["issueKey"]] = {**own, "required": ["scopes"], "examples": [example]}


def _narrowed(schema: Schema, fields: dict[str, Schema]) -> Schema:
    schema = copy.deepcopy(schema)
    for name, asked in fields.items():
        field = schema["properties"][name]
        for branch in field.get("anyOf", [field]):
            if branch.get("type") == asked["type"]:
                items = branch.get("items", {}) | asked.get("items", {})
                branch.update({**asked, "items": items} if items else asked)
    return schema


def _given(*names: str) -> Schema:
    """A schema that requires these fields and forbids the other ways to name a scope."""
    others = [name for name in ("type", "scope", "near", "level") if name not in names]
    given = {name: {"not": {"type": "null"}} for name in names}
    return {
        "required": list(names),
        "properties": given | {name: {"type": "null"} for name in others},
    }


AT, LATER = "2026-11-15T08:30:00.000000Z", "2026-11-16T08:30:00.000000Z"
LEAF, ORDER, LEASE = "h100/west/rack-7/host-2/gpu-0", "ord_kq3m5x2a17", "lse_kq3m5x2a4"
HOOK, URL = "whk_kq3m5x2a1", "https://hooks.example.com/laissez"
TYPES = ("lease.started", "lease.ended")
WANTED = (requests.Alternative("h100/west", "2.75"), requests.Alternative("a100", "1.5", "1.2"))
IN_FORCE = (
    requests.Alternative("h100/west", "2.75", "2.75"),
    requests.Alternative("a100", "1.5", "1.2"),
)
PLACED = events.Numbered(31, events.OrderPlaced(AT, ORDER, IN_FORCE, False))
STARTED = events.Numbered(32, events.LeaseStarted(AT, LEASE, LEAF, ORDER, "0.9", "2.75", None))

EXAMPLES: dict[type, object] = {type(example): msgspec.to_builtins(example) for example in (
    body_of(requests.PlaceOrder)(WANTED),
    body_of(requests.AmendOrder, "order")(WANTED),
    body_of(requests.SetLimit, "lease")("3.1"),
    requests.RunInstances(count=2, type="h100", max_price="2.75"),
    requests.Batch((requests.PlaceOrder(alternatives=WANTED),
        requests.SetLimit(lease=LEASE, limit=None))),
    body_of(requests.SetFloor, "node")("0.9"),
    body_of(requests.SetControls, "node")(requests.BandSetting("0.1", 60.0), None, 300.0, 30.0),
    SetOnlineBody(False),
    requests.CreateTenant("acme", requests.Caps(open_orders=200)),
    body_of(requests.SetCaps, "name")(requests.Caps(sessions=16)),
    requests.IssueKey(("read", "trade"), "default"),
    requests.SignIn("lz_4f2a9c0d11e7b365_..."),
    figures.BudgetBody("250.00", "relinquish"),
    figures.OwnCaps("40", "120"),
    figures.Preview((requests.SetFloor(node="h100/west", price="1.8"),
        requests.TakeOffline(leaf=LEAF))),
    inframaps.InfraMapsReport(AT, 10.0,
        (inframaps.MapReport("row1-power", "power", ("h100/west",), 2.0,
            (inframaps.SignalRead("row1-power", 0.76, AT),),
            (inframaps.Pressed("h100/west", 0.5),)),),
        (inframaps.FloorReport("h100/west", "0.9", "1.8", "0.9", "1.8",
            (inframaps.FloorTerm("row1-power", 2.0, 0.5),)),),
        (inframaps.AlarmReport("missing", "row2-power", "row2-power", AT,
            "no answer within 5 s; its last reading still holds"),)),
    views.OrderDone(ORDER, "filled", IN_FORCE, False, LEASE, LEAF, "0.9", (PLACED, STARTED)),
    views.Lease(LEASE, LEAF, ORDER, AT, "0.9", "0.9", "2.75", None, "1.125000"),
    views.InstancesDone((views.Instance("ins_kq3m5x2a17", "running", LEAF, LEAF, LEASE, "0.9",
        "2.75", AT),), ()),
    views.Quote("h100", "0.9", AT),
    figures.Budget("250.000000", AT, "31.500000", "6.3", "218.500000",
        "2026-11-16T19:10:57.142858Z", "relinquish", "open", 12.6),
    figures.SpendingCaps(figures.OwnCaps("40", "120"), figures.OwnCaps(None, "100"),
        figures.OwnCaps("40", "100"), "8.8", "31.5"),
    figures.PreviewDone(AT,
        (figures.PreviewRefused(1, "already_offline", "the leaf is offline already"),), 1, 1, 1,
        (figures.PreviewTenant("acme", 1, 0), figures.PreviewTenant("zenith", 0, 1)),
        (figures.PreviewEnded(LEAF, "acme", "floor_raised", "1.8", "1.5"),),
        "12.6", "13.5", 7, 0, 2, 2),
    webhooks.WebhookBody(URL, TYPES),
    webhooks.RedeliverBody(30),
    webhooks.Webhook(HOOK, URL, TYPES, AT, "retrying", 32, 3, "status 503",
        "2026-11-15T08:30:04.000000Z", 0, 0),
    webhooks.WebhookSecret(HOOK, "whsec_...", LATER),
    webhooks.DeadLetter(32, 32, STARTED, "not delivered in time; at last: status 503", LATER),
    Problem("scope_unknown", "there is no scope 'h200'", 404, "scope unknown"),
)}  # fmt: skip
