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
CHANGE = ("trade", "operate")  # of whoever has it
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
# forbidden: not sent by the console's own page
SIGNING = (Code.FORBIDDEN, Code.BAD_REQUEST, Code.NOT_ACCEPTABLE, Code.INTERNAL)
ORDER_GONE = (Reason.NOT_YOUR_ORDER, Reason.ALREADY_FILLED)

OPERATIONS: tuple[Operation, ...] = (
    Operation("Orders", "placeOrder", "POST", "/v1/orders", TRADE, orders.order_done,
        "Place an order", status=201, command=requests.PlaceOrder, problems=PLACING,
        description="An order wants one leaf; its alternatives say where it may be and at what "
        "price. It is filled at once or waits."),
    Operation("Orders", "listOrders", "GET", "/v1/orders", READ, orders.list_orders,
        "List open orders", query=(TENANT,), problems=(Code.NOT_FOUND,),
        description="Oldest first. The operator gets those of all tenants."),
    Operation("Orders", "getOrder", "GET", "/v1/orders/{order}", READ, orders.get_order,
        "An open order", problems=(Reason.NOT_YOUR_ORDER,)),
    Operation("Orders", "amendOrder", "PUT", "/v1/orders/{order}", TRADE, orders.order_done,
        "Replace the alternatives of an open order", command=requests.AmendOrder,
        problems=(*ORDER_GONE, *PLACING),
        description="It keeps its id and goes to the back of the queue."),
    Operation("Orders", "cancelOrder", "DELETE", "/v1/orders/{order}", TRADE, orders.order_done,
        "Cancel an open order", command=requests.CancelOrder, problems=ORDER_GONE),
    Operation("Orders", "sendBatch", "POST", "/v1/batch", CHANGE, orders.batch,
        "Carry out many commands", large=True, body=requests.Batch,
        description="One after the other; each succeeds or is refused by itself. Ids inside are "
        "ignored: the Idempotency-Key covers the whole."),
    Operation("Prices", "getPrices", "GET", "/v1/prices", READ, market.get_prices,
        "What it takes to win a leaf now", problems=(Reason.SCOPE_UNKNOWN,),
        query=(
            Parameter("scope", "This scope alone; the answer is one quote. One that you may not "
                "see is answered like one that does not exist."),
        ),
        description="Every scope of your pricing domain: the roots, and all that is above a leaf "
        "you hold."),
    Operation("Leases", "listLeases", "GET", "/v1/leases", READ, orders.list_leases,
        "List leases that last", query=(TENANT,), problems=(Code.NOT_FOUND,),
        description="Oldest first. The operator gets those of all tenants."),
    Operation("Leases", "getLease", "GET", "/v1/leases/{lease}", READ, orders.get_lease,
        "A lease that lasts", problems=(Reason.NOT_YOUR_LEASE,)),
    Operation("Leases", "setLimit", "PATCH", "/v1/leases/{lease}", TRADE, orders.lease_done,
        "Change the limit of a lease", command=requests.SetLimit,
        problems=(Reason.NOT_YOUR_LEASE, Reason.PRICE_OUT_OF_RANGE, Code.BUDGET_SPENT,
        Code.CAP_EXCEEDED),
        description="A limit below the rate ends the lease at once."),
    Operation("Leases", "relinquish", "DELETE", "/v1/leases/{lease}", TRADE, orders.lease_done,
        "Give a lease up", command=requests.Relinquish, problems=(Reason.NOT_YOUR_LEASE,)),
    Operation("Leases", "getLeasePrices", "GET", "/v1/leases/{lease}/prices", READ,
        orders.lease_prices, "What a lease was charged, piece by piece", pays_by_item=True,
        problems=(Reason.NOT_YOUR_LEASE,),
        description="Also of a lease that ended, as long as the books know it. The newest 2,000 "
        "pieces at most, fewer where many changes of price did not change the charge; all before "
        "them, and what is in closed books, is one piece without a rate."),
    Operation("Instances", "runInstances", "POST", "/v1/instances", TRADE, instances.run,
        "Ask for instances", status=201, body=requests.RunInstances,
        problems=(*PLACING, Reason.NOT_YOUR_LEASE),
        description="Each is an order of its own that bids max_price. Those that cannot be had now "
        "are pending, and run when they can."),
    Operation("Instances", "listInstances", "GET", "/v1/instances", READ, instances.list_instances,
        "List pending and running instances", query=(TENANT,), problems=(Code.NOT_FOUND,),
        description="Every order that waits is a pending instance, every lease a running one."),
    Operation("Instances", "getInstance", "GET", "/v1/instances/{id}", READ, instances.get_instance,
        "An instance", problems=(Code.NOT_FOUND,),
        description="One that ran and stopped is shown as long as the books know it."),
    Operation("Instances", "stopInstance", "DELETE", "/v1/instances/{id}", TRADE, instances.stop,
        "Stop an instance", problems=(Code.NOT_FOUND, Code.CONFLICT),
        description="Cancels its order or gives its lease up."),
    Operation("Bills", "getBill", "GET", "/v1/bills", READ, bills.get_bill, "What is owed",
        pays_by_item=True, media=(JSON, "text/csv"),
        problems=(Code.PERIOD_INVALID, Code.NOT_FOUND, Reason.TIME_OUT_OF_RANGE),
        query=(
            Parameter("since", "Where the period begins. Without since and until: "
                "everything until now.", "time"),
            Parameter("until", "Where the period ends: now or earlier.", "time"),
            Parameter("format", "json, csv, or focus: CSV with the columns of the "
                "FinOps Open Cost and Usage Specification.", bills.FORMATS),
            TENANT,
        ),
        description="Lines are rounded down to a millionth of a dollar; the total is rounded after "
        "adding up the exact charges, so it may be a little more than the sum of its lines. Where "
        "the books are closed, a period may begin and end only where a statement does; every whole "
        "hour is such a time. The operator gets a page of all tenants' bills, or one tenant's."),
    Operation("Bills", "getBudget", "GET", "/v1/budget", READ, bills.get_budget,
        "A tenant's budget, and how far it got", adds_up=True, query=(TENANT,),
        problems=(Code.NOT_FOUND,),
        description="404 if none is set. The operator names the tenant."),
    Operation("Bills", "setBudget", "PUT", "/v1/budget", TRADE, bills.set_budget, "Set a budget",
        adds_up=True, body=BudgetBody, problems=(Code.NOT_FOUND, Code.BUDGET_SPENT),
        description="Dollars, counted from now on, in place of the budget before; with keep they "
        "count on from when that was set, and if more is spent already, it acts at once. Events "
        "tell when 50, 80 and 100 % are spent. At 100 % the action is carried out: warn does "
        "nothing more; the others cancel your orders and take no new ones, and limits_to_floor "
        "lowers every limit to the floor and gives up what is under a minimum hold, relinquish "
        "gives every lease up. Answered with the budget as it is now, also when sent again."),
    Operation("Bills", "removeBudget", "DELETE", "/v1/budget", TRADE, bills.remove_budget,
        "Remove the budget", problems=(Code.NOT_FOUND,)),
    Operation("Bills", "getOwnCaps", "GET", "/v1/caps", READ, bills.get_caps,
        "What you may spend per hour at most", adds_up=True, query=(TENANT,),
        problems=(Code.NOT_FOUND,),
        description="Caps of your own and the operator's; the lower of each is in force. The "
        "operator names the tenant."),
    Operation("Bills", "setOwnCaps", "PUT", "/v1/caps", TRADE, bills.set_caps,
        "Cap what you spend per hour", adds_up=True, body=OwnCaps,
        description="Replaces both of your own; null, or left out, is none. A cap ends nothing: "
        "orders and raised limits that could exceed it are refused. An order counts with its "
        "highest limit, whatever it bids. Answered with the caps as they are now, also when sent "
        "again."),
    Operation("Bills", "listSpending", "GET", "/v1/spending", READ, bills.list_spending,
        "What is owed and charged now, in one line each", query=(TENANT,),
        problems=(Code.NOT_FOUND,),
        description="A tenant gets its own line, the operator every tenant's."),
    Operation("Events", "getEvents", "GET", "/v1/events", READ, events.list_events, "What happened",
        pays_by_item=True, media=(JSON, STREAM),
        problems=(Code.HISTORY_GONE, Code.TOO_MANY_SESSIONS, Code.NOT_FOUND),
        query=(
            Parameter("after", "Only events after this number. Without it: all that are "
                "kept; a stream: from now on.", "whole"),
            TENANT,
        ),
        description="With Accept: text/event-stream, events are sent as they happen: id is their "
        "number, event their type, data the same JSON; Last-Event-ID resumes. Notices "
        "(rate.changed, limit.near) have no id. A comment comes when nothing else does."),
    Operation("Webhooks", "createWebhook", "POST", "/v1/webhooks", CHANGE, webhooks.create,
        "Have your events sent to an address", status=201, body=WebhookBody,
        problems=(Code.URL_NOT_ALLOWED, Code.TOO_MANY_WEBHOOKS, Code.HISTORY_GONE,
        Code.RATE_LIMITED),
        description="The secret that deliveries are signed with is in this answer, and in that of "
        "the same request sent again, and never shown otherwise. Events come in order, at least "
        "once, many in one request; what cannot be delivered within a day becomes a dead letter. "
        "With after, the key needs the scope read, too."),
    Operation("Webhooks", "listWebhooks", "GET", "/v1/webhooks", READ, webhooks.list_webhooks,
        "List your webhooks, and how far each got"),
    Operation("Webhooks", "getWebhook", "GET", "/v1/webhooks/{id}", READ, webhooks.get_webhook,
        "A webhook, and how far it got", problems=(Code.NOT_FOUND,)),
    Operation("Webhooks", "deleteWebhook", "DELETE", "/v1/webhooks/{id}", CHANGE, webhooks.delete,
        "Delete a webhook", problems=(Code.NOT_FOUND, Code.RATE_LIMITED),
        description="Nothing is sent to it any more; a delivery under way ends. Its dead letters "
        "are dropped."),
    Operation("Webhooks", "rotateWebhookSecret", "POST", "/v1/webhooks/{id}/secret", CHANGE,
        webhooks.rotate_secret, "Make a new secret for a webhook",
        problems=(Code.NOT_FOUND, Code.CONFLICT, Code.RATE_LIMITED),
        description="For 24 hours deliveries are signed with the secret before it too. Rotated "
        "twice, an old secret signs nothing any more."),
    Operation("Webhooks", "redeliver", "POST", "/v1/webhooks/{id}/redeliver", CHANGE,
        webhooks.redeliver, "Send events again", body=RedeliverBody,
        problems=(Code.NOT_FOUND, Code.HISTORY_GONE, Code.RATE_LIMITED),
        description="Everything after an event that is still kept. Dead letters after it are no "
        "longer dead. The key needs the scope read, too."),
    Operation("Webhooks", "listDeadLetters", "GET", "/v1/webhooks/{id}/dead-letters", READ,
        webhooks.list_dead_letters, "What could not be delivered", pays_by_item=True,
        problems=(Code.NOT_FOUND,),
        description="Oldest first, the latest 1,000."),
    Operation("Market", "getTopology", "GET", "/v1/topology", READ, market.get_topology,
        "What there is", pays_by_item=True, problems=(Reason.SCOPE_UNKNOWN,),
        query=(
            Parameter("node", "This node, followed by those right below it. Without it: the "
                "roots."),
        ),
        description="Ten children count as much as one more node, in what a page may hold and in "
        "what it costs; at least one node is on it."),
    Operation("Market", "getMarket", "GET", "/v1/market", LOOK, monitoring.get_market,
        "The market in figures"),
    Operation("Market", "getMarketHistory", "GET", "/v1/market/history", LOOK,
        monitoring.get_history, "The market in figures, every ten seconds of the last two hours",
        description="Kept in memory: it begins with the start of the server."),
    Operation("Market", "previewCommands", "POST", "/v1/preview", OPERATE, orders.preview,
        "What commands would do", repeatable=True, large=True, body=Preview,
        problems=(Code.STOPPING,),
        description="They are carried out one after the other on a copy of the process, exactly as "
        "they would be now, and nothing changes; so an Idempotency-Key is ignored. Only what "
        "happens at once is told. At most two are worked out at a time, each for at most eight "
        "seconds: beyond that, 503 overloaded."),
    Operation("Market", "listResources", "GET", "/v1/resources", LOOK, market.list_resources,
        "List leaves", problems=(Reason.SCOPE_UNKNOWN,),
        query=(
            Parameter("under", "Only those below this node."),
        )),
    Operation("Market", "setOnline", "PATCH", "/v1/resources/{leaf:path}", OPERATE, market.done,
        "Take a leaf offline or bring it back", command=market.set_online,
        body=market.SetOnlineBody,
        problems=(Reason.SCOPE_UNKNOWN, Reason.NOT_A_LEAF, Reason.ALREADY_OFFLINE,
        Reason.ALREADY_ONLINE),
        description="Taking it offline ends its lease."),
    Operation("Market", "getLevels", "GET", "/v1/levels", LOOK, events.get_levels,
        "Every leaf at a glance", media=(JSON, STREAM),
        problems=(Code.TOO_MANY_SESSIONS, Code.STOPPING),
        description="With Accept: text/event-stream, an event levels comes first, then at most "
        "five times a second an event changed, with what is different since the one before: "
        "levels, not history. A reader that is slow misses steps in between and never the newest."),
    Operation("Market", "getBook", "GET", "/v1/books/{node:path}", LOOK, market.get_book,
        "What rests around a node and what could be had there", problems=(Reason.SCOPE_UNKNOWN,),
        description="Bids are the orders at the node and above it, by limit; asks are the leaves "
        "below it, by what it takes to open them."),
    Operation("Market", "getRates", "GET", "/v1/rates/{node:path}", LOOK, market.get_rates,
        "What the rate of a node was, piece by piece",
        problems=(Reason.SCOPE_UNKNOWN, Code.PERIOD_INVALID, Reason.TIME_OUT_OF_RANGE),
        query=(
            Parameter("since", "Where it begins: an hour ago unless given, and later "
                "where no more is kept or shown.", "time"),
        ),
        description="The highest floor or bid on its path, of anyone; the newest 2,000 pieces at "
        "most."),
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
        description="Replaces all that are set there."),
    Operation("Market", "removeControls", "DELETE", "/v1/controls/{node:path}", OPERATE,
        market.done, "Remove the volatility controls of a node", command=requests.SetControls,
        problems=(Reason.SCOPE_UNKNOWN,)),
    Operation("InfraMaps", "reportInfraMaps", "PUT", "/v1/inframaps/{runner}", OPERATE,
        monitoring.report_inframaps, "Report what an operator's maps read and decided",
        repeatable=True, large=True, body=InfraMapsReport, problems=(Reason.TIME_OUT_OF_RANGE,),
        description="Replaces the report before. It changes nothing in the market and is kept in "
        "memory alone, so an Idempotency-Key is ignored."),
    Operation("InfraMaps", "getInfraMaps", "GET", "/v1/inframaps", LOOK, monitoring.get_inframaps,
        "What operators' maps read and how hard they press", problems=(Reason.TIME_OUT_OF_RANGE,),
        query=(
            Parameter("since", "Of each map's history, only what came after this time: "
                "at of an earlier answer. Without it: all.", "time"),
        ),
        description="The last report of every runner that was heard of lately, and the latest "
        "values and pressures of each map."),
    Operation("Tenants", "getMe", "GET", "/v1/me", ANY, tenants.get_me, "Whose key this is"),
    Operation("Tenants", "listTenants", "GET", "/v1/tenants", LOOK, tenants.list_tenants,
        "List tenants"),
    Operation("Tenants", "createTenant", "POST", "/v1/tenants", OPERATE, tenants.tenant_created,
        "Create a tenant", status=201, command=requests.CreateTenant,
        problems=(Code.CONFLICT, Reason.TENANT_INVALID)),
    Operation("Tenants", "getTenant", "GET", "/v1/tenants/{name}", LOOK, tenants.get_tenant,
        "A tenant", problems=(Code.NOT_FOUND,)),
    Operation("Tenants", "setCaps", "PATCH", "/v1/tenants/{name}", OPERATE, tenants.get_tenant,
        "Set what a tenant may do at most", command=requests.SetCaps, problems=(Code.NOT_FOUND,),
        description="Answered with the tenant as it is now, also when sent again."),
    Operation("Tenants", "listTenantKeys", "GET", "/v1/tenants/{name}/keys", LOOK,
        tenants.list_keys, "List the keys of a tenant", problems=(Code.NOT_FOUND,)),
    Operation("Tenants", "issueTenantKey", "POST", "/v1/tenants/{name}/keys", OPERATE,
        tenants.issue_key, "Issue a key for a tenant", status=201, body=requests.IssueKey,
        problems=(Code.NOT_FOUND, Code.TOO_MANY_KEYS),
        description="The secret is in this answer and never shown again, not even to the same "
        "request sent again."),
    Operation("Tenants", "listKeys", "GET", "/v1/keys", LOOK, tenants.list_keys,
        "List the operator's own keys"),
    Operation("Tenants", "issueKey", "POST", "/v1/keys", OPERATE, tenants.issue_key,
        "Issue a key for the operator", status=201, body=requests.IssueKey,
        problems=(Code.TOO_MANY_KEYS,),
        description="Its scopes are read and operate. The secret is in this answer and never shown "
        "again."),
    Operation("Tenants", "revokeKey", "DELETE", "/v1/keys/{id}", OPERATE, tenants.revoke_key,
        "Revoke a key, anybody's", problems=(Code.NOT_FOUND,),
        description="It is worthless from then on; sessions and streams opened with it end."),
    Operation("Console", "signIn", "POST", "/v1/signin", None, tenants.sign_in,
        "Sign in with a key, in a browser", repeatable=True, body=requests.SignIn,
        problems=(*SIGNING, Code.UNAUTHENTICATED, Code.RATE_LIMITED, Code.STOPPING,
        Code.OVERLOADED, Code.JOURNAL_FAILED),
        description="The answer sets a cookie that counts as the key for 12 hours wherever a "
        "request has no Authorization header. Sent again, it signs in anew; an Idempotency-Key "
        "means nothing here."),
    Operation("Console", "getSignIn", "GET", "/v1/signin", None, tenants.get_signin,
        "Who is signed in", problems=(*SIGNING, Code.JOURNAL_FAILED),
        description="By the cookie that the request has; null if nobody is."),
    Operation("Console", "signOut", "DELETE", "/v1/signin", None, tenants.sign_out, "Sign out",
        repeatable=True, durable=False, problems=SIGNING,
        description="Ends the sign-in whose cookie the request has and takes the cookie back. "
        "Without one it is answered just so."),
    Operation("Health", "getHealth", "GET", "/healthz", None, monitoring.get_health,
        "Does the process answer?", durable=False),
    Operation("Health", "getReadiness", "GET", "/readyz", None, monitoring.get_readiness,
        "Are requests taken?", durable=False,
        description="503 if not."),
    Operation("Health", "getMetrics", "GET", "/metrics", LOOK, monitoring.get_metrics,
        "Figures for Prometheus", media=("text/plain",),
        description="Needs no key if the setting server.metrics_open says so."),
    Operation("Health", "getOpenApi", "GET", "/openapi.json", None, monitoring.get_openapi,
        "This API as an OpenAPI document", durable=False),
    Operation("Health", "getDocs", "GET", "/docs", None, monitoring.get_docs,
        "This API as a page to read", durable=False, media=("text/html",)),
)  # fmt: skip
