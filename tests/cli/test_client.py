"""The command line as a client: what it sends, what it prints, and how it ends. The server is a
function from requests to canned answers."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from typer.testing import CliRunner, Result

from laissez.cli import commands, tables
from laissez.cli.app import app, main
from laissez.cli.kinds import SecretMissing
from laissez.cli.profiles import Target
from laissez.client import Client
from laissez.client.errors import Forbidden
from laissez.wire import books, events, figures, inframaps, views
from laissez.wire.problems import Code, ProblemError
from laissez.wire.requests import Alternative, Caps
from laissez.wire.webhooks import DeadLetter, Webhook, WebhookSecret
from support.client_methods import methods_of_operations

pytestmark = pytest.mark.once

AT = "2026-11-15T08:30:00.123456Z"
QUOTE = views.Quote("h100/rack1", "2.5", AT)
ORDER = views.Order(
    "ord_aaaaaaaa1", AT, (Alternative("h100", "3.5", "2"), Alternative("a100", "1", "1"))
)
LEASE = views.Lease(
    "lse_aaaaaaaa1",
    "h100/rack1/host1/gpu0",
    "ord_aaaaaaaa1",
    AT,
    "2.75",
    "2.5",
    None,
    None,
    "0.123456",
)
RUNNING = views.Instance(
    "ins_aaaaaaaa1", "running", "h100", "h100/rack1/host1/gpu0", "lse_aaaaaaaa1", "2.75", "3.5", AT
)
PENDING = views.Instance("ins_aaaaaaaa2", "pending", "h100", None, None, None, "3.5", AT)
PLACED = views.OrderDone("ord_aaaaaaaa1", "open", ORDER.alternatives, True, None, None, None, ())
FILLED = views.OrderDone(
    "ord_aaaaaaaa1", "filled", (), False, "lse_aaaaaaaa1", "h100/rack1/host1/gpu0", "2.5", ()
)
BILL = views.Bill(
    "ann",
    AT,
    AT,
    (views.BillLine("lease", "lse_aaaaaaaa1", "h100/rack1", AT, AT, "1.000000"),),
    "1.000000",
    "2.75",
)
TENANT = views.Tenant("ann", AT, Caps(open_orders=5), 1, 2, 1)
KEY = views.Key("key_1", "ann", "default", ("read", "trade"), AT, None, "lz_1_secret")
STARTED = events.Numbered(
    7, events.LeaseStarted(AT, "lse_aaaaaaaa1", "h100/gpu0", "ord_aaaaaaaa1", "2.5", "3.5", None)
)
DONE = views.Done(
    (events.Numbered(8, events.LeaseEnded(AT, "lse_b1", "h100/gpu0", "offline", "2", None), "bob"),)
)

BUDGET = figures.Budget(
    "250.000000", AT, "31.500000", "6.3", "218.500000", AT, "relinquish", "open", 12.6
)
OWN_CAPS = figures.SpendingCaps(
    figures.OwnCaps("40"), figures.OwnCaps(None, "90"), figures.OwnCaps("40", "90"), "12.5", "31"
)
SPENDING = figures.Spending("ann", "31.500000", "6.3", 2, 1, BUDGET)
_LOST = figures.PreviewEnded("h100/gpu0", "ann", "floor_raised", "2.5", "2")
PREVIEW = figures.PreviewDone(
    AT, (), 2, 1, 1, (figures.PreviewTenant("ann", 2, 0),), (_LOST,), "6", "5", 1, 0, 0, 1
)

HOOK_URL = "https://hooks.example.com/x"
HOOK = Webhook(
    "whk_aaaaaaaa1", HOOK_URL, ("lease.ended",), AT, "retrying", 41, 2, "status 503", AT, 1, 0
)
NEW_HOOK = msgspec.structs.replace(HOOK, secret="whsec_new")
HOOK_SECRET = WebhookSecret("whk_aaaaaaaa1", "whsec_new", AT)
OLD_HOOK_SECRET = msgspec.structs.replace(HOOK_SECRET, secret=None)

OLD_KEY = msgspec.structs.replace(KEY, secret=None)


class Server:
    """A server with prepared answers that records its requests."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.answers: dict[tuple[str, str], object] = {}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers[request.method, request.url.path]
        if isinstance(answer, ProblemError):
            return httpx.Response(
                answer.status,
                content=msgspec.json.encode(answer.problem()),
                headers={"content-type": "application/problem+json"},
            )
        if isinstance(answer, str):
            return httpx.Response(200, text=answer, headers={"content-type": "text/csv"})
        if isinstance(answer, list):
            answer = views.Page(tuple(answer), False, None)
        return httpx.Response(
            201 if request.method == "POST" else 200,
            content=msgspec.json.encode(answer),
            headers={"content-type": "application/json"},
        )

    @property
    def sent(self) -> tuple[str, str, Any]:
        request = self.requests[-1]
        return (
            request.method,
            request.url.raw_path.decode(),
            json.loads(request.content) if request.content else None,
        )


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the configuration of the user who runs the tests."""
    for variable in ("LAISSEZ_URL", "LAISSEZ_KEY", "LAISSEZ_KEY_FILE", "LAISSEZ_PROFILE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    fake = Server()

    def open_client(where: Target) -> Client:
        return Client(where.url, where.key, retries=0, transport=httpx.MockTransport(fake))

    monkeypatch.setattr(commands, "open_client", open_client)
    return fake


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


def lines(*arguments: str) -> list[list[str]]:
    done = run(*arguments)
    assert 0 == done.exit_code, done.output
    return [line.split() for line in done.stdout.splitlines()]


def code_of(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["laissez", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


NO_COMMAND = {
    "getLevels": "for the console's map",
    "getMarketHistory": "for the console's charts",
    "getRates": "for the console's charts",
    "reportInfraMaps": "`laissez operator` sends it through `laissez.live`",
    "sendBatch": "a command sends one change",
}


def test_every_operation_that_the_client_has_is_used_by_a_command() -> None:
    used = set()
    for file in Path(commands.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Attribute(ast.Name("client"), name):
                    used.add(name)
                case ast.Call(ast.Name("add" | "operation"), arguments):
                    used |= {str(one.value) for one in arguments if isinstance(one, ast.Constant)}
    methods = methods_of_operations()
    assert sorted(NO_COMMAND) == sorted(name for name in methods if not methods[name] & used)


BANDS = {
    "rise": {"fraction": "0.10", "seconds": 3600.0},
    "fall": {"fraction": "0.5", "seconds": 90.0},
    "hold_s": 900.0,
    "flash_s": 2.0,
}
ALTERNATIVES = [
    {"scope": "h100/rack1", "limit": "3.50", "bid": "2"},
    {"scope": "a100", "limit": "1"},
]
RAN = views.InstancesDone((RUNNING, PENDING), ())


@pytest.mark.parametrize(
    ("arguments", "asked", "answer", "sent"),
    [
        (
            "run --type h100 --count 2 --max-price 3.50",
            "POST /v1/instances",
            RAN,
            {"type": "h100", "count": 2, "max_price": "3.50"},
        ),
        (
            "run --near lse_a1 --level rack --max-price 3",
            "POST /v1/instances",
            RAN,
            {"near": "lse_a1", "level": "rack"},
        ),
        ("run --near lse_a1 --level 2 --max-price 3", "POST /v1/instances", RAN, {"level": 2}),
        (
            "orders place h100/rack1@2:3.50 a100@1",
            "POST /v1/orders",
            PLACED,
            {"alternatives": ALTERNATIVES},
        ),
        (
            "orders amend ord_a1 h100@4",
            "PUT /v1/orders/ord_a1",
            FILLED,
            {"alternatives": [{"scope": "h100", "limit": "4"}]},
        ),
        ("orders cancel ord_a1", "DELETE /v1/orders/ord_a1", PLACED, None),
        (
            "limit lse_a1 3.5",
            "PATCH /v1/leases/lse_a1",
            views.LeaseDone("lse_a1", "held", "3.5", ()),
            {"limit": "3.5"},
        ),
        (
            "limit lse_a1 none",
            "PATCH /v1/leases/lse_a1",
            views.LeaseDone("lse_a1", "held", None, ()),
            {"limit": None},
        ),
        (
            "release lse_a1",
            "DELETE /v1/leases/lse_a1",
            views.LeaseDone("lse_a1", "ended", None, ()),
            None,
        ),
        ("release ins_a1", "DELETE /v1/instances/ins_a1", RUNNING, None),
        ("floor set h100/rack1 2.5", "PUT /v1/floors/h100/rack1", DONE, {"price": "2.5"}),
        ("floor remove h100", "DELETE /v1/floors/h100", DONE, None),
        (
            "controls set h100 --rise 10%/1h --fall 0.5/90 --hold 15m --flash 2s",
            "PUT /v1/controls/h100",
            DONE,
            BANDS,
        ),
        ("controls remove h100", "DELETE /v1/controls/h100", DONE, None),
        ("resources offline h100/gpu0", "PATCH /v1/resources/h100/gpu0", DONE, {"online": False}),
        ("resources online h100/gpu0", "PATCH /v1/resources/h100/gpu0", DONE, {"online": True}),
        (
            "budget set 9.5 --action limits_to_floor --keep",
            "PUT /v1/budget",
            BUDGET,
            {"amount": "9.5", "action": "limits_to_floor"},
        ),
        ("budget remove", "DELETE /v1/budget", DONE, None),
        (
            "tenants create ann --open-orders 5",
            "POST /v1/tenants",
            TENANT,
            {"name": "ann", "caps": {"open_orders": 5}},
        ),
        (
            "tenants create ann --rate 40 --worst-rate none",
            "POST /v1/tenants",
            TENANT,
            {"name": "ann", "caps": {"rate": "40"}},
        ),
        (
            "tenants issue-key ann --scope read --name web",
            "POST /v1/tenants/ann/keys",
            KEY,
            {"scopes": ["read"], "name": "web"},
        ),
        (
            "tenants issue-key",
            "POST /v1/keys",
            KEY,
            {"scopes": ["read", "operate"], "name": "default"},
        ),
        ("tenants revoke-key key_1", "DELETE /v1/keys/key_1", KEY, None),
        (
            f"webhooks create {HOOK_URL}",
            "POST /v1/webhooks",
            NEW_HOOK,
            {"url": HOOK_URL, "types": None, "after": None},
        ),
        (
            f"webhooks create {HOOK_URL} --type a --type b --after 0",
            "POST /v1/webhooks",
            NEW_HOOK,
            {"types": ["a", "b"], "after": 0},
        ),
        ("webhooks delete whk_1", "DELETE /v1/webhooks/whk_1", DONE, None),
        ("webhooks rotate whk_1", "POST /v1/webhooks/whk_1/secret", HOOK_SECRET, None),
        ("webhooks redeliver whk_1 40", "POST /v1/webhooks/whk_1/redeliver", DONE, {"after": 40}),
    ],
)
def test_a_command_sends_what_it_says(
    server: Server, arguments: str, asked: str, answer: object, sent: Any
) -> None:
    method, path = asked.split()
    server.answers[method, path] = answer
    assert 0 == run(*arguments.split(), "--idempotency-key", "again-1").exit_code
    found = server.sent[2]
    assert (method, path) == server.sent[:2]
    assert sent == (found if found is None else {name: found.get(name) for name in sent})
    assert "again-1" == server.requests[-1].headers["idempotency-key"]
    in_json = run(*arguments.split(), "-o", "json")
    assert type(json.loads(in_json.stdout)) is dict


@pytest.mark.parametrize(
    ("arguments", "path", "answer", "row"),
    [
        ("quote h100/rack1", "/v1/prices", QUOTE, "h100/rack1 2.50 2026-11-15T08:30:00Z"),
        ("quote", "/v1/prices", [QUOTE], "h100/rack1 2.50 2026-11-15T08:30:00Z"),
        ("orders", "/v1/orders", [ORDER], ("ord_aaaaaaaa1 2026-11-15T08:30:00Z h100@2.00:3.50 "
            "a100@1.00")),
        ("orders history ord_1", "/v1/orders/ord_1/history", [STARTED],
            ("7 2026-11-15T08:30:00Z lease.started lease=lse_aaaaaaaa1 leaf=h100/gpu0 "
            "rate=2.5 limit=3.5 hold_until=none")),
        ("leases list", "/v1/leases", [LEASE], ("lse_aaaaaaaa1 h100/rack1/host1/gpu0 2.75 2.50 "
            "none 0.123456 2026-11-15T08:30:00Z")),
        ("instances", "/v1/instances", [RUNNING], ("ins_aaaaaaaa1 running h100/rack1/host1/gpu0 "
            "lse_aaaaaaaa1 2.75 3.50 2026-11-15T08:30:00Z")),
        ("price-history lse_1", "/v1/leases/lse_1/prices",
            views.PriceHistory("lse_1", "h100/gpu0",
                (views.PriceSegment(AT, AT, None, "1.000000"),)),
         "2026-11-15T08:30:00Z 2026-11-15T08:30:00Z summed up 1.000000"),
        ("tenants", "/v1/tenants", [TENANT], "ann 2026-11-15T08:30:00Z 2 1 1"),
        ("tenants spending", "/v1/spending", [SPENDING],
            "ann 31.500000 6.30 2 1 250.000000 218.500000 2026-11-15T08:30:00Z open relinquish"),
        ("tenants keys ann", "/v1/tenants/ann/keys", [OLD_KEY],
            "key_1 ann default read,trade 2026-11-15T08:30:00Z"),
        ("webhooks", "/v1/webhooks", [HOOK],
         f"whk_aaaaaaaa1 {HOOK_URL} lease.ended retrying 41 2 status 503 2026-11-15T08:30:00Z 1"),
        ("webhooks dead-letters whk_1", "/v1/webhooks/whk_1/dead-letters",
            [DeadLetter(3, 6, None, "too late", AT)],
         "3-6 2026-11-15T08:30:00Z too late"),
        ("floor", "/v1/floors", [views.Floor("h100", "2", "2.5")], "h100 2.00 2.50"),
        ("controls", "/v1/controls",
            [views.Controls("h100", events.Band("0.1", 3600), None, 900, None)],
            "h100 0.1/3600s 900"),
        ("resources list h100", "/v1/resources",
            [views.Resource("h100/gpu0", False, None, "2", None, "2")],
            "h100/gpu0 offline - 2.00 2.00"),
        ("topology h100", "/v1/topology", [views.Node("h100", "type", 1024, ("h100/rack1",))],
            "h100 type 1,024 1"),
        ("market", "/v1/market", views.MarketSummary(AT, 10, 9, 8, 7, 6, "12.345678", "20"),
            "2026-11-15T08:30:00Z 10 9 8 7 6 20.00 12.345678"),
    ],
)  # fmt: skip
def test_a_list_is_a_table_for_people_and_an_array_for_programs(
    server: Server, arguments: str, path: str, answer: object, row: str
) -> None:
    server.answers["GET", path] = answer
    assert row.split() == lines(*arguments.split())[1]
    assert 1 == len(json.loads(run(*arguments.split(), "-o", "json").stdout))


def test_the_history_of_an_order_has_the_fields_of_each_event(server: Server) -> None:
    order = ORDER.id
    told: tuple[events.Event, ...] = (
        events.OrderPlaced(AT, order, ORDER.alternatives, True),
        events.OrderAmended(AT, order, ORDER.alternatives[1:], False),
        events.OrderCancelled(AT, order),
        events.FeeCharged(AT, order, "h100", "0.5", AT),
    )
    server.answers["GET", "/v1/orders/ord_1/history"] = [
        events.Numbered(n, event, "ann") for n, event in enumerate(told, 1)
    ]
    at = "2026-11-15T08:30:00Z"
    assert [
        "EVENT AT TYPE TENANT DETAILS",
        f"1 {at} order.placed ann alternatives=h100@2.00:3.50,a100@1.00 clipped=yes",
        f"2 {at} order.amended ann alternatives=a100@1.00 clipped=no",
        f"3 {at} order.cancelled ann",
        f"4 {at} fee.charged ann scope=h100 rate=0.5 until={AT}",
    ] == [" ".join(line) for line in lines("orders", "history", "ord_1")]
    server.answers["GET", "/v1/orders/ord_1/history"] = []
    assert "its events are no longer kept\n" == run("orders", "history", "ord_1").stderr


def test_a_book_is_figures_then_bids_then_asks(server: Server) -> None:
    nothing = views.Controls("h100", None, None, None, None)
    full = books.NodeBook(
        "h100", "type", AT, 1024, 1000, 3, None, "1.5", "2", None, None, "4.5", None, nothing, 1, 0,
        2,
        (books.Bid("2.5", 1200, 1),), 7, (books.Ask("2", 4), books.Ask(None, 1)), 0,
    )  # fmt: skip
    server.answers["GET", "/v1/books/h100"] = full
    shown = lines("book", "h100")
    assert ["NODE", "h100"] == shown[0] and [
        "GPUS",
        "1,024,",
        "1,000",
        "online,",
        "3",
        "leased",
    ] in shown
    assert ["FLOOR", "$/h", "1.50", "in", "force,", "none", "set", "here"] in shown and [
        "CONTROLS",
        "none",
    ] in shown
    assert shown.index(["2.50", "1,200", "1"]) + 1 == shown.index(["and", "7", "more", "prices"])
    assert [["2.00", "4"], ["unavailable", "1"]] == shown[-2:]
    assert msgspec.json.encode(full).decode() == run("book", "h100", "-o", "json").stdout.strip()
    ruled = views.Controls("h100", events.Band("0.1", 3600), None, 900, 1.5)
    server.answers["GET", "/v1/books/h100"] = msgspec.structs.replace(
        full, controls_in_force=ruled, bids=(), asks=()
    )
    assert "rise 0.1/3600s, hold 900s, flash 1.5s" in run("book", "h100").stdout


@pytest.mark.parametrize(
    ("arguments", "path", "answer", "shown"),
    [
        ("orders show ord_1", "/v1/orders/ord_1", ORDER, ["ORDER", "ord_aaaaaaaa1"]),
        ("leases show lse_1", "/v1/leases/lse_1", LEASE, ["LEASE", "lse_aaaaaaaa1"]),
        ("tenants show ann", "/v1/tenants/ann", TENANT, ["TENANT", "ann"]),
        ("budget", "/v1/budget", BUDGET, ["BUDGET", "$", "250.000000"]),
        ("budget show --tenant ann", "/v1/budget", BUDGET, ["BUDGET", "$", "250.000000"]),
        ("caps --tenant ann", "/v1/caps", OWN_CAPS, ["RATE", "$/h", "12.50"]),
        ("tenants caps ann", "/v1/tenants/ann", TENANT, ["TENANT", "ann"]),
        ("webhooks show whk_1", "/v1/webhooks/whk_1", HOOK, ["WEBHOOK", "whk_aaaaaaaa1"]),
    ],
)
def test_one_thing_is_shown_as_a_block(
    server: Server, arguments: str, path: str, answer: object, shown: list[str]
) -> None:
    server.answers["GET", path] = answer
    assert shown == lines(*arguments.split())[0]
    assert (
        msgspec.json.encode(answer).decode() == run(*arguments.split(), "-o", "json").stdout.strip()
    )


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        ("floor set h100/rack1 2.5", {"type": "set_floor", "node": "h100/rack1", "price": "2.5"}),
        ("controls set h100 --hold 15m", {"type": "set_controls", "node": "h100", "hold_s": 900.0}),
        ("resources offline h100/gpu0", {"type": "take_offline", "leaf": "h100/gpu0"}),
        ("resources online h100/gpu0", {"type": "bring_online", "leaf": "h100/gpu0"}),
    ],
)
def test_a_preview_sends_nothing_else(server: Server, arguments: str, asked: object) -> None:
    server.answers["POST", "/v1/preview"] = PREVIEW
    shown = run(*arguments.split(), "--preview")
    assert (0, "2 leases would end and 1 start; 1 GPUs would change hands") == (
        shown.exit_code,
        shown.stdout.splitlines()[0],
    )
    assert ["ann", "2", "0"] in [
        line.split() for line in shown.stdout.splitlines()
    ] and "and 1 more" == shown.stdout.splitlines()[-1]
    assert (
        msgspec.json.encode(PREVIEW).decode()
        == run(*arguments.split(), "--preview", "-o", "json").stdout.strip()
    )
    assert {("POST", "/v1/preview")} == {
        (request.method, request.url.path) for request in server.requests
    }
    assert {"commands": [asked]} == server.sent[2]


def test_a_preview_of_a_refused_command_exits_with_1(server: Server) -> None:
    refused = figures.PreviewRefused(0, "scope_unknown", "there is no node 'moon'")
    server.answers["POST", "/v1/preview"] = msgspec.structs.replace(PREVIEW, refused=(refused,))
    done = run("floor", "set", "moon", "2", "--preview")
    assert (1, "", "laissez: it would be refused: there is no node 'moon' (scope_unknown)\n") == (
        done.exit_code,
        done.stdout,
        done.stderr,
    )


POWER = inframaps.MapShown(
    "row1",
    "power",
    ("h100/row1",),
    2.0,
    (inframaps.SignalRead("row1-power", 0.76, AT),),
    (inframaps.Pressed("h100/row1", 0.5),),
    history=(),
)
BUSY = inframaps.MapShown(
    "busy",
    "utilisation",
    ("h100", "a100", "b200"),
    1.0,
    (),
    (inframaps.Pressed("h100", 0.0),),
    history=(),
)
TERMS = (inframaps.FloorTerm("row1", 2.0, 0.5), inframaps.FloorTerm("busy", 1.0, 0.0))
FLOORS = (
    inframaps.FloorReport("h100", "2", "2", "2", None, ()),
    inframaps.FloorReport("h100/row1", "2", "4", "2", "4", TERMS),
)
ALARM = inframaps.AlarmReport("stale", "row1", "row1-power", AT, "found one 400 s old")
MAPS = inframaps.InfraMaps(
    AT, (inframaps.RunnerShown("site", AT, 10.0, True, (POWER, BUSY), FLOORS, (ALARM,)),)
)


def test_the_status_of_the_maps_has_readings_floors_and_alarms(
    server: Server,
) -> None:
    server.answers["GET", "/v1/inframaps"] = MAPS
    assert [
        "site: 2026-11-15T08:30:00Z, every 10 s: LATE, it has not reported since",
        "MAP KIND NODES SIGNAL VALUE WEIGHT PRESSURE",
        "row1 power h100/row1 row1-power 0.76 2 0.500",
        "busy utilisation h100 and 2 more 1 0.000",
        "",
        "FLOOR IN FORCE $/h ASKED $/h WANTED $/h FROM",
        "h100 2.00 2.00 2.00",
        "h100/row1 2.00 4.00 4.00 2.00 x (1 + 2 x 0.5 row1)",
        "",
        "ALARM WHERE SIGNAL SINCE REASON",
        "stale row1 row1-power 2026-11-15T08:30:00Z found one 400 s old",
    ] == [" ".join(line) for line in lines("operator", "status")]
    assert MAPS == msgspec.json.decode(
        run("operator", "status", "-o", "json").stdout, type=inframaps.InfraMaps
    )


def test_the_status_without_reports_says_so(server: Server) -> None:
    server.answers["GET", "/v1/inframaps"] = inframaps.InfraMaps(AT, ())
    done = run("operator", "status")
    assert (0, "", True) == (
        done.exit_code,
        done.stdout,
        "no maps have reported lately" in done.stderr,
    )
    assert [] == json.loads(run("operator", "status", "-o", "json").stdout)["runners"]


def test_invalid_names_of_runners_are_refused_at_once(tmp_path: Path) -> None:
    for name in ("", "a/b", "x" * 65, ".."):
        assert 2 == run("operator", "run", str(tmp_path / "maps.toml"), "--name", name).exit_code


def test_an_empty_list_says_so_on_standard_error(server: Server) -> None:
    server.answers["GET", "/v1/orders"] = []
    done = run("orders")
    assert (0, "", "no open orders\n") == (done.exit_code, done.stdout, done.stderr)
    assert [] == json.loads(run("orders", "-o", "json").stdout)


def test_the_outcome_of_an_order_is_one_line(server: Server) -> None:
    server.answers["POST", "/v1/orders"] = FILLED
    assert (
        "ord_aaaaaaaa1 filled: h100/rack1/host1/gpu0 is yours as lse_aaaaaaaa1, at 2.50 $/h\n"
        == run("orders", "place", "h100@3").stdout
    )
    server.answers["POST", "/v1/orders"] = PLACED
    assert (
        "ord_aaaaaaaa1 open: h100@2.00:3.50  a100@1.00 (clipped by the band in force)\n"
        == run("orders", "place", "h100@3").stdout
    )


def test_caps_change_only_where_they_are_given(server: Server) -> None:
    server.answers["GET", "/v1/tenants/ann"] = server.answers["PATCH", "/v1/tenants/ann"] = TENANT
    run("tenants", "caps", "ann", "--sessions", "3", "--open-orders", "default")
    assert ("PATCH", "/v1/tenants/ann", {"caps": {"sessions": 3}}) == server.sent


def test_a_kept_budget_keeps_its_action(server: Server) -> None:
    """Without --action, a budget that gives everything up must not become one that only warns."""
    server.answers["PUT", "/v1/budget"] = BUDGET
    server.answers["GET", "/v1/budget"] = BUDGET
    assert 0 == run("budget", "set", "300", "--keep").exit_code
    assert (
        "PUT",
        "/v1/budget",
        {"amount": "300", "action": "relinquish", "keep": True},
    ) == server.sent
    server.answers["GET", "/v1/budget"] = ProblemError(Code.NOT_FOUND, "no budget is set")
    assert 0 == run("budget", "set", "300", "--keep").exit_code
    assert ("PUT", "/v1/budget", {"amount": "300", "action": "warn", "keep": True}) == server.sent
    server.answers["GET", "/v1/budget"] = ProblemError(
        Code.FORBIDDEN, "expected a key that may read"
    )
    with pytest.raises(Forbidden):  # rather than guess
        run("budget", "set", "300", "--keep")


def test_a_new_budget_counts_from_now_and_reports_the_spending_before(
    server: Server,
) -> None:
    server.answers["GET", "/v1/budget"] = msgspec.structs.replace(
        BUDGET, since="2026-11-14T08:30:00.5Z"
    )
    server.answers["PUT", "/v1/budget"] = BUDGET
    done = run("budget", "set", "250", "-o", "json")
    assert ("PUT", "/v1/budget", {"amount": "250", "action": "warn", "keep": False}) == server.sent
    said = (
        "it counts from now; 31.500000 of the 250.000000 dollars before were spent since"
        " 2026-11-14T08:30:00Z (--keep would have counted on)"
    )
    assert f"{said}\n" == done.stderr and BUDGET == msgspec.json.decode(
        done.stdout, type=figures.Budget
    )


@pytest.mark.parametrize(
    ("ends", "state", "left", "shown"),
    [
        (AT, "spent", "0.000000", "2026-11-15T08:30:00Z"),
        (None, "spent", "0.1", "it is over"),
        (None, "open", "0.000000", "it is over"),
        (None, "open", "1", "far off"),
    ],
)
def test_the_end_of_a_budget_is_shown(
    server: Server, ends: str | None, state: str, left: str, shown: str
) -> None:
    server.answers["GET", "/v1/budget"] = msgspec.structs.replace(
        BUDGET, ends_at=ends, state=state, left=left
    )
    assert ["LASTS", "UNTIL", *shown.split()] in lines("budget")


@pytest.mark.parametrize(
    "before",
    [
        BUDGET,
        ProblemError(Code.NOT_FOUND, "no budget is set"),
        ProblemError(Code.FORBIDDEN, "may not read"),
    ],
)
def test_a_budget_without_a_visible_one_before_it_reports_no_spending(
    server: Server, before: object
) -> None:
    server.answers["GET", "/v1/budget"], server.answers["PUT", "/v1/budget"] = before, BUDGET
    assert (0, "") == ((done := run("budget", "set", "250")).exit_code, done.stderr)


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("--worst-rate 120", ("40", "120")),
        ("--rate none", (None, None)),
        ("--rate 7.5", ("7.5", None)),
    ],
)
def test_own_caps_change_only_where_they_are_given(
    server: Server, given: str, sent: tuple[str | None, str | None]
) -> None:
    server.answers["GET", "/v1/caps"] = server.answers["PUT", "/v1/caps"] = OWN_CAPS
    run("caps", "set", *given.split())
    assert ("PUT", "/v1/caps", {"rate": sent[0], "worst_rate": sent[1]}) == server.sent


def test_a_saved_key_is_private_and_not_shown(server: Server, tmp_path: Path) -> None:
    server.answers["POST", "/v1/tenants/ann/keys"] = KEY
    file = tmp_path / "ann.key"
    assert "secret" not in run("tenants", "issue-key", "ann", "--save", str(file)).output
    assert ("lz_1_secret\n", 0o600) == (file.read_text(), file.stat().st_mode & 0o777)
    asked = len(server.requests)
    with pytest.raises(Exception, match="expected the name of a new file"):
        run("tenants", "issue-key", "ann", "--save", str(file))
    assert asked == len(server.requests)


def test_a_saved_secret_of_a_webhook_is_not_shown(server: Server, tmp_path: Path) -> None:
    server.answers["POST", "/v1/webhooks/whk_1/secret"] = HOOK_SECRET
    file = tmp_path / "webhook.secret"
    assert "whsec_new" not in run("webhooks", "rotate", "whk_1", "--save", str(file)).output
    assert ("whsec_new\n", 0o600) == (file.read_text(), file.stat().st_mode & 0o777)


@pytest.mark.parametrize(
    ("path", "made", "command", "remedy"),
    [
        (
            "/v1/tenants/ann/keys",
            OLD_KEY,
            "tenants issue-key ann",
            "laissez tenants revoke-key key_1, and issue another",
        ),
        (
            "/v1/webhooks",
            HOOK,
            f"webhooks create {HOOK_URL}",
            "laissez webhooks rotate whk_aaaaaaaa1",
        ),
        (
            "/v1/webhooks/whk_1/secret",
            msgspec.structs.replace(HOOK_SECRET, secret=None),
            "webhooks rotate whk_1",
            "laissez webhooks rotate whk_aaaaaaaa1",
        ),
    ],
)
def test_an_answer_without_the_secret_is_an_error_with_a_remedy(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    made: object,
    command: str,
    remedy: str,
) -> None:
    """It had been saved as the word None, and shown as nothing at all, both with status 0."""
    server.answers["POST", path] = made
    file = tmp_path / "secret"
    for more in ([], ["-o", "json"], ["--save", str(file)]):
        with pytest.raises(
            SecretMissing, match=f"it is in the first answer to a request alone. Use {remedy}"
        ):
            run(*command.split(), *more)
    assert not file.exists()
    assert 2 == code_of(monkeypatch, *command.split())


def test_the_file_of_a_key_that_was_not_issued_is_removed(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers["POST", "/v1/tenants/ann/keys"] = ProblemError("too_many_keys", "two are live")
    assert 1 == code_of(
        monkeypatch, "tenants", "issue-key", "ann", "--save", str(tmp_path / "ann.key")
    )
    assert not (tmp_path / "ann.key").exists()


def test_run_waits_until_nothing_is_pending(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("laissez.cli.trading.sleep", lambda _: None)
    server.answers["POST", "/v1/instances"] = views.InstancesDone((PENDING,), ())
    server.answers["GET", f"/v1/instances/{PENDING.id}"] = msgspec.structs.replace(
        RUNNING, id=PENDING.id
    )
    done = run("run", "--type", "h100", "--max-price", "3", "--wait")
    assert (0, True) == (done.exit_code, "running" in done.stdout)
    server.answers["GET", f"/v1/instances/{PENDING.id}"] = msgspec.structs.replace(
        PENDING, state="stopped"
    )
    assert 1 == run("run", "--type", "h100", "--max-price", "3", "--wait").exit_code
    done = run("run", "--type", "h100", "--max-price", "3", "--wait", "--timeout", "0")
    assert (1, True) == (
        done.exit_code,
        "1 still pending" in done.stderr,
    )


def test_refused_instances_exit_with_1(server: Server) -> None:
    server.answers["POST", "/v1/instances"] = views.InstancesDone((RUNNING,), ("too_many_orders",))
    done = run("run", "--type", "h100", "--max-price", "3", "--count", "2")
    assert (1, "refused: too_many_orders\n") == (done.exit_code, done.stderr)


def test_a_bill_is_a_table_with_its_total_or_a_file(server: Server) -> None:
    server.answers["GET", "/v1/bills"] = BILL
    server.answers["GET", "/v1/me"] = views.Me("ann", "key_1", ("read",), Caps())
    assert run("bill").stdout.endswith(
        "ann owes 1.000000 $ for 2026-11-15T08:30:00Z until 2026-11-15T08:30:00Z; now 2.75 $/h\n"
    )
    assert "1.000000" == json.loads(run("bill", "-o", "json").stdout)["total"]
    server.answers["GET", "/v1/bills"] = "a,b\n1,2\n"
    assert "a,b\n1,2\n" == run("bill", "--format", "focus", "--since", "2026-11-01").stdout
    assert {"format": "focus", "since": "2026-11-01T00:00:00.000000Z"} == dict(
        server.requests[-1].url.params
    )


def test_the_operator_sees_the_debt_of_each_tenant(server: Server) -> None:
    server.answers["GET", "/v1/bills"] = [BILL]
    server.answers["GET", "/v1/me"] = views.Me("operator", "key_1", ("read", "operate"), Caps())
    assert ["ann", "2026-11-15T08:30:00Z", "2026-11-15T08:30:00Z", "1.000000", "2.75"] == run(
        "bill"
    ).stdout.splitlines()[1].split()
    assert ["1.000000"] == [bill["total"] for bill in json.loads(run("bill", "-o", "json").stdout)]


def test_the_operator_picks_one_tenants_events(server: Server) -> None:
    server.answers["GET", "/v1/events"] = list(DONE.events)
    assert ["8"] == [
        line.split()[0]
        for line in run("events", "--tenant", "bob", "--limit", "1").stdout.splitlines()
    ]
    assert {"tenant": "bob", "limit": "1"} == dict(server.requests[-1].url.params)


def test_events_are_lines(server: Server) -> None:
    server.answers["GET", "/v1/events"] = [STARTED, *DONE.events]
    first, second = run("events", "--after", "6").stdout.splitlines()
    facts = (
        "lease=lse_aaaaaaaa1 leaf=h100/gpu0 order=ord_aaaaaaaa1 rate=2.5 limit=3.5 hold_until=none"
    )
    assert f"7  2026-11-15T08:30:00Z  lease.started       {facts}" == first.strip()
    assert ["8", "2026-11-15T08:30:00Z", "lease.ended", "tenant=bob"] == second.split()[:4]
    assert [7, 8] == [
        json.loads(line)["n"] for line in run("events", "-o", "json").stdout.splitlines()
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        "run --type h100",
        "run --max-price 3",
        "run --type h100 --scope h100/rack1 --max-price 3",
        "run --near lse_1 --max-price 3",
        "run --type h100 --max-price 3,50",
        "run --type h100 --max-price 3 --count 0",
        "orders place",
        "orders place h100",
        "orders place h100@cheap",
        "orders sell",
        "limit lse_1 all",
        "release ord_1",
        "bill --since yesterday",
        "bill --since 2026-13-01",
        "bill --since 0001-01-01T00:00:00+14:00",
        "bill --until 9999-12-31T23:59:59-14:00",
        "bill --format csv -o json",
        "controls set h100",
        "floor set h100 2 --preview --idempotency-key again-1",
        "budget set much",
        "budget set 5 --action explode",
        "caps set --rate much",
        "controls set h100 --rise fast",
        "controls set h100 --hold soon",
        "tenants create ann --sessions none",
        "events --follow --tenant ann",
        "leases list -o text",
        "leases list --watch 0",
        "leases list --watch 99999999999999999999999",
        "events --limit 99999999999999999999999",
        "audit log --limit 99999999999999999999999",
        "leases list --key lz_1_secret",
    ],
)
def test_wrong_usage_exits_with_2_before_anything_is_sent(server: Server, arguments: str) -> None:
    assert 2 == run(*arguments.split()).exit_code
    assert [] == server.requests


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        ("limit_below_bid", 1),
        ("conflict", 1),
        ("bad_request", 1),
        ("history_gone", 1),
        ("unauthenticated", 3),
        ("forbidden", 3),
        ("not_found", 4),
        ("scope_unknown", 4),
        ("rate_limited", 5),
        ("overloaded", 5),
        ("internal", 5),
    ],
)
def test_a_problem_exits_with_its_code_and_one_line(
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    problem: str,
    code: int,
) -> None:
    server.answers["GET", "/v1/orders"] = ProblemError(problem, "so it is")
    assert code == code_of(monkeypatch, "orders", "list")
    assert f"laissez: so it is ({problem})\n" == capsys.readouterr().err


def test_a_missing_server_exits_with_5(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    monkeypatch.setattr(Server, "__call__", lambda self, request: refuse(request))
    assert 5 == code_of(monkeypatch, "orders", "list")


def test_an_unknown_outcome_exits_with_6_and_names_the_key(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lose(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("lost", request=request)

    monkeypatch.setattr(Server, "__call__", lambda self, request: lose(request))
    assert 6 == code_of(monkeypatch, "orders", "place", "h100@3", "--idempotency-key", "again-1")
    assert "again-1" in capsys.readouterr().err


def test_watch_repeats_a_list(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(tables, "sleep", sleep)
    server.answers["GET", "/v1/leases"] = [LEASE]
    done = run("leases", "--watch", "-o", "json")
    assert (130, 3, [2.0] * 3) == (done.exit_code, len(done.stdout.splitlines()), pauses)
    pauses.clear()
    assert 130 == run("leases", "list", "-w", "0.5").exit_code
    assert [0.5] * 3 == pauses
