"""What the service asks of a field beyond its type, as JSON Schema: so that a request which is
right by the document can at least be read.

Only of bodies that are one request. A batch and a preview are taken as a whole and each of their
commands is refused by itself, so nothing is said here of what a command may hold.
"""

from __future__ import annotations

import copy
from typing import Any, TypeAlias

from laissez.exchange.caps import COUNT_MAX
from laissez.exchange.keys import NAME_MAX as KEY_NAME_MAX
from laissez.exchange.keys import OPERATOR_SCOPES, TENANT_SCOPES
from laissez.market.commands import DURATION_MAX_US
from laissez.market.topology import DEPTH_MAX
from laissez.units import SECOND_US
from laissez.wire.decoding import ACTIONS, NAME_MAX
from laissez.wire.inframaps import RUNNER_MAX
from laissez.wire.limits import (
    BATCH_COMMANDS_MAX,
    INSTANCES_PER_REQUEST_MAX,
    OPEN_ORDERS_MAX,
    PREVIEW_COMMANDS_MAX,
    WEBHOOK_URL_MAX,
)
from laissez.wire.webhooks import EVENT_TYPES

Schema: TypeAlias = dict[str, Any]

# zero to 10,000 dollars per hour, at most six decimals
PRICE: Schema = {"pattern": r"^0*(10000(\.0{1,6})?|[0-9]{1,4}(\.[0-9]{1,6})?)$"}
# zero to a billion dollars per hour
PER_HOUR: Schema = {"pattern": r"^(0?[0-9]{1,9}(\.[0-9]{1,6})?|1000000000(\.0{1,6})?)$"}
# up to a billion dollars, and not nothing
AMOUNT: Schema = {
    "pattern": r"^(?=.*[1-9])0{0,2}(0?[0-9]{1,9}(\.[0-9]{1,6})?|1000000000(\.0{1,6})?)$"
}
TIME: Schema = {"format": "date-time"}
NAME: Schema = {"maxLength": NAME_MAX}
SECONDS: Schema = {"exclusiveMinimum": 0, "maximum": DURATION_MAX_US // SECOND_US}

# Of each struct, what is asked of its fields.
NARROWED: dict[str, dict[str, Schema]] = {
    "OrderBody": {"alternatives": {"minItems": 1, "maxItems": 16}},
    "LimitBody": {"limit": PRICE},
    "FloorBody": {"price": PRICE},
    "BudgetBody": {"amount": AMOUNT, "action": {"enum": list(ACTIONS)}},
    "OwnCaps": {"rate": PER_HOUR, "worst_rate": PER_HOUR},
    "RunInstances": {
        "count": {"minimum": 1, "maximum": INSTANCES_PER_REQUEST_MAX},
        "max_price": PRICE,
        "type": {"maxLength": NAME_MAX, "pattern": "^[^/]*$"},
        "scope": NAME,
        "near": NAME,
        "level": {"minimum": 0, "maximum": DEPTH_MAX - 1},
    },
    "Batch": {"commands": {"minItems": 1, "maxItems": BATCH_COMMANDS_MAX}},
    "Preview": {"commands": {"minItems": 1, "maxItems": PREVIEW_COMMANDS_MAX}},
    "ControlsBody": {"hold_s": SECONDS, "flash_s": SECONDS},
    "Caps": {
        "open_orders": {"minimum": 0, "maximum": OPEN_ORDERS_MAX},
        **{
            name: {"minimum": 0, "maximum": COUNT_MAX}
            for name in ("commands_per_second", "commands_burst", "sessions")
        },
        "rate": PER_HOUR,
        "worst_rate": PER_HOUR,
    },
    "IssueKey": {
        "scopes": {"minItems": 1, "items": {"enum": list(TENANT_SCOPES)}},
        "name": {"minLength": 1, "maxLength": KEY_NAME_MAX},
    },
    "WebhookBody": {
        "url": {"minLength": 1, "maxLength": WEBHOOK_URL_MAX},
        "types": {"minItems": 1, "uniqueItems": True, "items": {"enum": list(EVENT_TYPES)}},
    },
    "InfraMapsReport": {"at": TIME},
    "SignalRead": {"at": TIME},
    "MapReport": {"start": TIME, "end": TIME},
    "FloorReport": dict.fromkeys(("base", "wanted", "in_force", "asked"), PRICE),
    "AlarmReport": {"since": TIME},
}
ALTERNATIVE = {"scope": NAME, "limit": PRICE, "bid": PRICE}
BAND = {"fraction": PRICE, "seconds": SECONDS}

# operations whose body is not quite what its struct says
OWN_BODIES = {"issueKey": "IssueOperatorKey"}
PATHS: dict[str, Schema] = {"runner": {"minLength": 1, "maxLength": RUNNER_MAX}, "id": NAME}


def narrow(components: dict[str, Schema]) -> None:
    """Say in the schemas of bodies what the service asks of their fields. Parts that commands of a
    batch have too become parts of their own."""
    for name, fields in NARROWED.items():
        if name in components:
            _narrow_fields(components[name], fields)
    order, controls = (
        components["OrderBody"]["properties"],
        components["ControlsBody"]["properties"],
    )
    order["alternatives"]["items"] = _own(components["Alternative"], ALTERNATIVE)
    for name in ("rise", "fall"):
        controls[name]["anyOf"] = [_own(components["BandSetting"], BAND), {"type": "null"}]
    components[OWN_BODIES["issueKey"]] = _for_operator(components["IssueKey"])
    components["RunInstances"]["oneOf"] = [_given("type"), _given("scope"), _given("near", "level")]


def _for_operator(issue_key: Schema) -> Schema:
    """The body that issues a key for the operator: its scopes must be named, since those of a
    tenant are what is meant otherwise."""
    own = copy.deepcopy(issue_key)
    del own["properties"]["scopes"]["default"]
    own["properties"]["scopes"]["items"]["enum"] = list(OPERATOR_SCOPES)
    return {
        **own,
        "required": ["scopes"],
        "examples": [{"scopes": ["read", "operate"], "name": "default"}],
    }


def _own(component: Schema, fields: dict[str, Schema]) -> Schema:
    own = copy.deepcopy(component)
    _narrow_fields(own, fields)
    return own


def _narrow_fields(schema: Schema, fields: dict[str, Schema]) -> None:
    for name, asked in fields.items():
        field = schema["properties"][name]
        for branch in field.get("anyOf", [field]):
            kind = (
                "string"
                if asked.keys() & {"pattern", "maxLength", "format", "enum"}
                else "array"
                if "minItems" in asked
                else None
            )
            if branch.get("type") == kind or (
                kind is None and branch.get("type") in ("integer", "number")
            ):
                items = {"items": {**branch["items"], **asked["items"]}} if "items" in asked else {}
                branch.update({**asked, **items})


def _given(*names: str) -> Schema:
    """These are given, and of the others that say where, none is."""
    others = [name for name in ("type", "scope", "near", "level") if name not in names]
    return {
        "required": list(names),
        "properties": {
            **{name: {"not": {"type": "null"}} for name in names},
            **{name: {"type": "null"} for name in others},
        },
    }
