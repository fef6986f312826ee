"""One example of each body that is sent and of the answers that are read most, for the OpenAPI
document and the readable page."""

from __future__ import annotations

import msgspec

from laissez.wire.events import InForce, LeaseStarted, Numbered, OrderPlaced
from laissez.wire.figures import (
    Budget,
    BudgetBody,
    OwnCaps,
    Preview,
    PreviewDone,
    PreviewEnded,
    PreviewRefused,
    PreviewTenant,
    SpendingCaps,
)
from laissez.wire.inframaps import (
    AlarmReport,
    FloorReport,
    FloorTerm,
    InfraMapsReport,
    MapReport,
    Pressed,
    SignalRead,
)
from laissez.wire.problems import Problem
from laissez.wire.requests import (
    Alternative,
    BandSetting,
    Batch,
    Caps,
    CapsBody,
    ControlsBody,
    CreateTenant,
    FloorBody,
    IssueKey,
    LimitBody,
    OrderBody,
    PlaceOrder,
    ResourceBody,
    RunInstances,
    SetFloor,
    SetLimit,
    SignIn,
    TakeOffline,
)
from laissez.wire.views import Instance, InstancesDone, Lease, OrderDone, Quote
from laissez.wire.webhooks import DeadLetter, RedeliverBody, Webhook, WebhookBody, WebhookSecret

AT = "2026-11-15T08:30:00.000000Z"
_WANTED = (Alternative("h100/west", "2.75"), Alternative("a100", "1.5", "1.2"))
_IN_FORCE = (InForce("h100/west", "2.75", "2.75"), InForce("a100", "1.2", "1.5"))
_LEAF = "h100/west/rack-7/host-2/gpu-0"

EXAMPLES: tuple[msgspec.Struct, ...] = (
    OrderBody(_WANTED),
    LimitBody("3.1"),
    RunInstances(count=2, type="h100", max_price="2.75"),
    Batch((PlaceOrder(alternatives=_WANTED), SetLimit(lease="lse_kq3m5x2a4", limit=None))),
    FloorBody("0.9"),
    ControlsBody(BandSetting("0.1", 60.0), None, 300.0, 30.0),
    ResourceBody(False),
    CreateTenant("acme", Caps(open_orders=200)),
    CapsBody(Caps(sessions=16)),
    IssueKey(("read", "trade"), "default"),
    BudgetBody("250.00", "relinquish"),
    OwnCaps("40", "120"),
    Preview((SetFloor(node="h100/west", price="1.8"), TakeOffline(leaf=_LEAF))),
    SignIn("lz_4f2a9c0d11e7b365_..."),
    InfraMapsReport(
        AT, 10.0,
        (MapReport("row1-power", "power", ("h100/west",), 2.0,
                (SignalRead("row1-power", 0.76, AT),), (Pressed("h100/west", 0.5),)),),
        (FloorReport("h100/west", "0.9", "1.8", "0.9", "1.8", (FloorTerm("row1-power", 2.0, 0.5),)),
            ),
        (AlarmReport("missing", "row2-power", "row2-power", AT,
                "no answer within 5 s; its last reading still holds"),),
    ),
    OrderDone(
        "ord_kq3m5x2a17", "filled", _IN_FORCE, False, "lse_kq3m5x2a4", _LEAF, "0.9",
        (
            Numbered(31, OrderPlaced(AT, "ord_kq3m5x2a17", _IN_FORCE, False)),
            Numbered(32,
                LeaseStarted(AT, "lse_kq3m5x2a4", _LEAF, "ord_kq3m5x2a17", "0.9", "2.75", None)),
        ),
    ),
    Lease("lse_kq3m5x2a4", _LEAF, "ord_kq3m5x2a17", AT, "0.9", "0.9", "2.75", None, "1.125000"),
    InstancesDone((Instance("ins_kq3m5x2a17", "running", _LEAF, _LEAF, "lse_kq3m5x2a4", "0.9",
                "2.75", AT),), ()),
    Quote("h100", "0.9", AT),
    Budget("250.000000", AT, "31.500000", "6.3", "218.500000", "2026-11-16T19:10:57.142858Z",
        "relinquish", "open", 12.6),
    SpendingCaps(OwnCaps("40", "120"), OwnCaps(None, "100"), OwnCaps("40", "100"), "8.8", "31.5"),
    PreviewDone(
        AT, (PreviewRefused(1, "already_offline", "the leaf is offline already"),), 1, 1, 1,
        (PreviewTenant("acme", 1, 0), PreviewTenant("zenith", 0, 1)),
        (PreviewEnded(_LEAF, "acme", "floor_raised", "1.8", "1.5"),),
        "12.6", "13.5", 7, 0, 2, 2,
    ),
    WebhookBody("https://hooks.example.com/laissez", ("lease.started", "lease.ended")),
    RedeliverBody(30),
    Webhook(
        "whk_kq3m5x2a1", "https://hooks.example.com/laissez", ("lease.started", "lease.ended"), AT,
        "retrying", 32, 3, "status 503",
        "2026-11-15T08:30:04.000000Z", 0, 0,
    ),
    WebhookSecret("whk_kq3m5x2a1", "whsec_...", "2026-11-16T08:30:00.000000Z"),
    DeadLetter(
        32, 32,
        Numbered(32,
            LeaseStarted(AT, "lse_kq3m5x2a4", _LEAF, "ord_kq3m5x2a17", "0.9", "2.75", None)),
        "not delivered in time; at last: status 503", "2026-11-16T08:30:00.000000Z",
    ),
    Problem("scope_unknown", "there is no scope 'h200'", 404, "scope unknown"),
)  # fmt: skip

BY_TYPE: dict[type, object] = {type(example): msgspec.to_builtins(example) for example in EXAMPLES}
