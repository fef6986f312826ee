"""Bodies that must not be taken: texts that are no JSON, values that are none of what a field
takes. Sent as requests and as messages."""

from __future__ import annotations

from typing import Any

import msgspec

from laissez_check.wire.bad_inputs import (
    AS_OPERATOR,
    AS_TENANT,
    JSON_TYPE,
    LEASE,
    Request,
    bad,
    request,
)

MARK = b"@"  # where a message of a session says what it is
GOOD = b'{@"alternatives":[{"scope":"gpu","limit":"1"}]}'
DEEP = 5_000


def _order(alternative: bytes) -> bytes:
    return b'{@"alternatives":[' + alternative + b"]}"


def _limit(written: bytes) -> bytes:
    return _order(b'{"scope":"gpu","limit":' + written + b"}")


def _scope(written: bytes) -> bytes:
    return _order(b'{"scope":' + written + b',"limit":"1"}')


MALFORMED = "malformed"
ENDS = "truncated"
NOT_TEXT = "`$.alternatives[0].limit`"
NO_PRICE = "expected dollars per hour"
TWICE = "expected each name once"

# What an order may not be: the text and a word of the answer.
ORDERS: dict[str, tuple[bytes, str]] = {
    # cut off
    **{
        f"cut off after {size} bytes": (GOOD[:size], ENDS)
        for size in (1, 5, 16, 17, 18, 20, 26, 27, 30, 33, 34, 40, 41, 42, 43, 44)
    },
    "nothing but space": (b"   ", ENDS),
    "the bytes of another order after it": (GOOD + GOOD, MALFORMED),
    "a comma too many in an object": (_order(b'{"scope":"gpu","limit":"1",}'), MALFORMED),
    "a comma too many in a list": (b'{@"alternatives":[{"scope":"gpu","limit":"1"},]}', MALFORMED),
    "no comma": (_order(b'{"scope":"gpu" "limit":"1"}'), MALFORMED),
    "no colon": (_order(b'{"scope" "gpu","limit":"1"}'), MALFORMED),
    "single quotes": (_order(b"{'scope':'gpu','limit':'1'}"), MALFORMED),
    "names without quotes": (_order(b'{scope:"gpu",limit:"1"}'), MALFORMED),
    "a comment": (b'{@/* one */"alternatives":[]}', MALFORMED),
    "a mark of byte order before it": (b"\xef\xbb\xbf" + GOOD, MALFORMED),
    "in UTF-16": (GOOD.replace(MARK, b"").decode().encode("utf-16"), MALFORMED),
    "a NUL after it": (GOOD + b"\x00", MALFORMED),
    "a NUL inside": (_scope(b'"g\x00pu"'), MALFORMED),
    "a line break inside of a text": (_scope(b'"g\npu"'), MALFORMED),
    "an unknown escape": (_scope(b'"g\\xpu"'), MALFORMED),
    "half an escape": (_scope(b'"g\\u00"'), MALFORMED),
    "bytes that are no UTF-8": (_scope(b'"\xff\xfe"'), "utf-8"),
    "a byte too many for UTF-8": (_scope(b'"\xc0\xaf"'), "utf-8"),
    "a surrogate in UTF-8": (_scope(b'"\xed\xa0\x80"'), "utf-8"),
    "a lone high surrogate": (_scope(b'"\\ud800"'), "surrogate"),
    "a lone low surrogate": (_scope(b'"\\udc00"'), "surrogate"),
    "two high surrogates": (_scope(b'"\\ud800\\ud800"'), "surrogate"),
    # deep
    "lists in lists without end": (b"[" * DEEP, "Expected `object`, got `array`"),
    "lists in lists, closed": (
        b'{@"alternatives":' + b"[" * DEEP + b"]" * DEEP + b"}",
        "Expected `object`, got `array`",
    ),
    "objects in objects": (
        b'{@"alternatives":' + b'{"a":' * 1_000 + b"1" + b"}" * 1_000 + b"}",
        "Expected `array`, got `object`",
    ),
    # numbers where a price belongs
    **{
        f"{written} as a price": (_limit(written.encode()), NOT_TEXT)
        for written in (
            "1",
            "0",
            "-0",
            "1.5",
            "-1",
            "1e3",
            "1e-400",
            "9" * 400,
            "18446744073709551616",
            "true",
            "null",
            "[]",
            "{}",
            '["1"]',
        )
    },
    "1e400 as a price": (_limit(b"1e400"), "out of range"),
    "NaN as a price": (_limit(b"NaN"), MALFORMED),
    "Infinity as a price": (_limit(b"Infinity"), MALFORMED),
    "-Infinity as a price": (_limit(b"-Infinity"), MALFORMED),
    "hexadecimal as a price": (_limit(b"0x10"), NOT_TEXT),
    "01 as a price": (_limit(b"01"), MALFORMED),
    ".5 as a price": (_limit(b".5"), MALFORMED),
    # texts that are no price
    **{
        f"a price that says {text!r}": (_limit(b'"' + text.encode() + b'"'), NO_PRICE)
        for text in (
            "",
            " ",
            "1 ",
            " 1",
            "+1",
            "-1",
            "-0",
            "1.",
            ".5",
            "1,5",
            "1.0000001",
            "1e3",
            "1e400",
            "0x1",
            "NaN",
            "nan",
            "Infinity",
            "-inf",
            "1_000",
            "one",
            "1.2.3",
            "\u0661",
            "\uff11",
            "1\u00a0",
            "\u00b2",
            "1/2",
            "$1",
        )
    },
    "a price of 5,000 digits": (_limit(b'"' + b"9" * 5_000 + b'"'), "expected"),
    "a price above all": (_limit(b'"10000.000001"'), "expected at most 10000"),
    "a price with a NUL": (_limit(b'"1\\u0000"'), NO_PRICE),
    "a price with a line break": (_limit(b'"1\\n"'), NO_PRICE),
    # of another shape
    "null": (b"null", "Expected"),
    "true": (b"true", "Expected"),
    "a number": (b"1", "Expected"),
    "a text": (b'"order"', "Expected"),
    "a list of numbers": (b"[1]", "Expected"),
    "no alternatives": (b'{@"x":1}', "x"),
    "alternatives that are null": (b'{@"alternatives":null}', "Expected `array`, got `null`"),
    "alternatives that are a text": (b'{@"alternatives":"gpu"}', "Expected `array`, got `str`"),
    "alternatives that are an object": (
        b'{@"alternatives":{"scope":"gpu","limit":"1"}}',
        "Expected `array`, got `object`",
    ),
    "an alternative that is null": (_order(b"null"), "Expected `object`, got `null`"),
    "an alternative that is a list": (_order(b'["gpu","1"]'), "Expected `object`, got `array`"),
    "an alternative without a limit": (
        _order(b'{"scope":"gpu"}'),
        "missing required field `limit`",
    ),
    "an alternative without a scope": (_order(b'{"limit":"1"}'), "missing required field `scope`"),
    "a scope that is a number": (_scope(b"7"), "`$.alternatives[0].scope`"),
    "a scope that is null": (_scope(b"null"), "`$.alternatives[0].scope`"),
    "a scope longer than any path": (_scope(b'"' + b"x" * 5_000 + b'"'), "at most"),
    "a bid that is a number": (
        _order(b'{"scope":"gpu","limit":"1","bid":1}'),
        "`$.alternatives[0].bid`",
    ),
    "a bid that is no price": (_order(b'{"scope":"gpu","limit":"1","bid":"x"}'), NO_PRICE),
    "an unknown field": (
        b'{@"colour":"red","alternatives":[{"scope":"gpu","limit":"1"}]}',
        "unknown field `colour`",
    ),
    "an unknown field inside": (
        _order(b'{"scope":"gpu","limit":"1","colour":"red"}'),
        "unknown field `colour`",
    ),
    "a field in capitals": (_order(b'{"Scope":"gpu","limit":"1"}'), "unknown field `Scope`"),
    "an unknown field of a prototype": (
        _order(b'{"scope":"gpu","limit":"1","__proto__":{}}'),
        "unknown field `__proto__`",
    ),
    # a name given twice
    "alternatives given twice": (
        b'{@"alternatives":[],"alternatives":[{"scope":"gpu","limit":"1"}]}',
        TWICE,
    ),
    "a limit given twice": (_order(b'{"scope":"gpu","limit":"1","limit":"2"}'), TWICE),
    "a limit given twice alike": (_order(b'{"scope":"gpu","limit":"1","limit":"1"}'), TWICE),
    "a scope given twice, once with an escape": (
        _order(b'{"scope":"gpu","\\u0073cope":"cpu","limit":"1"}'),
        TWICE,
    ),
    "a name given twice in the second of two": (
        _order(b'{"scope":"gpu","limit":"1"},{"scope":"cpu","limit":"1","scope":"cpu"}'),
        TWICE,
    ),
}

OTHERS: tuple[tuple[str, str, str, bytes, str], ...] = (
    (
        "a limit that is missing",
        "PATCH",
        f"/v1/leases/{LEASE}",
        b"{}",
        "missing required field `limit`",
    ),
    ("a limit that is a number", "PATCH", f"/v1/leases/{LEASE}", b'{"limit":2}', "`$.limit`"),
    ("a limit that is a list", "PATCH", f"/v1/leases/{LEASE}", b'{"limit":["2"]}', "`$.limit`"),
    (
        "a limit given twice, null last",
        "PATCH",
        f"/v1/leases/{LEASE}",
        b'{"limit":"2","limit":null}',
        TWICE,
    ),
    ("no commands", "POST", "/v1/batch", b'{"commands":[]}', "expected 1 to 500"),
    (
        "commands without a type",
        "POST",
        "/v1/batch",
        b'{"commands":[{"order":"x"}]}',
        "missing required field `type`",
    ),
    ("commands of no type", "POST", "/v1/batch", b'{"commands":[{"type":"buy"}]}', "buy"),
    (
        "a type that is a number",
        "POST",
        "/v1/batch",
        b'{"commands":[{"type":1}]}',
        "`$.commands[0].type`",
    ),
    ("a question in a batch", "POST", "/v1/batch", b'{"commands":[{"type":"ping"}]}', "ping"),
    (
        "more commands than may be",
        "POST",
        "/v1/batch",
        b'{"commands":[' + b",".join([b'{"type":"cancel_order","order":"x"}'] * 501) + b"]}",
        "500",
    ),
    (
        "a type given twice",
        "POST",
        "/v1/batch",
        b'{"commands":[{"type":"ping","type":"cancel_order","order":"x"}]}',
        "",
    ),
    (
        "instances of everything",
        "POST",
        "/v1/instances",
        b'{"type":"gpu","scope":"gpu","max_price":"1"}',
        "exactly one",
    ),
    ("instances of nothing", "POST", "/v1/instances", b'{"max_price":"1"}', "exactly one"),
    ("no instances", "POST", "/v1/instances", b'{"type":"gpu","count":0,"max_price":"1"}', "count"),
    (
        "instances less than none",
        "POST",
        "/v1/instances",
        b'{"type":"gpu","count":-1,"max_price":"1"}',
        "count",
    ),
    (
        "half an instance",
        "POST",
        "/v1/instances",
        b'{"type":"gpu","count":1.5,"max_price":"1"}',
        "`$.count`",
    ),
    (
        "1e400 instances",
        "POST",
        "/v1/instances",
        b'{"type":"gpu","count":1e400,"max_price":"1"}',
        "out of range",
    ),
    (
        "more instances than fit 64 bits",
        "POST",
        "/v1/instances",
        b'{"type":"gpu","count":18446744073709551616,"max_price":"1"}',
        "count",
    ),
    (
        "instances as text",
        "POST",
        "/v1/instances",
        b'{"type":"gpu","count":"1","max_price":"1"}',
        "`$.count`",
    ),
    (
        "a tree with a slash",
        "POST",
        "/v1/instances",
        b'{"type":"gpu/a","max_price":"1"}',
        "name of a tree",
    ),
    (
        "near without a level",
        "POST",
        "/v1/instances",
        b'{"near":"%b","max_price":"1"}' % LEASE.encode(),
        "level",
    ),
    (
        "a level below the leaf",
        "POST",
        "/v1/instances",
        b'{"near":"%b","level":-1,"max_price":"1"}' % LEASE.encode(),
        "level",
    ),
    (
        "a level that is no number",
        "POST",
        "/v1/instances",
        b'{"near":"%b","level":1.5,"max_price":"1"}' % LEASE.encode(),
        "`$.level`",
    ),
    (
        "a level of no name",
        "POST",
        "/v1/instances",
        b'{"near":"%b","level":"street","max_price":"1"}' % LEASE.encode(),
        "level",
    ),
    ("a budget that is a number", "PUT", "/v1/budget", b'{"amount":250}', "`$.amount`"),
    ("a budget below zero", "PUT", "/v1/budget", b'{"amount":"-1"}', "expected dollars"),
    (
        "a budget of seven decimals",
        "PUT",
        "/v1/budget",
        b'{"amount":"1.0000001"}',
        "expected dollars",
    ),
    (
        "a budget without end",
        "PUT",
        "/v1/budget",
        b'{"amount":"' + b"9" * 13 + b'"}',
        "expected at most",
    ),
    ("a budget kept with a word", "PUT", "/v1/budget", b'{"amount":"1","keep":"yes"}', "`$.keep`"),
    ("a budget given twice", "PUT", "/v1/budget", b'{"amount":"1","amount":"2"}', TWICE),
)

OPERATORS: tuple[tuple[str, str, str, bytes, str], ...] = (
    ("a floor that is a number", "PUT", "/v1/floors/gpu", b'{"price":1}', "`$.price`"),
    ("a floor without a price", "PUT", "/v1/floors/gpu", b"{}", "`price`"),
    ("a floor below zero", "PUT", "/v1/floors/gpu", b'{"price":"-1"}', NO_PRICE),
    ("a floor given twice", "PUT", "/v1/floors/gpu", b'{"price":"1","price":"2"}', TWICE),
    ("a hold of no time", "PUT", "/v1/controls/gpu", b'{"hold_s":0}', "hold_s"),
    ("a hold below zero", "PUT", "/v1/controls/gpu", b'{"hold_s":-1}', "hold_s"),
    ("a hold of 1e300 seconds", "PUT", "/v1/controls/gpu", b'{"hold_s":1e300}', "hold_s"),
    ("a hold of 1e400 seconds", "PUT", "/v1/controls/gpu", b'{"hold_s":1e400}', "out of range"),
    ("a hold of NaN", "PUT", "/v1/controls/gpu", b'{"hold_s":NaN}', MALFORMED),
    ("a hold as text", "PUT", "/v1/controls/gpu", b'{"hold_s":"60"}', "`$.hold_s`"),
    ("a hold that is true", "PUT", "/v1/controls/gpu", b'{"hold_s":true}', "`$.hold_s`"),
    (
        "a band without its time",
        "PUT",
        "/v1/controls/gpu",
        b'{"rise":{"fraction":"0.1"}}',
        "missing required field `seconds`",
    ),
    (
        "a band whose fraction is a number",
        "PUT",
        "/v1/controls/gpu",
        b'{"rise":{"fraction":0.1,"seconds":60}}',
        "`$.rise.fraction`",
    ),
    (
        "a band whose fraction is a word",
        "PUT",
        "/v1/controls/gpu",
        b'{"rise":{"fraction":"ten","seconds":60}}',
        "rise.fraction",
    ),
    ("a band given twice", "PUT", "/v1/controls/gpu", b'{"rise":null,"rise":null}', TWICE),
    ("online as text", "PATCH", "/v1/resources/gpu/a/r1/g1", b'{"online":"yes"}', "`$.online`"),
    ("online as a number", "PATCH", "/v1/resources/gpu/a/r1/g1", b'{"online":1}', "`$.online`"),
    (
        "online given twice",
        "PATCH",
        "/v1/resources/gpu/a/r1/g1",
        b'{"online":true,"online":false}',
        TWICE,
    ),
    ("a tenant without a name", "POST", "/v1/tenants", b"{}", "missing required field `name`"),
    ("a tenant whose name is a number", "POST", "/v1/tenants", b'{"name":7}', "`$.name`"),
    (
        "caps below zero",
        "POST",
        "/v1/tenants",
        b'{"name":"cy","caps":{"sessions":-1}}',
        "caps.sessions",
    ),
    (
        "caps beyond all bounds",
        "PATCH",
        "/v1/tenants/ann",
        b'{"caps":{"commands_burst":9223372036854775807}}',
        "caps.commands_burst",
    ),
    ("caps that are a list", "PATCH", "/v1/tenants/ann", b'{"caps":[]}', "`$.caps`"),
    (
        "caps of half an order",
        "PATCH",
        "/v1/tenants/ann",
        b'{"caps":{"open_orders":0.5}}',
        "`$.caps.open_orders`",
    ),
    ("an unknown cap", "PATCH", "/v1/tenants/ann", b'{"caps":{"gold":1}}', "unknown field `gold`"),
    ("a key with no scope", "POST", "/v1/tenants/ann/keys", b'{"scopes":[]}', "scopes"),
    (
        "a key with a scope of the operator",
        "POST",
        "/v1/tenants/ann/keys",
        b'{"scopes":["operate"]}',
        "scopes",
    ),
    (
        "a key with scopes as text",
        "POST",
        "/v1/tenants/ann/keys",
        b'{"scopes":"read"}',
        "`$.scopes`",
    ),
    ("a key whose name is empty", "POST", "/v1/tenants/ann/keys", b'{"name":""}', "name"),
    (
        "a key whose name is too long",
        "POST",
        "/v1/tenants/ann/keys",
        b'{"name":"' + b"n" * 500 + b'"}',
        "name",
    ),
    ("a key of the operator that trades", "POST", "/v1/keys", b'{"scopes":["trade"]}', "scopes"),
    ("a preview of nothing", "POST", "/v1/preview", b'{"commands":[]}', "commands"),
    (
        "a preview of an order",
        "POST",
        "/v1/preview",
        b'{"commands":[{"type":"cancel_order","order":"x"}]}',
        "cancel_order",
    ),
    (
        "a report without maps",
        "PUT",
        "/v1/inframaps/r",
        b'{"at":"2026-11-15T08:30:00Z"}',
        "missing required field",
    ),
    (
        "a report at no time",
        "PUT",
        "/v1/inframaps/r",
        b'{"at":"now","pace_s":10,"maps":[],"floors":[],"alarms":[]}',
        "at",
    ),
    (
        "a report of 1e400",
        "PUT",
        "/v1/inframaps/r",
        b'{"at":"2026-11-15T08:30:00Z","pace_s":1e400,"maps":[],"floors":[],"alarms":[]}',
        "out of range",
    ),
)


def plain(text: bytes) -> bytes:
    """As the body of a request."""
    return text.replace(MARK, b"", 1)


def bodies() -> list[Request]:
    orders = [
        bad(f"an order: {name}", request("POST", "/v1/orders", JSON_TYPE, plain(text)), word)
        for name, (text, word) in ORDERS.items()
    ]
    others = [
        bad(name, request(method, path, JSON_TYPE, body), word)
        for name, method, path, body, word in OTHERS
    ]
    operators = [
        bad(name, request(method, path, JSON_TYPE, body, AS_OPERATOR), word)
        for name, method, path, body, word in OPERATORS
    ]
    return [*orders, *others, *operators, *_refused_by_the_market()]


def _refused_by_the_market() -> list[Request]:
    """What can be read and still cannot be."""
    rows: tuple[tuple[str, dict[str, Any], int, str], ...] = (
        ("an order without alternatives", {"alternatives": []}, 422, "alternatives_count"),
        (
            "an order of 17 alternatives",
            {"alternatives": [{"scope": f"x{index}", "limit": "1"} for index in range(17)]},
            422,
            "alternatives_count",
        ),
        (
            "an order for a place that is none",
            {"alternatives": [{"scope": "moon", "limit": "1"}]},
            404,
            "scope_unknown",
        ),
        (
            "an order for the whole of nothing",
            {"alternatives": [{"scope": "", "limit": "1"}]},
            404,
            "scope_unknown",
        ),
        (
            "an order for a path upwards",
            {"alternatives": [{"scope": "../gpu", "limit": "1"}]},
            404,
            "scope_unknown",
        ),
        (
            "an order for one place twice",
            {"alternatives": [{"scope": "gpu", "limit": "1"}] * 2},
            422,
            "scope_repeated",
        ),
        (
            "an order whose limit is below its bid",
            {"alternatives": [{"scope": "gpu", "limit": "1", "bid": "2"}]},
            422,
            "limit_below_bid",
        ),
    )
    return [
        bad(
            name,
            request("POST", "/v1/orders", JSON_TYPE, msgspec.json.encode(body), AS_TENANT),
            "",
            status,
            code,
        )
        for name, body, status, code in rows
    ]
