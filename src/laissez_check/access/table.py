"""Who may do what: every operation of the API and every message of a session, by hand.

A server describes itself; this table does not follow it. An operation or a message that is missing
here, or is here and nowhere else, is a finding of `laissez check access`: whoever adds one says
here who may use it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from laissez_check.access.unmistakable import LEASE

# Everybody with a key. `mine` and `other` are tenants' keys with read and trade, the things that
# are asked for are those of `mine`.
READER, TRADER, MINE, OTHER = "reader", "trader", "mine", "other"
WATCHER, OPERATING, OPERATOR = "watcher", "operating", "operator"
KEYED = (READER, TRADER, MINE, OTHER, WATCHER, OPERATING, OPERATOR)
OPERATORS = (WATCHER, OPERATING, OPERATOR)

READ = frozenset({READER, MINE, OTHER, WATCHER, OPERATOR})
TRADE = frozenset({TRADER, MINE, OTHER})
LOOK = frozenset(OPERATORS)
OPERATE = frozenset({OPERATING, OPERATOR})
CHANGE = TRADE | OPERATE
ANY = frozenset(KEYED)
EVERYBODY = None  # also without a key

PLACED = {"alternatives": [{"scope": "gpu/a", "limit": "0.5"}]}


class Row(msgspec.Struct, frozen=True):
    """`about` is what the request names: something of `mine`, made anew for each who may. Who may
    ask, and for whom it is somebody else's, must get the answer of an id that never was. Braces in
    the query, the body and the message stand for it and for things of the market."""

    may: frozenset[str] | None
    body: Any = None
    about: str = ""
    query: str = ""
    operators_query: str = ""  # the same for the operator, who has to say whose
    status: int = 200
    # where the operator may not, and for another reason than its scopes
    operators_status: int = 403

    def allows(self, caller: str) -> bool:
        return self.may is None or caller in self.may

    def is_foreign_to(self, caller: str) -> bool:
        """Whether the caller may ask, and what it names is somebody else's: a webhook is its
        holder's alone, also not the operator's."""
        others = {
            "order": (OTHER,),
            "lease": (OTHER,),
            "instance": (OTHER,),
            "webhook": (OTHER, *OPERATORS),
        }
        return self.allows(caller) and caller in others.get(self.about, ())


OPERATIONS: dict[str, Row] = {
    "placeOrder": Row(TRADE, PLACED, status=201),
    "listOrders": Row(READ),
    "getOrder": Row(READ, about="order"),
    "amendOrder": Row(TRADE, PLACED, about="order"),
    "cancelOrder": Row(TRADE, about="order"),
    # what is in it is judged by itself: see MESSAGES
    "sendBatch": Row(CHANGE, {"commands": []}, status=400),
    "getPrices": Row(READ),
    "listLeases": Row(READ),
    "getLease": Row(READ, about="lease"),
    "setLimit": Row(TRADE, {"limit": LEASE}, about="lease"),
    "relinquish": Row(TRADE, about="lease"),
    "getLeasePrices": Row(READ, about="lease"),
    "runInstances": Row(TRADE, {"type": "gpu", "max_price": "0.25"}, status=201),
    "listInstances": Row(READ),
    "getInstance": Row(READ, about="instance"),
    "stopInstance": Row(TRADE, about="instance"),
    "getBill": Row(READ),
    "getBudget": Row(READ, operators_query="tenant={tenant}", about="budgets"),
    "setBudget": Row(TRADE, {"amount": "100"}),
    "removeBudget": Row(TRADE, about="budgets"),
    "getOwnCaps": Row(READ, operators_query="tenant={tenant}"),
    "setOwnCaps": Row(TRADE, {"rate": "100000"}),
    "listSpending": Row(READ),
    "getEvents": Row(READ),
    "createWebhook": Row(CHANGE, {"url": "http://127.0.0.1:65535/"}, status=201),
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
    "issueKey": Row(OPERATE, {"name": "{new}", "scopes": ["read"]}, about="new key", status=201),
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

# The same asked in a way that tells of what happened before: whoever may only trade or operate is
# told what happens from now on, and no more.
OF_BEFORE: dict[str, Row] = {
    "createWebhook": Row(CHANGE & READ, {"url": "http://127.0.0.1:65535/", "after": 0}, status=201),
    "hello": Row(READ, {"resume_after": 0}),
}

ORDER = {"alternatives": PLACED["alternatives"]}
# By the `type` of the message. Those that are commands may also come in a batch.
MESSAGES: dict[str, Row] = {
    "place_order": Row(TRADE, ORDER),
    "amend_order": Row(TRADE, {"order": "{order}", **ORDER}, about="order"),
    "cancel_order": Row(TRADE, {"order": "{order}"}, about="order"),
    "set_limit": Row(TRADE, {"lease": "{lease}", "limit": LEASE}, about="lease"),
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
