"""Every operation of the API, in one table. The routes, the OpenAPI document and the readable page
are made from it and from nothing else."""

from __future__ import annotations

from functools import partial

from laissez.market.reasons import Reason
from laissez.server.http import (
    bills,
    events,
    instances,
    market,
    monitoring,
    orders,
    tenants,
    webhooks,
)
from laissez.server.http.events import STREAM
from laissez.server.http.operation import JSON, LOOK, TENANT, Operation, Parameter
from laissez.wire import requests
from laissez.wire.figures import (
    BudgetBody,
    OwnCaps,
    Preview,
)
from laissez.wire.inframaps import InfraMapsReport
from laissez.wire.problems import Code
from laissez.wire.webhooks import RedeliverBody, WebhookBody

READ = ("read",)
TRADE = ("trade",)
OPERATE = ("operate",)
CHANGE = ("trade", "operate")  # `trade` for tenants, `operate` for the operator
ANY: tuple[str, ...] = ()

PLACING = (
    Reason.SCOPE_UNKNOWN,
    Reason.SCOPE_REPEATED,
    Reason.ALTERNATIVES_COUNT,
    Reason.PRICE_OUT_OF_RANGE,
    Reason.LIMIT_BELOW_BID,
    Reason.TOO_MANY_ORDERS,
    Reason.TOO_MANY_TENANTS,
    Code.BUDGET_SPENT,
    Code.CAP_EXCEEDED,
)
# forbidden: not sent by a page of the console
SIGNING = (Code.FORBIDDEN, Code.BAD_REQUEST, Code.NOT_ACCEPTABLE, Code.INTERNAL)
ORDER_GONE = (Reason.NOT_YOUR_ORDER, Reason.ALREADY_FILLED)

OPERATIONS: tuple[Operation, ...] = (
    Operation("Orders", "placeOrder", "POST", "/v1/orders", TRADE, orders.order_done,
        "Place an order", status=201, command=requests.PlaceOrder, problems=PLACING,
        description="An order wants one leaf. Each alternative names a scope and a price. The "
        "order is filled at once or waits."),
    Operation("Orders", "listOrders", "GET", "/v1/orders", READ, orders.list_orders,
        "List open orders", query=(TENANT,), problems=(Code.NOT_FOUND,),
        description="Oldest first. The operator gets those of all tenants."),
    Operation("Orders", "getOrder", "GET", "/v1/orders/{order}", READ, orders.get_order,
        "Get an open order", problems=(Reason.NOT_YOUR_ORDER,)),
    Operation("Orders", "getOrderHistory", "GET", "/v1/orders/{order}/history", READ,
        orders.order_history, "List the events of an order, open or gone", pays_by_item=True,
        problems=(Reason.NOT_YOUR_ORDER,),
        description="Oldest first: order.placed, order.amended, fee.charged, and lease.started or "
        "order.cancelled at the end. As far as events are kept: a list without order.placed has "
        "lost its first events, and an empty list all of them. The operator gets the numbers of "
        "all events, and the tenant."),
    Operation("Orders", "amendOrder", "PUT", "/v1/orders/{order}", TRADE, orders.order_done,
        "Replace the alternatives of an open order", command=requests.AmendOrder,
        problems=(*ORDER_GONE, *PLACING),
        description="The order keeps its id and goes to the back of the queue."),
    Operation("Orders", "cancelOrder", "DELETE", "/v1/orders/{order}", TRADE, orders.order_done,
        "Cancel an open order", command=requests.CancelOrder, problems=ORDER_GONE),
    Operation("Orders", "sendBatch", "POST", "/v1/batch", CHANGE, orders.batch,
        "Carry out many commands", large=True, body=requests.Batch,
        description="Commands are carried out in order. Each succeeds or is refused by itself. Ids "
        "of commands are ignored: the Idempotency-Key covers the whole batch."),
    Operation("Prices", "getPrices", "GET", "/v1/prices", READ, market.get_prices,
        "Quote the lowest winning price now", problems=(Reason.SCOPE_UNKNOWN,),
        query=(
            Parameter("scope", "Only this scope; the answer is one quote. A scope that you may not "
                "see is answered like one that does not exist."),
        ),
        description="A quote for every scope of your pricing domain: the roots, and every node "
        "above a leaf that you hold."),
    Operation("Leases", "listLeases", "GET", "/v1/leases", READ, orders.list_leases,
        "List running leases", query=(TENANT,), problems=(Code.NOT_FOUND,),
        description="Oldest first. The operator gets those of all tenants."),
    Operation("Leases", "getLease", "GET", "/v1/leases/{lease}", READ, orders.get_lease,
        "Get a running lease", problems=(Reason.NOT_YOUR_LEASE,)),
    Operation("Leases", "setLimit", "PATCH", "/v1/leases/{lease}", TRADE, orders.lease_done,
        "Change the limit of a lease", command=requests.SetLimit,
        problems=(Reason.NOT_YOUR_LEASE, Reason.PRICE_OUT_OF_RANGE, Code.BUDGET_SPENT,
        Code.CAP_EXCEEDED),
        description="A limit below the rate ends the lease at once."),
    Operation("Leases", "relinquish", "DELETE", "/v1/leases/{lease}", TRADE, orders.lease_done,
        "Relinquish a lease", command=requests.Relinquish, problems=(Reason.NOT_YOUR_LEASE,)),
    Operation("Leases", "getLeasePrices", "GET", "/v1/leases/{lease}/prices", READ,
        orders.lease_prices, "The price history of a lease", pays_by_item=True,
        problems=(Reason.NOT_YOUR_LEASE,),
        description="Ended leases are included until the books close. At most the newest 2,000 "
        "segments, fewer if many price changes did not change the charge. Everything before them, "
        "and everything in closed books, is one segment without a rate."),
    Operation("Instances", "runInstances", "POST", "/v1/instances", TRADE, instances.run,
        "Request instances", status=201, body=requests.RunInstances,
        problems=(*PLACING, Reason.NOT_YOUR_LEASE),
        description="Each instance is an order that bids max_price. Instances that cannot start "
        "now are pending and start later."),
    Operation("Instances", "listInstances", "GET", "/v1/instances", READ, instances.list_instances,
        "List pending and running instances", query=(TENANT,), problems=(Code.NOT_FOUND,),
        description="Every open order is a pending instance, and every running lease a running "
        "instance."),
    Operation("Instances", "getInstance", "GET", "/v1/instances/{id}", READ, instances.get_instance,
        "Get an instance", problems=(Code.NOT_FOUND,),
        description="A stopped instance that has run is shown until the books close."),
    Operation("Instances", "stopInstance", "DELETE", "/v1/instances/{id}", TRADE, instances.stop,
        "Stop an instance", problems=(Code.NOT_FOUND, Code.CONFLICT),
        description="Cancels its order or relinquishes its lease."),
    Operation("Bills", "getBill", "GET", "/v1/bills", READ, bills.get_bill, "Get a bill",
        pays_by_item=True, media=(JSON, "text/csv"),
        problems=(Code.PERIOD_INVALID, Code.NOT_FOUND, Reason.TIME_OUT_OF_RANGE),
        query=(
            Parameter("since", "The beginning of the period. Without since and until: everything "
                "until now.", "time"),
            Parameter("until", "The end of the period, not later than now.", "time"),
            Parameter("format", "json, csv, or focus: CSV with the columns of the "
                "FinOps Open Cost and Usage Specification.", bills.FORMATS),
            TENANT,
        ),
        description="Lines are rounded down to a millionth of a dollar. The total is rounded after "
        "adding the exact charges, so it may exceed the sum of its lines slightly. In closed "
        "books, a period must begin and end with statements, as every whole hour does. The "
        "operator gets a page of all tenants' bills, or the bill of one tenant."),
    Operation("Bills", "getBudget", "GET", "/v1/budget", READ, bills.get_budget,
        "Get a tenant's budget and how much is spent", adds_up=True, query=(TENANT,),
        problems=(Code.NOT_FOUND,),
        description="404 if no budget is set. The operator names the tenant."),
    Operation("Bills", "setBudget", "PUT", "/v1/budget", TRADE, bills.set_budget, "Set a budget",
        adds_up=True, body=BudgetBody, problems=(Code.NOT_FOUND, Code.BUDGET_SPENT),
        description="Replaces the previous budget. Spending counts from now on, or with keep from "
        "the start of the previous budget; a budget that is already spent then acts at once. "
        "Events report 50, 80 and 100 %. At 100 % the action is carried out: warn does nothing "
        "more. The others cancel your orders and refuse new ones. In addition, limits_to_floor "
        "lowers every limit to the floor and relinquishes leases under a minimum hold, and "
        "relinquish relinquishes every lease. The answer is the present budget, also for a "
        "repeated request."),
    Operation("Bills", "removeBudget", "DELETE", "/v1/budget", TRADE, bills.remove_budget,
        "Remove the budget", problems=(Code.NOT_FOUND,)),
    Operation("Bills", "getOwnCaps", "GET", "/v1/caps", READ, bills.get_caps,
        "Get your caps on spending per hour", adds_up=True, query=(TENANT,),
        problems=(Code.NOT_FOUND,),
        description="Your own caps and the operator's; the lower of each is in force. The operator "
        "names the tenant."),
    Operation("Bills", "setOwnCaps", "PUT", "/v1/caps", TRADE, bills.set_caps,
        "Cap your spending per hour", adds_up=True, body=OwnCaps,
        description="Replaces both of your own caps; null or omitted means no cap. A cap ends no "
        "lease: it refuses orders and raised limits that could exceed it. An order counts with its "
        "highest limit, regardless of its bids. The answer is the present caps, also for a "
        "repeated request."),
    Operation("Bills", "listSpending", "GET", "/v1/spending", READ, bills.list_spending,
        "Get total charges and present rates", query=(TENANT,),
        problems=(Code.NOT_FOUND,),
        description="One line for each tenant. A tenant gets only its own."),
    Operation("Events", "getEvents", "GET", "/v1/events", READ, events.list_events, "Get or stream "
        "events",
        pays_by_item=True, media=(JSON, STREAM),
        problems=(Code.HISTORY_GONE, Code.TOO_MANY_SESSIONS, Code.NOT_FOUND),
        query=(
            Parameter("after", "Only events after this number. By default all kept events; in a "
                "stream, new events only.", "whole"),
            Parameter("tenant", "For the operator: only this tenant's, as the tenant gets them, "
                "with its own numbers and without its name."),
        ),
        description="With Accept: text/event-stream, events are sent as they happen: id is the "
        "number, event the type, and data the same JSON. Last-Event-ID resumes. Notices "
        "(rate.changed, limit.near) have no id. Comments are heartbeats."),
    Operation("Webhooks", "createWebhook", "POST", "/v1/webhooks", CHANGE, webhooks.create,
        "Create a webhook", status=201, body=WebhookBody,
        problems=(Code.URL_NOT_ALLOWED, Code.TOO_MANY_WEBHOOKS, Code.HISTORY_GONE,
        Code.RATE_LIMITED),
        description="The secret that signs deliveries is shown only in this answer and in the "
        "answer to a repeated request. Events are delivered in order and at least once, many in "
        "one request. Events that cannot be delivered within a day become dead letters. With "
        "after, the key also needs the scope read."),
    Operation("Webhooks", "listWebhooks", "GET", "/v1/webhooks", READ, webhooks.list_webhooks,
        "List your webhooks and their progress"),
    Operation("Webhooks", "getWebhook", "GET", "/v1/webhooks/{id}", READ, webhooks.get_webhook,
        "Get a webhook and its progress", problems=(Code.NOT_FOUND,)),
    Operation("Webhooks", "deleteWebhook", "DELETE", "/v1/webhooks/{id}", CHANGE, webhooks.delete,
        "Delete a webhook", problems=(Code.NOT_FOUND, Code.RATE_LIMITED),
        description="Deliveries stop at once, and dead letters are deleted."),
    Operation("Webhooks", "rotateWebhookSecret", "POST", "/v1/webhooks/{id}/secret", CHANGE,
        webhooks.rotate_secret, "Make a new secret for a webhook",
        problems=(Code.NOT_FOUND, Code.CONFLICT, Code.RATE_LIMITED),
        description="For 24 hours the previous secret also signs deliveries. After a second "
        "rotation, the oldest secret signs nothing."),
    Operation("Webhooks", "redeliver", "POST", "/v1/webhooks/{id}/redeliver", CHANGE,
        webhooks.redeliver, "Send events again", body=RedeliverBody,
        problems=(Code.NOT_FOUND, Code.HISTORY_GONE, Code.RATE_LIMITED),
        description="Sends all events after a given one that is still kept, including dead "
        "letters. The key also needs the scope read."),
    Operation("Webhooks", "listDeadLetters", "GET", "/v1/webhooks/{id}/dead-letters", READ,
        webhooks.list_dead_letters, "List undelivered events", pays_by_item=True,
        problems=(Code.NOT_FOUND,),
        description="Oldest first, the latest 1,000."),
    Operation("Market", "getTopology", "GET", "/v1/topology", READ, market.get_topology,
        "Get the topology", pays_by_item=True, problems=(Reason.SCOPE_UNKNOWN,),
        query=(
            Parameter("node", "This node followed by its children. By default the roots."),
        ),
        description="Ten children count as one more node towards the page's size and cost. A page "
        "has at least one node."),
    Operation("Market", "getMarket", "GET", "/v1/market", LOOK, monitoring.get_market,
        "Get totals of the market"),
    Operation("Market", "getMarketHistory", "GET", "/v1/market/history", LOOK,
        monitoring.get_history, "Get samples of the market over the last two hours",
        description="One sample every ten seconds, kept in memory since the start of the server."),
    Operation("Market", "previewCommands", "POST", "/v1/preview", OPERATE, orders.preview,
        "Preview commands", repeatable=True, large=True, body=Preview,
        problems=(Code.STOPPING,),
        description="Commands are carried out in order on a copy of the process. Nothing changes, "
        "so an Idempotency-Key is ignored. The answer covers immediate effects only. At most two "
        "previews run at a time, each for at most eight seconds; beyond that, 503 overloaded."),
    Operation("Market", "listResources", "GET", "/v1/resources", LOOK, market.list_resources,
        "List leaves", problems=(Reason.SCOPE_UNKNOWN,),
        query=(
            Parameter("under", "Only leaves below this node."),
        )),
    Operation("Market", "setOnline", "PATCH", "/v1/resources/{leaf:path}", OPERATE, market.done,
        "Take a leaf offline or bring it back", command=market.set_online,
        body=market.SetOnlineBody,
        problems=(Reason.SCOPE_UNKNOWN, Reason.NOT_A_LEAF, Reason.ALREADY_OFFLINE,
        Reason.ALREADY_ONLINE),
        description="Taking it offline ends its lease."),
    Operation("Market", "getLevels", "GET", "/v1/levels", LOOK, events.get_levels,
        "Get or stream the levels of every leaf", media=(JSON, STREAM),
        problems=(Code.TOO_MANY_SESSIONS, Code.STOPPING),
        description="With Accept: text/event-stream, the event levels comes first, then at most "
        "five times a second the event changed with the rows that have changed. A slow reader may "
        "miss intermediate values, but never the newest."),
    Operation("Market", "getBook", "GET", "/v1/books/{node:path}", LOOK, market.get_book,
        "Get the order book of a node", problems=(Reason.SCOPE_UNKNOWN,),
        description="Bids are the orders at the node and above it, by limit. Asks are the leaves "
        "below it, by the price that wins them."),
    Operation("Market", "getRates", "GET", "/v1/rates/{node:path}", LOOK, market.get_rates,
        "Get the rate history of a node",
        problems=(Reason.SCOPE_UNKNOWN, Code.PERIOD_INVALID, Reason.TIME_OUT_OF_RANGE),
        query=(
            Parameter("since", "The beginning, by default an hour ago. The answer begins later if "
                "older history is not kept, or would exceed the limit on segments.", "time"),
        ),
        description="The highest floor or bid of anyone on its path; at most the newest 2,000 "
        "segments."),
    Operation("Market", "listFloors", "GET", "/v1/floors", LOOK, market.list_floors, "List floors"),
    Operation("Market", "setFloor", "PUT", "/v1/floors/{node:path}", OPERATE, market.done,
        "Set the floor of a node", command=requests.SetFloor,
        problems=(Reason.SCOPE_UNKNOWN, Reason.PRICE_OUT_OF_RANGE)),
    Operation("Market", "removeFloor", "DELETE", "/v1/floors/{node:path}", OPERATE, market.done,
        "Remove the floor of a node", command=partial(requests.SetFloor, price=None),
        problems=(Reason.SCOPE_UNKNOWN,)),
    Operation("Market", "listControls", "GET", "/v1/controls", LOOK, market.list_controls,
        "List volatility controls"),
    Operation("Market", "setControls", "PUT", "/v1/controls/{node:path}", OPERATE, market.done,
        "Set the volatility controls of a node", command=requests.SetControls,
        problems=(Reason.SCOPE_UNKNOWN, Reason.CONTROLS_INVALID),
        description="Replaces all controls set at the node."),
    Operation("Market", "removeControls", "DELETE", "/v1/controls/{node:path}", OPERATE,
        market.done, "Remove the volatility controls of a node", command=requests.SetControls,
        problems=(Reason.SCOPE_UNKNOWN,)),
    Operation("InfraMaps", "reportInfraMaps", "PUT", "/v1/inframaps/{runner}", OPERATE,
        monitoring.report_inframaps, "Report the readings and decisions of InfraMaps",
        repeatable=True, large=True, body=InfraMapsReport, problems=(Reason.TIME_OUT_OF_RANGE,),
        description="Replaces the previous report. Reports change nothing in the market and are "
        "kept in memory only, so an Idempotency-Key is ignored."),
    Operation("InfraMaps", "getInfraMaps", "GET", "/v1/inframaps", LOOK, monitoring.get_inframaps,
        "Get the readings and pressures of InfraMaps", problems=(Reason.TIME_OUT_OF_RANGE,),
        query=(
            Parameter("since", "Only history after this time, which is at of an earlier answer. By "
                "default all.", "time"),
        ),
        description="The last report of every active runner, and the latest values and pressures "
        "of each map."),
    Operation("Tenants", "getMe", "GET", "/v1/me", ANY, tenants.get_me, "Get the holder of this "
        "key"),
    Operation("Tenants", "listTenants", "GET", "/v1/tenants", LOOK, tenants.list_tenants,
        "List tenants"),
    Operation("Tenants", "createTenant", "POST", "/v1/tenants", OPERATE, tenants.tenant_created,
        "Create a tenant", status=201, command=requests.CreateTenant,
        problems=(Code.CONFLICT, Reason.TENANT_INVALID)),
    Operation("Tenants", "getTenant", "GET", "/v1/tenants/{name}", LOOK, tenants.get_tenant,
        "Get a tenant", problems=(Code.NOT_FOUND,)),
    Operation("Tenants", "setCaps", "PATCH", "/v1/tenants/{name}", OPERATE, tenants.get_tenant,
        "Set a tenant's caps", command=requests.SetCaps, problems=(Code.NOT_FOUND,),
        description="The answer is the present tenant, also for a repeated request."),
    Operation("Tenants", "listTenantKeys", "GET", "/v1/tenants/{name}/keys", LOOK,
        tenants.list_keys, "List the keys of a tenant", problems=(Code.NOT_FOUND,)),
    Operation("Tenants", "issueTenantKey", "POST", "/v1/tenants/{name}/keys", OPERATE,
        tenants.issue_key, "Issue a key for a tenant", status=201, body=requests.IssueKey,
        problems=(Code.NOT_FOUND, Code.TOO_MANY_KEYS),
        description="The secret is shown only in this answer, not even in the answer to a repeated "
        "request."),
    Operation("Tenants", "listKeys", "GET", "/v1/keys", LOOK, tenants.list_keys,
        "List the operator's own keys"),
    Operation("Tenants", "issueKey", "POST", "/v1/keys", OPERATE, tenants.issue_key,
        "Issue a key for the operator", status=201, body=requests.IssueKey,
        problems=(Code.TOO_MANY_KEYS,),
        description="Its scopes are read and operate. The secret is shown only in this answer."),
    Operation("Tenants", "revokeKey", "DELETE", "/v1/keys/{id}", OPERATE, tenants.revoke_key,
        "Revoke any key", problems=(Code.NOT_FOUND,),
        description="The key is invalid at once; its sessions and streams end."),
    Operation("Console", "signIn", "POST", "/v1/signin", None, tenants.sign_in,
        "Sign in with a key in a browser", repeatable=True, body=requests.SignIn,
        problems=(*SIGNING, Code.UNAUTHENTICATED, Code.RATE_LIMITED, Code.STOPPING,
        Code.OVERLOADED, Code.JOURNAL_FAILED),
        description="The answer sets a cookie. For 12 hours it stands for the key in requests "
        "without an Authorization header. A repeated request signs in anew; an Idempotency-Key is "
        "ignored."),
    Operation("Console", "getSignIn", "GET", "/v1/signin", None, tenants.get_signin,
        "Get the signed-in holder", problems=(*SIGNING, Code.JOURNAL_FAILED),
        description="The holder that the request's cookie signs in; null without a valid cookie."),
    Operation("Console", "signOut", "DELETE", "/v1/signin", None, tenants.sign_out, "Sign out",
        repeatable=True, durable=False, problems=SIGNING,
        description="Ends the sign-in of the request's cookie and deletes the cookie. Succeeds "
        "without one, too."),
    Operation("Health", "getHealth", "GET", "/healthz", None, monitoring.get_health,
        "Check that the process is alive", durable=False),
    Operation("Health", "getReadiness", "GET", "/readyz", None, monitoring.get_readiness,
        "Check that the server is ready", durable=False,
        description="503 if it is not."),
    Operation("Health", "getMetrics", "GET", "/metrics", LOOK, monitoring.get_metrics,
        "Get metrics for Prometheus", media=("text/plain",),
        description="Needs no key with the setting server.metrics_open."),
    Operation("Health", "getOpenApi", "GET", "/openapi.json", None, monitoring.get_openapi,
        "This API as an OpenAPI document", durable=False),
    Operation("Health", "getDocs", "GET", "/docs", None, monitoring.get_docs,
        "This API as a page to read", durable=False, media=("text/html",)),
)  # fmt: skip
