"""Every reason for a refusal has words, a code and a status. Each is explained with realistic
numbers."""

from __future__ import annotations

import pytest

from laissez.exchange.commands import OPERATOR
from laissez.exchange.refusals import REASONS, AnyReason, Denial, Refusal
from laissez.market.reasons import Reason
from laissez.wire.problems import STATUS
from laissez.wire.texts import code_of, explain, problem_of
from support.exchange_histories import draw, requests_of, with_fees

# reason: a realistic subject and numbers, the code, and the text for ann
EXPECTED: dict[AnyReason, tuple[str, tuple[int, ...], str, str]] = {
    Reason.MALFORMED: (
        "limit",
        (),
        "malformed",
        (
            "limit has the wrong type: expected whole numbers of at most 62 bits for prices,"
            " times and ids, and text for names"
        ),
    ),
    Reason.TIME_BACKWARDS: (
        "at",
        (5, 7),
        "time_backwards",
        "time 5 is before the market's time 7: expected that or later",
    ),
    Reason.TIME_OUT_OF_RANGE: (
        "at",
        (9007199254740993, 9007199254740992),
        "time_out_of_range",
        "time 9007199254740993 is out of range: expected at most 9007199254740992",
    ),
    Reason.TENANT_INVALID: (
        "a/b",
        (),
        "tenant_invalid",
        (
            "'a/b' is not a valid tenant name: expected 1 to 200 printable characters, and not"
            " 'operator'"
        ),
    ),
    Reason.NOT_YOUR_ORDER: ("17", (), "not_your_order", "there is no open order 'ord_h5gv4yoo17'"),
    Reason.ALREADY_FILLED: (
        "h100/1",
        (),
        "already_filled",
        "too late: this order was filled, and you were given h100/1",
    ),
    Reason.NOT_YOUR_LEASE: ("3", (), "not_your_lease", "you hold no lease 'lse_h5gv4yoo3'"),
    Reason.ALTERNATIVES_COUNT: (
        "alternatives",
        (17, 16),
        "alternatives_count",
        "17 alternatives: expected 1 to 16",
    ),
    Reason.SCOPE_UNKNOWN: ("moon", (), "scope_unknown", "there is no scope 'moon'"),
    Reason.SCOPE_REPEATED: (
        "h100",
        (),
        "scope_repeated",
        "two alternatives name h100: expected each scope once",
    ),
    Reason.NOT_A_LEAF: ("h100", (), "not_a_leaf", "h100 has nodes below it: expected a leaf"),
    Reason.PRICE_OUT_OF_RANGE: (
        "h100",
        (-5000000, 10000000000),
        "price_out_of_range",
        "-5 $/h at h100 is out of range: expected 0 to 10000 $/h",
    ),
    Reason.LIMIT_BELOW_BID: (
        "h100",
        (1000000, 2500000),
        "limit_below_bid",
        "at h100 the limit, 1 $/h, is below the bid, 2.5 $/h",
    ),
    Reason.TOO_MANY_ORDERS: (
        "ann",
        (1000, 1000),
        "too_many_orders",
        "ann has 1000 open orders and may have 1000",
    ),
    Reason.TOO_MANY_TENANTS: (
        "ann",
        (100000, 100000),
        "too_many_tenants",
        "there is no room for ann: the market has 100000 tenants and may have 100000",
    ),
    Reason.CONTROLS_INVALID: (
        "hold",
        (0, 31622400000000),
        "controls_invalid",
        (
            "hold is out of range: found 0, expected a fraction from 0 or a duration from 1"
            " us, and at most 31622400000000"
        ),
    ),
    Reason.ALREADY_OFFLINE: ("h100/1", (), "already_offline", "h100/1 is offline already"),
    Reason.ALREADY_ONLINE: ("h100/1", (), "already_online", "h100/1 is online already"),
    Reason.BOOKS_CLOSED: (
        "before",
        (5, 7),
        "books_closed",
        (
            "cannot close the books before 5: expected a time that has come, not earlier than"
            " the last closing (7)"
        ),
    ),
    Denial.NO_BUDGET: ("", (), "not_found", "no budget is set"),
    Denial.AMOUNT_OUT_OF_RANGE: (
        "amount",
        (-2500000, 1000000000000000),
        "bad_request",
        "amount: expected more than 0 and at most 1000000000 dollars, found -2.500000",
    ),
    Denial.BUDGET_BELOW_FEES: (
        "amount",
        (1000000, 1500000),
        "budget_spent",
        (
            "amount: expected more than the 1.500000 dollars of fees that cancelling your"
            " open orders now would bring, found 1.000000"
        ),
    ),
    Denial.BUDGET_BLOCKS_ORDERS: (
        "",
        (36000000,),
        "budget_spent",
        (
            "your budget of 36.000000 dollars is spent, and no order is placed or amended"
            " until you set a new one or remove it"
        ),
    ),
    Denial.BUDGET_BLOCKS_LIMITS: (
        "",
        (36000000,),
        "budget_spent",
        (
            "your budget of 36.000000 dollars is spent, and no limit is raised until you set"
            " a new one or remove it"
        ),
    ),
    Denial.FEES_ABOVE_BUDGET: (
        "",
        (1500000, 900000),
        "budget_spent",
        (
            "withdrawing this order too soon could cost up to 1.500000 dollars, its full bid"
            " for as long as it must stand, and 0.900000 of your budget are left"
        ),
    ),
    Denial.RATE_CAP: (
        "",
        (2000000, 9000001, 9000000),
        "cap_exceeded",
        (
            "rate: you are charged, with your open orders at their limits, 2 dollars per"
            " hour, and with this it would be 9.000001; your cap is 9"
        ),
    ),
    Denial.WORST_RATE_CAP: (
        "",
        (2000000, 9000001, 9000000),
        "cap_exceeded",
        (
            "worst_rate: you are bound to pay up to 2 dollars per hour, and with this it"
            " would be 9.000001; your cap is 9"
        ),
    ),
    Denial.OPEN_ORDERS_CAP: (
        "",
        (3, 3),
        "too_many_orders",
        "you have 3 open orders and may have 3",
    ),
    Denial.SPENDING_CAP_INVALID: (
        "caps.rate",
        (-1, 1000000000000000),
        "bad_request",
        (
            "caps.rate: expected 0 to 1000000000 dollars per hour, digits with at most six"
            ' decimals such as "40", found -0.000001'
        ),
    ),
    Denial.CAP_INVALID: (
        "caps.sessions",
        (-1, 1000000),
        "bad_request",
        "caps.sessions: expected 0 to 1000000, found -1",
    ),
    Denial.TENANT_NAME_INVALID: (
        "a/b",
        (),
        "tenant_invalid",
        (
            "'a/b' is not a valid tenant name: expected 1 to 200 printable characters without"
            " '/', and not 'operator', '.' or '..'"
        ),
    ),
    Denial.TENANT_EXISTS: ("ann", (), "conflict", "there is a tenant 'ann' already"),
    Denial.TENANT_UNKNOWN: ("eve", (), "not_found", "there is no tenant 'eve'"),
    Denial.KEY_SCOPES_INVALID: (
        "operator",
        (),
        "bad_request",
        "scopes: expected one or more of read, operate",
    ),
    Denial.KEY_NAME_INVALID: (
        "",
        (64,),
        "bad_request",
        "name: expected 1 to 64 printable characters, found ''",
    ),
    Denial.TOO_MANY_KEYS: (
        "laptop",
        (2,),
        "too_many_keys",
        "there are 2 live keys named 'laptop': revoke one first",
    ),
    Denial.TOO_MANY_KEY_NAMES: (
        "ann",
        (8,),
        "too_many_keys",
        "ann has keys with 8 names and may not have more",
    ),
    Denial.KEY_UNKNOWN: ("key_1", (), "not_found", "there is no live key 'key_1'"),
    Denial.LAST_OPERATOR_KEY: (
        "key_1",
        (),
        "conflict",
        "key_1 is the operator's last key: issue another one first",
    ),
    Denial.TOO_MANY_WEBHOOKS: (
        "",
        (8,),
        "too_many_webhooks",
        "you have 8 webhooks and may not have more: delete one first",
    ),
    Denial.WEBHOOK_UNKNOWN: ("", (4,), "not_found", "you have no webhook 'whk_h5gv4yoo4'"),
    Denial.WEBHOOK_SECRET_FRESH: ("", (), "conflict", "the secret was made at this very instant"),
    Denial.EVENT_NUMBER_INVALID: (
        "after",
        (99, 17),
        "bad_request",
        "after: expected the number of an event from 0 to 17, your latest, found 99",
    ),
    Denial.CLOSING_TIME_INVALID: (
        "",
        (-5, 3600000000),
        "books_closed",
        "expected a time from 1970-01-01T01:00:00.000000Z until now, found -5",
    ),
    Denial.TENANT_TAG_TAKEN: (
        "team-463665",
        (),
        "tenant_invalid",
        "the ids of 'team-463665' would look like those of another holder: expected another name",
    ),
}


def test_every_reason_is_explained_here() -> None:
    assert set(REASONS.values()) == set(EXPECTED) == {*Reason, *Denial}
    assert len({*map(str, REASONS.values())}) == len(REASONS)  # the two lists share no name


@pytest.mark.parametrize("reason", REASONS.values())
def test_a_refusal_has_a_code_a_status_and_words(reason: AnyReason) -> None:
    subject, numbers, code, words = EXPECTED[reason]
    refusal = Refusal(reason, subject, numbers)
    problem = problem_of(refusal, "ann")
    assert (code, words) == (code_of(refusal.reason), explain(refusal, "ann"))
    assert (code, words, STATUS[code]) == (problem.code, problem.detail, problem.status)


def test_ids_are_the_holders_own() -> None:
    for reason in (Reason.NOT_YOUR_ORDER, Reason.NOT_YOUR_LEASE):
        assert explain(Refusal(reason, "1"), "ann") != explain(Refusal(reason, "1"), "bob")


def test_the_scopes_of_a_key_depend_on_whose_it_is() -> None:
    refusal = Refusal(Denial.KEY_SCOPES_INVALID, "ann")
    assert "scopes: expected one or more of read, trade" == explain(refusal, OPERATOR)


def test_a_valid_closing_time_is_shown_as_a_time() -> None:
    refusal = Refusal(Denial.CLOSING_TIME_INVALID, "", (7_200_000_000, 3_600_000_000))
    assert explain(refusal, OPERATOR).endswith(
        "from 1970-01-01T01:00:00.000000Z until now, found 1970-01-01T02:00:00.000000Z"
    )


def test_text_of_the_sender_is_repeated_unchanged() -> None:
    refusal = Refusal(Reason.SCOPE_UNKNOWN, "{0} {price1} {subject}")
    assert "there is no scope '{0} {price1} {subject}'" == explain(refusal, "ann")


def test_a_missing_number_is_omitted() -> None:
    refusal = Refusal(Reason.SCOPE_UNKNOWN, "moon", (None, None))  # as the market refuses
    assert "there is no scope 'moon'" == explain(refusal, "ann")


@pytest.mark.parametrize("seed", [0, 3, *with_fees(6)])
def test_every_refusal_of_a_random_history_can_be_explained(seed: int) -> None:
    refusals = [
        (outcome.refusal, request.who)
        for _, request, outcome in requests_of(draw(seed))
        if outcome.refusal is not None
    ]
    assert len(refusals) > 10
    assert all(
        explain(refusal, who) and code_of(refusal.reason) in STATUS for refusal, who in refusals
    )
