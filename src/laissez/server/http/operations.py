"""Every operation of the API, in one table. The routes, the OpenAPI document and the readable page
are made from it and from nothing else."""

from __future__ import annotations

from laissez.market.reasons import Reason
from laissez.server.http import (
    bills,
    events,
    instances,
    market,
    monitoring,
    orders,
    signin,
    tenants,
    webhooks,
)
from laissez.server.http.events import STREAM
from laissez.server.http.operation import CURSOR, JSON, LIMIT, TENANT, Operation, Parameter
from laissez.wire import requests, views
from laissez.wire.books import Levels, NodeBook, RateHistory
from laissez.wire.events import Numbered
from laissez.wire.figures import (
    Budget,
    BudgetBody,
    MarketHistory,
    OwnCaps,
    Preview,
    PreviewDone,
    Spending,
    SpendingCaps,
)
from laissez.wire.inframaps import InfraMaps, InfraMapsReport
from laissez.wire.problems import Code
from laissez.wire.webhooks import DeadLetter, RedeliverBody, Webhook, WebhookBody, WebhookSecret

READ = ("read",)
TRADE = ("trade",)
OPERATE = ("operate",)
LOOK = ("read", "operate")  # of the operator
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

# The paths that are asked for most come first: routes are tried in this order.
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        noun="Orders", name="placeOrder", method="POST", path="/v1/orders", scopes=TRADE,
        carry_out=orders.place, status=201,
        summary="Place an order", body=requests.OrderBody, answer=views.OrderDone, problems=PLACING,
        description="An order wants one leaf; its alternatives say where it may be and at what "
        "price. It is filled at once or waits.",
    ),
    Operation(
        noun="Orders", name="listOrders", method="GET", path="/v1/orders", scopes=READ,
        carry_out=orders.list_orders, paged=True,
        summary="List open orders", answer=views.Page[views.Order], query=(TENANT,),
        problems=(Code.NOT_FOUND,),
        description="Oldest first. The operator gets those of all tenants.",
    ),
    Operation(
        noun="Orders", name="getOrder", method="GET", path="/v1/orders/{id}", scopes=READ,
        carry_out=orders.get_order,
        summary="An open order", answer=views.Order, problems=(Reason.NOT_YOUR_ORDER,),
    ),
    Operation(
        noun="Orders", name="amendOrder", method="PUT", path="/v1/orders/{id}", scopes=TRADE,
        carry_out=orders.amend,
        summary="Replace the alternatives of an open order", body=requests.OrderBody,
        answer=views.OrderDone, problems=(*ORDER_GONE, *PLACING),
        description="It keeps its id and goes to the back of the queue.",
    ),
    Operation(
        noun="Orders", name="cancelOrder", method="DELETE", path="/v1/orders/{id}", scopes=TRADE,
        carry_out=orders.cancel,
        summary="Cancel an open order", answer=views.OrderDone, problems=ORDER_GONE,
    ),
    Operation(
        noun="Orders", name="sendBatch", method="POST", path="/v1/batch",
        scopes=("trade", "operate"), carry_out=orders.batch, large=True,
        summary="Carry out many commands", body=requests.Batch, answer=views.BatchDone,
        description="One after the other; each succeeds or is refused by itself. Ids inside are "
        "ignored: the Idempotency-Key covers the whole.",
    ),
    Operation(
        noun="Prices", name="getPrices", method="GET", path="/v1/prices", scopes=READ,
        carry_out=market.get_prices, paged=True,
        summary="What it takes to win a leaf now", answer=(views.Page[views.Quote], views.Quote),
        problems=(Reason.SCOPE_UNKNOWN,),
        query=(Parameter("scope", "This scope alone; the answer is one quote. One that you may "
                "not see is answered like one that does not exist."),),
        description="Every scope of your pricing domain: the roots, and all that is above a leaf "
        "you hold.",
    ),
    Operation(
        noun="Leases", name="listLeases", method="GET", path="/v1/leases", scopes=READ,
        carry_out=orders.list_leases, paged=True,
        summary="List leases that last", answer=views.Page[views.Lease], query=(TENANT,),
        problems=(Code.NOT_FOUND,),
        description="Oldest first. The operator gets those of all tenants.",
    ),
    Operation(
        noun="Leases", name="getLease", method="GET", path="/v1/leases/{id}", scopes=READ,
        carry_out=orders.get_lease,
        summary="A lease that lasts", answer=views.Lease, problems=(Reason.NOT_YOUR_LEASE,),
    ),
    Operation(
        noun="Leases", name="setLimit", method="PATCH", path="/v1/leases/{id}", scopes=TRADE,
        carry_out=orders.set_limit,
        summary="Change the limit of a lease", body=requests.LimitBody, answer=views.LeaseDone,
        problems=(Reason.NOT_YOUR_LEASE, Reason.PRICE_OUT_OF_RANGE, Code.BUDGET_SPENT,
            Code.CAP_EXCEEDED),
        description="A limit below the rate ends the lease at once.",
    ),
    Operation(
        noun="Leases", name="relinquish", method="DELETE", path="/v1/leases/{id}", scopes=TRADE,
        carry_out=orders.relinquish,
        summary="Give a lease up", answer=views.LeaseDone, problems=(Reason.NOT_YOUR_LEASE,),
    ),
    Operation(
        noun="Leases", name="getLeasePrices", method="GET", path="/v1/leases/{id}/prices",
        scopes=READ, carry_out=orders.lease_prices,
        pays_by_item=True, summary="What a lease was charged, piece by piece",
        answer=views.PriceHistory, problems=(Reason.NOT_YOUR_LEASE,),
        description="Also of a lease that ended, as long as the books know it. The newest 2,000 "
        "pieces at most, fewer where many changes of price did not change the charge; all before"
        " them, and what is in closed books, is one piece without a rate.",
    ),
    Operation(
        noun="Instances", name="runInstances", method="POST", path="/v1/instances", scopes=TRADE,
        carry_out=instances.run, status=201,
        summary="Ask for instances", body=requests.RunInstances, answer=views.InstancesDone,
        problems=(*PLACING, Reason.NOT_YOUR_LEASE),
        description="Each is an order of its own that bids max_price. Those that cannot be had "
        "now are pending, and run when they can.",
    ),
    Operation(
        noun="Instances", name="listInstances", method="GET", path="/v1/instances", scopes=READ,
        carry_out=instances.list_instances, paged=True,
        summary="List pending and running instances", answer=views.Page[views.Instance],
        query=(TENANT,), problems=(Code.NOT_FOUND,),
        description="Every order that waits is a pending instance, every lease a running one.",
    ),
    Operation(
        noun="Instances", name="getInstance", method="GET", path="/v1/instances/{id}", scopes=READ,
        carry_out=instances.get_instance,
        summary="An instance", answer=views.Instance, problems=(Code.NOT_FOUND,),
        description="One that ran and stopped is shown as long as the books know it.",
    ),
    Operation(
        noun="Instances", name="stopInstance", method="DELETE", path="/v1/instances/{id}",
        scopes=TRADE, carry_out=instances.stop,
        summary="Stop an instance", answer=views.Instance, problems=(Code.NOT_FOUND, Code.CONFLICT),
        description="Cancels its order or gives its lease up.",
    ),
    Operation(
        noun="Bills", name="getBill", method="GET", path="/v1/bills", scopes=READ,
        carry_out=bills.get_bill, media=(JSON, "text/csv"),
        summary="What is owed", pays_by_item=True, answer=(views.Bill, views.Page[views.Bill]),
        problems=(Code.PERIOD_INVALID, Code.NOT_FOUND, Reason.TIME_OUT_OF_RANGE),
        query=(
            Parameter("since", "Where the period begins. Without since and until: everything "
                "until now.", "time"),
            Parameter("until", "Where the period ends: now or earlier.", "time"),
            Parameter("format", "json, csv, or focus: CSV with the columns of the FinOps Open "
                "Cost and Usage Specification.", bills.FORMATS),
            TENANT, LIMIT, CURSOR,
        ),
        description="Lines are rounded down to a millionth of a dollar; the total is rounded "
        "after adding up the exact charges, so it may be a little more than the sum of its lines."
        " Where the books are closed, a period may begin and end only where a statement does;"
        " every whole hour is such a time. The operator gets a page of all tenants' bills, or one"
        " tenant's.",
    ),
    Operation(
        noun="Bills", name="getBudget", method="GET", path="/v1/budget", scopes=READ,
        carry_out=bills.get_budget,
        summary="A tenant's budget, and how far it got", answer=Budget, adds_up=True,
        query=(TENANT,), problems=(Code.NOT_FOUND,),
        description="404 if none is set. The operator names the tenant.",
    ),
    Operation(
        noun="Bills", name="setBudget", method="PUT", path="/v1/budget", scopes=TRADE,
        carry_out=bills.set_budget,
        summary="Set a budget", body=BudgetBody, answer=Budget, adds_up=True,
        problems=(Code.NOT_FOUND, Code.BUDGET_SPENT),
        description="Dollars, counted from now on, in place of the budget before; with keep they "
        "count on from when that was set, and if more is spent already, it acts at once. Events"
        " tell when 50, 80 and 100 % are spent. At 100 % the action is carried out: warn does"
        " nothing more; the others cancel your orders and take no new ones, and limits_to_floor"
        " lowers every limit to the floor and gives up what is under a minimum hold, relinquish"
        " gives every lease up. Answered with the budget as it is now, also when sent again.",
    ),
    Operation(
        noun="Bills", name="removeBudget", method="DELETE", path="/v1/budget", scopes=TRADE,
        carry_out=bills.remove_budget,
        summary="Remove the budget", answer=views.Done, problems=(Code.NOT_FOUND,),
    ),
    Operation(
        noun="Bills", name="getOwnCaps", method="GET", path="/v1/caps", scopes=READ,
        carry_out=bills.get_caps,
        summary="What you may spend per hour at most", answer=SpendingCaps, adds_up=True,
        query=(TENANT,), problems=(Code.NOT_FOUND,),
        description="Caps of your own and the operator's; the lower of each is in force. The "
        "operator names the tenant.",
    ),
    Operation(
        noun="Bills", name="setOwnCaps", method="PUT", path="/v1/caps", scopes=TRADE,
        carry_out=bills.set_caps,
        summary="Cap what you spend per hour", body=OwnCaps, answer=SpendingCaps, adds_up=True,
        description="Replaces both of your own; null, or left out, is none. A cap ends nothing: "
        "orders and raised limits that could exceed it are refused. An order counts with its"
        " highest limit, whatever it bids. Answered with the caps as they are now, also when sent"
        " again.",
    ),
    Operation(
        noun="Bills", name="listSpending", method="GET", path="/v1/spending", scopes=READ,
        carry_out=bills.list_spending, paged=True,
        summary="What is owed and charged now, in one line each", answer=views.Page[Spending],
        query=(TENANT,), problems=(Code.NOT_FOUND,),
        description="A tenant gets its own line, the operator every tenant's.",
    ),
    Operation(
        noun="Events", name="getEvents", method="GET", path="/v1/events", scopes=READ,
        carry_out=events.list_events, paged=True, pays_by_item=True,
        summary="What happened", answer=views.Page[Numbered], media=(JSON, STREAM),
        problems=(Code.HISTORY_GONE, Code.TOO_MANY_SESSIONS, Code.NOT_FOUND),
        query=(Parameter("after", "Only events after this number. Without it: all that are kept; "
                "a stream: from now on.", "whole"), TENANT),
        description="With Accept: text/event-stream, events are sent as they happen: id is their "
        "number, event their type, data the same JSON; Last-Event-ID resumes. Notices"
        " (rate.changed, limit.near) have no id. A comment comes when nothing else does.",
    ),
    Operation(
        noun="Webhooks", name="createWebhook", method="POST", path="/v1/webhooks", scopes=CHANGE,
        carry_out=webhooks.create, status=201,
        summary="Have your events sent to an address", body=WebhookBody, answer=Webhook,
        problems=(Code.URL_NOT_ALLOWED, Code.TOO_MANY_WEBHOOKS, Code.HISTORY_GONE,
            Code.RATE_LIMITED),
        description="The secret that deliveries are signed with is in this answer, and in that of "
        "the same request sent again, and never shown otherwise. Events come in order, at least"
        " once, many in one request; what cannot be delivered within a day becomes a dead letter. "
        "With after, the key needs the scope read, too.",
    ),
    Operation(
        noun="Webhooks", name="listWebhooks", method="GET", path="/v1/webhooks", scopes=READ,
        carry_out=webhooks.list_webhooks, paged=True,
        summary="List your webhooks, and how far each got", answer=views.Page[Webhook],
    ),
    Operation(
        noun="Webhooks", name="getWebhook", method="GET", path="/v1/webhooks/{id}", scopes=READ,
        carry_out=webhooks.get_webhook,
        summary="A webhook, and how far it got", answer=Webhook, problems=(Code.NOT_FOUND,),
    ),
    Operation(
        noun="Webhooks", name="deleteWebhook", method="DELETE", path="/v1/webhooks/{id}",
        scopes=CHANGE, carry_out=webhooks.delete,
        summary="Delete a webhook", answer=views.Done, problems=(Code.NOT_FOUND, Code.RATE_LIMITED),
        description="Nothing is sent to it any more; a delivery under way ends. Its dead letters "
        "are dropped.",
    ),
    Operation(
        noun="Webhooks", name="rotateWebhookSecret", method="POST", path="/v1/webhooks/{id}/secret",
        scopes=CHANGE, carry_out=webhooks.rotate_secret,
        summary="Make a new secret for a webhook", answer=WebhookSecret,
        problems=(Code.NOT_FOUND, Code.CONFLICT, Code.RATE_LIMITED),
        description="For 24 hours deliveries are signed with the secret before it too. Rotated "
        "twice, an old secret signs nothing any more.",
    ),
    Operation(
        noun="Webhooks", name="redeliver", method="POST", path="/v1/webhooks/{id}/redeliver",
        scopes=CHANGE, carry_out=webhooks.redeliver,
        summary="Send events again", body=RedeliverBody, answer=views.Done,
        problems=(Code.NOT_FOUND, Code.HISTORY_GONE, Code.RATE_LIMITED),
        description="Everything after an event that is still kept. Dead letters after it are no "
        "longer dead. The key needs the scope read, too.",
    ),
    Operation(
        noun="Webhooks", name="listDeadLetters", method="GET",
        path="/v1/webhooks/{id}/dead-letters", scopes=READ, carry_out=webhooks.list_dead_letters,
        paged=True, pays_by_item=True, summary="What could not be delivered",
        answer=views.Page[DeadLetter], problems=(Code.NOT_FOUND,),
        description="Oldest first, the latest 1,000.",
    ),
    Operation(
        noun="Market", name="getTopology", method="GET", path="/v1/topology", scopes=READ,
        carry_out=market.get_topology, paged=True,
        pays_by_item=True, summary="What there is", answer=views.Page[views.Node],
        problems=(Reason.SCOPE_UNKNOWN,),
        query=(Parameter("node", "This node, followed by those right below it. Without it: the "
                "roots."),),
        description="Ten children count as much as one more node, in what a page may hold and in "
        "what it costs; at least one node is on it.",
    ),
    Operation(
        noun="Market", name="getMarket", method="GET", path="/v1/market", scopes=LOOK,
        of_operator=True, carry_out=monitoring.get_market,
        summary="The market in figures", answer=views.MarketSummary,
    ),
    Operation(
        noun="Market", name="getMarketHistory", method="GET", path="/v1/market/history",
        scopes=LOOK, of_operator=True, carry_out=monitoring.get_history,
        summary="The market in figures, every ten seconds of the last two hours",
        answer=MarketHistory,
        description="Kept in memory: it begins with the start of the server.",
    ),
    Operation(
        noun="Market", name="previewCommands", method="POST", path="/v1/preview", scopes=OPERATE,
        carry_out=orders.preview, large=True,
        summary="What commands would do", body=Preview, answer=PreviewDone, remembered=False,
        problems=(Code.STOPPING,),
        description="They are carried out one after the other on a copy of the process, exactly "
        "as they would be now, and nothing changes; so an Idempotency-Key is ignored. Only what"
        " happens at once is told. At most two are worked out at a time, each for at most eight"
        " seconds: beyond that, 503 overloaded.",
    ),
    Operation(
        noun="Market", name="listResources", method="GET", path="/v1/resources", scopes=LOOK,
        of_operator=True,
        carry_out=market.list_resources, paged=True,
        summary="List leaves", answer=views.Page[views.Resource],
        query=(Parameter("under", "Only those below this node."),),
        problems=(Reason.SCOPE_UNKNOWN,),
    ),
    Operation(
        noun="Market", name="setOnline", method="PATCH", path="/v1/resources/{leaf:path}",
        scopes=OPERATE, carry_out=market.set_online,
        summary="Take a leaf offline or bring it back", body=requests.ResourceBody,
        answer=views.Done,
        problems=(Reason.SCOPE_UNKNOWN, Reason.NOT_A_LEAF, Reason.ALREADY_OFFLINE,
            Reason.ALREADY_ONLINE),
        description="Taking it offline ends its lease.",
    ),
    Operation(
        noun="Market", name="getLevels", method="GET", path="/v1/levels", scopes=LOOK,
        of_operator=True, carry_out=events.get_levels, media=(JSON, STREAM),
        summary="Every leaf at a glance", answer=Levels,
        problems=(Code.TOO_MANY_SESSIONS, Code.STOPPING),
        description="With Accept: text/event-stream, an event levels comes first, then at most "
        "five times a second an event changed, with what is different since the one before:"
        " levels, not history. A reader that is slow misses steps in between and never the newest.",
    ),
    Operation(
        noun="Market", name="getBook", method="GET", path="/v1/books/{node:path}", scopes=LOOK,
        of_operator=True, carry_out=market.get_book,
        summary="What rests around a node and what could be had there", answer=NodeBook,
        problems=(Reason.SCOPE_UNKNOWN,),
        description="Bids are the orders at the node and above it, by limit; asks are the leaves "
        "below it, by what it takes to open them.",
    ),
    Operation(
        noun="Market", name="getRates", method="GET", path="/v1/rates/{node:path}", scopes=LOOK,
        of_operator=True, carry_out=market.get_rates,
        summary="What the rate of a node was, piece by piece", answer=RateHistory,
        problems=(Reason.SCOPE_UNKNOWN, Code.PERIOD_INVALID, Reason.TIME_OUT_OF_RANGE),
        query=(Parameter("since", "Where it begins: an hour ago unless given, and later where no "
                "more is kept or shown.", "time"),),
        description="The highest floor or bid on its path, of anyone; the newest 2,000 pieces at "
        "most.",
    ),
    Operation(
        noun="Market", name="listFloors", method="GET", path="/v1/floors", scopes=LOOK,
        of_operator=True, carry_out=market.list_floors, paged=True,
        summary="List floors", answer=views.Page[views.Floor],
    ),
    Operation(
        noun="Market", name="setFloor", method="PUT", path="/v1/floors/{node:path}", scopes=OPERATE,
        carry_out=market.set_floor,
        summary="Set the floor of a node", body=requests.FloorBody, answer=views.Done,
        problems=(Reason.SCOPE_UNKNOWN, Reason.PRICE_OUT_OF_RANGE),
    ),
    Operation(
        noun="Market", name="removeFloor", method="DELETE", path="/v1/floors/{node:path}",
        scopes=OPERATE, carry_out=market.remove_floor,
        summary="Remove the floor of a node", answer=views.Done, problems=(Reason.SCOPE_UNKNOWN,),
    ),
    Operation(
        noun="Market", name="listControls", method="GET", path="/v1/controls", scopes=LOOK,
        of_operator=True, carry_out=market.list_controls, paged=True,
        summary="List volatility controls", answer=views.Page[views.Controls],
    ),
    Operation(
        noun="Market", name="setControls", method="PUT", path="/v1/controls/{node:path}",
        scopes=OPERATE, carry_out=market.set_controls,
        summary="Set the volatility controls of a node", body=requests.ControlsBody,
        answer=views.Done,
        problems=(Reason.SCOPE_UNKNOWN, Reason.CONTROLS_INVALID),
        description="Replaces all that are set there.",
    ),
    Operation(
        noun="Market", name="removeControls", method="DELETE", path="/v1/controls/{node:path}",
        scopes=OPERATE, carry_out=market.remove_controls,
        summary="Remove the volatility controls of a node", answer=views.Done,
        problems=(Reason.SCOPE_UNKNOWN,),
    ),
    Operation(
        noun="InfraMaps", name="reportInfraMaps", method="PUT", path="/v1/inframaps/{runner}",
        scopes=OPERATE, carry_out=monitoring.report_inframaps,
        summary="Report what an operator's maps read and decided", body=InfraMapsReport,
        answer=views.Done, large=True, remembered=False,
        problems=(Reason.TIME_OUT_OF_RANGE,),
        description="Replaces the report before. It changes nothing in the market and is kept in "
        "memory alone, so an Idempotency-Key is ignored.",
    ),
    Operation(
        noun="InfraMaps", name="getInfraMaps", method="GET", path="/v1/inframaps", scopes=LOOK,
        of_operator=True, carry_out=monitoring.get_inframaps,
        summary="What operators' maps read and how hard they press", answer=InfraMaps,
        problems=(Reason.TIME_OUT_OF_RANGE,),
        query=(Parameter("since", "Of each map's history, only what came after this time: at of "
                "an earlier answer. Without it: all.", "time"),),
        description="The last report of every runner that was heard of lately, and the latest "
        "values and pressures of each map.",
    ),
    Operation(
        noun="Tenants", name="getMe", method="GET", path="/v1/me", scopes=ANY,
        carry_out=tenants.get_me, summary="Whose key this is", answer=views.Me,
    ),
    Operation(
        noun="Tenants", name="listTenants", method="GET", path="/v1/tenants", scopes=LOOK,
        of_operator=True, carry_out=tenants.list_tenants, paged=True,
        summary="List tenants", answer=views.Page[views.Tenant],
    ),
    Operation(
        noun="Tenants", name="createTenant", method="POST", path="/v1/tenants", scopes=OPERATE,
        carry_out=tenants.create_tenant, status=201,
        summary="Create a tenant", body=requests.CreateTenant, answer=views.Tenant,
        problems=(Code.CONFLICT, Reason.TENANT_INVALID),
    ),
    Operation(
        noun="Tenants", name="getTenant", method="GET", path="/v1/tenants/{name}", scopes=LOOK,
        of_operator=True, carry_out=tenants.get_tenant,
        summary="A tenant", answer=views.Tenant, problems=(Code.NOT_FOUND,),
    ),
    Operation(
        noun="Tenants", name="setCaps", method="PATCH", path="/v1/tenants/{name}", scopes=OPERATE,
        carry_out=tenants.set_caps,
        summary="Set what a tenant may do at most", body=requests.CapsBody, answer=views.Tenant,
        problems=(Code.NOT_FOUND,),
        description="Answered with the tenant as it is now, also when sent again.",
    ),
    Operation(
        noun="Tenants", name="listTenantKeys", method="GET", path="/v1/tenants/{name}/keys",
        scopes=LOOK, of_operator=True,
        carry_out=tenants.list_keys, paged=True,
        summary="List the keys of a tenant", answer=views.Page[views.Key],
        problems=(Code.NOT_FOUND,),
    ),
    Operation(
        noun="Tenants", name="issueTenantKey", method="POST", path="/v1/tenants/{name}/keys",
        scopes=OPERATE, carry_out=tenants.issue_key, status=201,
        summary="Issue a key for a tenant", body=requests.IssueKey, answer=views.Key,
        problems=(Code.NOT_FOUND, Code.TOO_MANY_KEYS),
        description="The secret is in this answer and never shown again, not even to the same "
        "request sent again.",
    ),
    Operation(
        noun="Tenants", name="listKeys", method="GET", path="/v1/keys", scopes=LOOK,
        of_operator=True, carry_out=tenants.list_keys, paged=True,
        summary="List the operator's own keys", answer=views.Page[views.Key],
    ),
    Operation(
        noun="Tenants", name="issueKey", method="POST", path="/v1/keys", scopes=OPERATE,
        carry_out=tenants.issue_key, status=201,
        summary="Issue a key for the operator", body=requests.IssueKey, answer=views.Key,
        problems=(Code.TOO_MANY_KEYS,),
        description="Its scopes are read and operate. The secret is in this answer and never "
        "shown again.",
    ),
    Operation(
        noun="Tenants", name="revokeKey", method="DELETE", path="/v1/keys/{id}", scopes=OPERATE,
        carry_out=tenants.revoke_key,
        summary="Revoke a key, anybody's", answer=views.Key, problems=(Code.NOT_FOUND,),
        description="It is worthless from then on; sessions and streams opened with it end.",
    ),
    Operation(
        noun="Console", name="signIn", method="POST", path="/v1/signin", scopes=None,
        carry_out=signin.sign_in, remembered=False,
        summary="Sign in with a key, in a browser", body=requests.SignIn, answer=views.Me,
        problems=(*SIGNING, Code.UNAUTHENTICATED, Code.RATE_LIMITED, Code.STOPPING, Code.OVERLOADED,
            Code.JOURNAL_FAILED),
        description="The answer sets a cookie that counts as the key for 12 hours wherever a "
        "request has no Authorization header. Sent again, it signs in anew; an Idempotency-Key"
        " means nothing here.",
    ),
    Operation(
        noun="Console", name="getSignIn", method="GET", path="/v1/signin", scopes=None,
        carry_out=signin.get_signin,
        summary="Who is signed in", answer=views.SignedIn, problems=(*SIGNING, Code.JOURNAL_FAILED),
        description="By the cookie that the request has; null if nobody is.",
    ),
    Operation(
        noun="Console", name="signOut", method="DELETE", path="/v1/signin", scopes=None,
        carry_out=signin.sign_out, remembered=False, durable=False,
        summary="Sign out", answer=views.SignedOut, problems=SIGNING,
        description="Ends the sign-in whose cookie the request has and takes the cookie back. "
        "Without one it is answered just so.",
    ),
    Operation(
        noun="Health", name="getHealth", method="GET", path="/healthz", scopes=None,
        carry_out=monitoring.get_health, durable=False,
        summary="Does the process answer?", answer=views.Health,
    ),
    Operation(
        noun="Health", name="getReadiness", method="GET", path="/readyz", scopes=None,
        carry_out=monitoring.get_readiness, durable=False,
        summary="Are requests taken?", answer=views.Health, description="503 if not.",
    ),
    Operation(
        noun="Health", name="getMetrics", method="GET", path="/metrics", scopes=LOOK,
        of_operator=True,
        carry_out=monitoring.get_metrics, media=("text/plain",),
        summary="Figures for Prometheus", description="Needs no key if the setting "
        "server.metrics_open says so.",
    ),
    Operation(
        noun="Health", name="getOpenApi", method="GET", path="/openapi.json", scopes=None,
        carry_out=monitoring.get_openapi, durable=False,
        summary="This API as an OpenAPI document",
    ),
    Operation(
        noun="Health", name="getDocs", method="GET", path="/docs", scopes=None,
        carry_out=monitoring.get_docs, durable=False, media=("text/html",),
        summary="This API as a page to read",
    ),
)  # fmt: skip
