"""The callers of every operation of the API and every message of a session, by hand.

The table is not made from the server's own description. An operation or message that is in only one
of the two is a finding of `laissez check access`, so a new one needs a row here.
"""

from __future__ import annotations

from typing import Any

import msgspec

from laissez_check.access.client import LEASE_PRICE

# Callers with a key. `mine` and `other` are keys of two tenants with read and trade. `reader` and
# `trader` belong to the tenant of `mine`, like everything that is asked about.
READER, TRADER, MINE, OTHER = "reader", "trader", "mine", "other"
WATCHER, OPERATING, OPERATOR = "watcher", "operating", "operator"
KEYED = (READER, TRADER, MINE, OTHER, WATCHER, OPERATING, OPERATOR)
OPERATORS = (WATCHER, OPERATING, OPERATOR)
SIGNED_IN = " signed in"
# Requests that a page of another site makes a browser send, with the cookie of the user.
FORGED = (" by a page without the header", " by another site's page")

READ = frozenset({READER, MINE, OTHER, WATCHER, OPERATOR})
TRADE = frozenset({TRADER, MINE, OTHER})
LOOK = frozenset(OPERATORS)
OPERATE = frozenset({OPERATING, OPERATOR})
CHANGE = TRADE | OPERATE
ANY = frozenset(KEYED)
EVERYBODY = None  # also without a key

# The callers to whom a thing of `mine` is foreign. The operator sees no webhook of a tenant.
FOREIGN_TO = {
    "order": (OTHER,),
    "lease": (OTHER,),
    "instance": (OTHER,),
    "webhook": (OTHER, *OPERATORS),
}


class Row(msgspec.Struct, frozen=True):
    """`about` is the kind of thing that the request names; a new one is made for each caller.
    Callers to whom it is foreign get the answer for an id that never existed. Braces stand for the
    thing and for other names."""

    may: frozenset[str] | None
    body: Any = None
    about: str = ""
    operators_query: str = ""  # the operator has to name the tenant
    status: int = 200
    operators_status: int = 403  # if the operator may read, but not this

    def expected(self, caller: str) -> int:
        if self.may is EVERYBODY:
            return self.status
        if caller.endswith(FORGED):
            return 403
        who = caller.removesuffix(SIGNED_IN)
        if who not in KEYED:
            return 401
        if who not in self.may:
            return self.operators_status if who in OPERATORS and who in READ else 403
        return 404 if who in FOREIGN_TO.get(self.about, ()) else self.status


PLACED = {"alternatives": [{"scope": "gpu/a", "limit": "0.5"}]}
HOOK = {"url": "http://127.0.0.1:65535/"}  # where no server listens

OPERATIONS: dict[str, Row] = {
    "placeOrder": Row(TRADE, PLACED, status=201),
    "listOrders": Row(READ),
    "getOrder": Row(READ, about="order"),
    "getOrderHistory": Row(READ, about="order"),
    "amendOrder": Row(TRADE, PLACED, about="order"),
    "cancelOrder": Row(TRADE, about="order"),
    "sendBatch": Row(CHANGE, {"commands": []}, status=400),  # MESSAGES has its commands
    "getPrices": Row(READ),
    "listLeases": Row(READ),
    "getLease": Row(READ, about="lease"),
    "setLimit": Row(TRADE, {"limit": LEASE_PRICE}, about="lease"),
    "relinquish": Row(TRADE, about="lease"),
    "getLeasePrices": Row(READ, about="lease"),
    "runInstances": Row(TRADE, {"type": "gpu", "max_price": "0.25"}, status=201),
    "listInstances": Row(READ),
    "getInstance": Row(READ, about="instance"),
    "stopInstance": Row(TRADE, about="instance"),
    "getBill": Row(READ),
    "getBudget": Row(READ, operators_query="?tenant={tenant}", about="budgets"),
    "setBudget": Row(TRADE, {"amount": "100"}),
    "removeBudget": Row(TRADE, about="budgets"),
    "getOwnCaps": Row(READ, operators_query="?tenant={tenant}"),
    "setOwnCaps": Row(TRADE, {"rate": "100000"}),
    "listSpending": Row(READ),
    "getEvents": Row(READ),
    "createWebhook": Row(CHANGE, HOOK, status=201),
    "listWebhooks": Row(READ),
    "getWebhook": Row(READ, about="webhook"),
    "deleteWebhook": Row(CHANGE, about="webhook"),
    "rotateWebhookSecret": Row(CHANGE, about="webhook"),
    "redeliver": Row(CHANGE & READ, {"after": 0}, about="webhook"),
    "listDeadLetters": Row(READ, about="webhook"),
    "getTopology": Row(READ),
    "getMarket": Row(LOOK),
    "getMarketHistory": Row(LOOK),
    "previewCommands": Row(
        OPERATE, {"commands": [{"type": "set_floor", "node": "cpu", "price": "2"}]}
    ),
    "listResources": Row(LOOK),
    "setOnline": Row(OPERATE, {"online": False}, about="online"),
    "getLevels": Row(LOOK),
    "getBook": Row(LOOK, about="node"),
    "getRates": Row(LOOK, about="node"),
    "listFloors": Row(LOOK),
    "setFloor": Row(OPERATE, {"price": "0.1"}, about="node"),
    "removeFloor": Row(OPERATE, about="node"),
    "listControls": Row(LOOK),
    "setControls": Row(OPERATE, {"hold_s": 0.001}, about="node"),
    "removeControls": Row(OPERATE, about="node"),
    "reportInfraMaps": Row(
        OPERATE,
        {"at": "2026-01-01T00:00:00Z", "pace_s": 3600, "maps": [], "floors": [], "alarms": []},
        about="runner",
    ),
    "getInfraMaps": Row(LOOK),
    "getMe": Row(ANY),
    "listTenants": Row(LOOK),
    "createTenant": Row(OPERATE, {"name": "{new}"}, about="new", status=201),
    "getTenant": Row(LOOK, about="tenant"),
    "setCaps": Row(OPERATE, {"caps": {}}, about="tenant"),
    "listTenantKeys": Row(LOOK, about="tenant"),
    "issueTenantKey": Row(OPERATE, {"name": "made"}, about="new tenant", status=201),
    "listKeys": Row(LOOK),
    "issueKey": Row(OPERATE, {"name": "{new}", "scopes": ["read"]}, about="new", status=201),
    "revokeKey": Row(OPERATE, about="key"),
    "signIn": Row(EVERYBODY, {"key": "{secret}"}),
    "getSignIn": Row(EVERYBODY),
    "signOut": Row(EVERYBODY),
    "getHealth": Row(EVERYBODY),
    "getReadiness": Row(EVERYBODY),
    "getMetrics": Row(LOOK),
    "getOpenApi": Row(EVERYBODY),
    "getDocs": Row(EVERYBODY),
}

# By the `type` of the message. Those that are commands may also come in a batch.
MESSAGES: dict[str, Row] = {
    "place_order": Row(TRADE, PLACED),
    "amend_order": Row(TRADE, {"order": "{order}", **PLACED}, about="order"),
    "cancel_order": Row(TRADE, {"order": "{order}"}, about="order"),
    "set_limit": Row(TRADE, {"lease": "{lease}", "limit": LEASE_PRICE}, about="lease"),
    "relinquish": Row(TRADE, {"lease": "{lease}"}, about="lease"),
    "set_floor": Row(OPERATE, {"node": "{node}", "price": "0.1"}, about="node"),
    "set_controls": Row(OPERATE, {"node": "{node}"}, about="node"),
    "take_offline": Row(OPERATE, {"leaf": "{online}"}, about="online"),
    "bring_online": Row(OPERATE, {"leaf": "{offline}"}, about="offline"),
    "quote": Row(READ, {"scope": "gpu"}),
    "orders": Row(READ - LOOK, operators_status=400),  # the operator lists with GET
    "leases": Row(READ - LOOK, operators_status=400),
    "ping": Row(ANY),
    "hello": Row(ANY),
}

# The same with the history of events, for which `trade` or `operate` is not enough.
WITH_HISTORY: dict[str, Row] = {
    "createWebhook": Row(CHANGE & READ, {**HOOK, "after": 0}, status=201),
    "hello": Row(READ, {"resume_after": 0}),
}
