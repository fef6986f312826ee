"""One-line bugs, each put into a copy of the market to show that the checks would notice it.

A checker that has never failed proves nothing. Each bug is a text to replace in one module. The
text must occur there exactly once, so that the list cannot silently go out of date.
"""

from __future__ import annotations

from typing import NamedTuple


class SeededBug(NamedTuple):
    name: str
    module: str
    right: str
    wrong: str
    # where the search begins: close to the first history that detects a rare bug
    seed: int = 1


SEEDED_BUGS = (
    # winning
    SeededBug(
        "the newest order wins a tie",
        "book",
        "                return first\n            heappop",
        "                return first.last\n            heappop",
    ),
    SeededBug(
        "the shallowest scope wins a tie",
        "clearing",
        "or first.limit > best.limit):\n            best = first",
        "or first.limit >= best.limit):\n            best = first",
    ),
    SeededBug(
        "a winner must be above the floor",
        "clearing",
        "best.limit >= floor else None",
        "best.limit > floor else None",
    ),
    SeededBug(
        "an amended order keeps its place",
        "effects",
        "order.sequence = state.next_sequence()",
        "state.next_sequence()",
    ),
    SeededBug(
        "the last leaf in path order is taken",
        "node",
        "            while node.children[which].idle_ask > ask:\n                which += 1\n      "
        "      node",
        "            while node.children[which - 1].idle_ask > ask:\n                which -= 1\n  "
        "          which -= 1\n            node",
    ),
    SeededBug(
        "leased before idle on a tie",
        "clearing",
        "surplus == best_surplus and best_leased and _comes_first(scope, best)",
        "surplus == best_surplus",
        43,
    ),
    SeededBug(
        "an offline leaf can be won", "node", "self.floor if self.online else NEVER", "self.floor"
    ),
    SeededBug(
        "an idle leaf at the limit is not taken",
        "clearing",
        "if ask <= resting.limit:",
        "if ask < resting.limit:",
    ),
    SeededBug(
        "a floor above the scope is forgotten",
        "node",
        "            self.idle_ask if self.above is None else max(self.idle_ask,"
        " self.above.highest_floor())",
        "            self.idle_ask",
    ),
    SeededBug(
        "another owner's ask is lost",
        "node",
        "other = min(low, child.lease_ask_other)",
        "other = child.lease_ask_other",
        5,
    ),
    # losing
    SeededBug(
        ">= for > at the limit",
        "clearing",
        "leaf.rate(lease.tenant) > lease.limit",
        "leaf.rate(lease.tenant) >= lease.limit",
    ),
    SeededBug(
        "a bid at the limit takes the leaf",
        "clearing",
        "if ask < resting.bid:",
        "if ask <= resting.bid:",
    ),
    SeededBug(
        "a sibling survives a fill",
        "clearing",
        "for resting in order.alternatives:\n        scope = resting.scope\n       "
        " scope.own_book().remove",
        "for resting in order.alternatives[:1]:\n        scope = resting.scope\n       "
        " scope.own_book().remove",
    ),
    SeededBug(
        "a cascade stops after one leaf",
        "clearing",
        "            change_hands(state, leaf)\n\n\ndef leases",
        "            change_hands(state, leaf)\n            return\n\n\ndef leases",
        12,
    ),
    SeededBug(
        "a lowered floor opens only where orders rest",
        "clearing",
        "if reached or node.resting_below",
        "if node.resting_below",
        111,
    ),
    SeededBug(
        "a lowered floor misses orders further down",
        "clearing",
        "if reached or node.resting_below > (node.book.count if node.book is not None else 0):",
        "if reached:",
        98,
    ),
    SeededBug(
        "a lower limit is not looked at",
        "effects",
        "    if is_unstable(leaf):\n        change_hands(state, leaf)\n    else:\n",
        "    if True:\n",
    ),
    SeededBug(
        "a floor is taken for a bid",
        "clearing",
        "leaf.highest_floor() >= rate else EndReason.OUTBID",
        "leaf.highest_floor() > rate else EndReason.OUTBID",
    ),
    # prices and bills
    SeededBug(
        "the owner is pressed by its own bid",
        "node",
        "return self.price_other if owner is not None and self.price_by is owner else self.price",
        "return self.price",
    ),
    SeededBug(
        "the owner is billed for its own bid",
        "pricelog",
        "if owner is not None and self.by[index] is owner:",
        "if owner is None and self.by[index] is owner:",
    ),
    SeededBug(
        "a span bills the owner for its own bid",
        "pricelog",
        "span.area - span.made_alone.get(owner.number, 0)",
        "span.area",
        63,
    ),
    SeededBug(
        "a span is closed twice",
        "pricelog",
        "            if len(self.spans[level]) == settled // size:\n                return",
        "            if not self.spans:\n                return",
        395,
    ),
    SeededBug(
        "no accrual when the rate changes",
        "node",
        "self.log.record(now, revision, price, by, other)",
        "self.log.record(now, 0, price, by, other)",
    ),
    SeededBug(
        "no accrual at transfer", "clearing", "lease.end = state.now", "lease.end = lease.start"
    ),
    SeededBug(
        "a cancelled bid goes on pressing",
        "clearing",
        "        if resting.bid >= scope.price_other:\n",
        "        if resting.bid > scope.price_other:\n",
    ),
    SeededBug(
        "a new floor does not press", "effects", "    node.reprice(state.now, state.revision)\n", ""
    ),
    SeededBug(
        "a quote is the limit itself",
        "questions",
        "scope.ask_for(tenant) + 1",
        "scope.ask_for(tenant)",
    ),
    SeededBug(
        "revenue forgets fees", "questions", "total += fee.charge(0, state.now)", "total += 0", 15
    ),
    SeededBug(
        "closing the books loses ended leases",
        "closing",
        "tenant.carried += charge_until(lease, lease.end)",
        "charge_until(lease, lease.end)",
    ),
    SeededBug(
        "closing the books drops a price too many",
        "pricelog",
        "keep = self.index_before(time)",
        "keep = self.index_before(time) + 1",
    ),
    # views of other tenants
    SeededBug(
        "a quote leaks a foreign scope",
        "questions",
        "not tenant.owns_between(scope.first_leaf, scope.last_leaf)",
        "False",
    ),
    SeededBug(
        "orders are numbered over all tenants",
        "effects",
        "id = tenant.orders_placed",
        "id = state.sequence + 1",
    ),
    SeededBug(
        "a foreign and an unknown order answer differently",
        "guards",
        "    return refuse(state, name, Reason.NOT_YOUR_ORDER, str(id))\n\n\ndef",
        "    return refuse(state, name, Reason.NOT_YOUR_ORDER, str(id) if id >"
        ' state.sequence else "")\n\n\ndef',
    ),
    # guards
    SeededBug(
        "time may fall",
        "market",
        "if at < state.now or at > TIME_MAX_US:",
        "if at < 0 or at > TIME_MAX_US:",
    ),
    SeededBug(
        "one order too many",
        "guards",
        "if open_orders >= state.orders_per_tenant_max:",
        "if open_orders > state.orders_per_tenant_max:",
        5,
    ),
    SeededBug(
        "a limit below the bid passes", "guards", "if limit < bid:", "if limit < bid - 1:", 7
    ),
    SeededBug(
        "a boolean passes for a price",
        "field_types",
        "if not is_whole(alternative.bid):",
        "if not isinstance(alternative.bid, int):",
    ),
    # controls
    SeededBug(
        "a clip is off by one",
        "controls",
        "anchor + anchor * controls.rise_ppm // PPM)",
        "anchor + anchor * controls.rise_ppm // PPM + 1)",
    ),
    SeededBug(
        "a floor falls one too far",
        "controls",
        "anchor - anchor * controls.fall_ppm // PPM)",
        "anchor - anchor * controls.fall_ppm // PPM - 1)",
        14,
    ),
    SeededBug(
        "the anchor is the price now",
        "controls",
        "return log.price_before(start)",
        "return log.price_before(now + 1)",
    ),
    SeededBug(
        "the first interval has the anchor of the instant before",
        "controls",
        "if start == self.set_at:",
        "if start < self.set_at:",
        25,
    ),
    SeededBug("a hold is ignored", "node", "NEVER if lease.held else lease.limit", "lease.limit"),
    SeededBug(
        "a hold outlasts its last microsecond",
        "clearing",
        "while holds and holds[0][0] <= until:",
        "while holds and holds[0][0] < until:",
    ),
    SeededBug(
        "a hold ends when somebody looks",
        "clearing",
        "            state.now = at\n",
        "            state.now = until\n",
    ),
    SeededBug(
        "a held leaf is cheap after its limit was lowered",
        "lease",
        "return max(self.limit, self.start_limit) if self.held",
        "return self.limit if self.held",
    ),
    SeededBug("a flash fee is charged twice", "fees", "    resting.liable -= rate\n", "", 11),
    SeededBug(
        "a flash fee outlasts its term",
        "fees",
        "if rate == 0 or state.now >= resting.liable_until:",
        "if rate == 0:",
    ),
    SeededBug(
        "a flash fee counts the whole bid",
        "fees",
        "made = resting.bid - resting.scope.rate(None)",
        "made = resting.bid",
    ),
    # snapshots
    SeededBug(
        "a snapshot misses controls",
        "snapshot",
        "for saved_controls in saved.controls:",
        "for saved_controls in saved.controls[1:]:",
    ),
    SeededBug(
        "a snapshot forgets the queue",
        "snapshot",
        "    for order in state.open_orders():\n",
        "    for order in sorted(state.open_orders(), key=lambda order: order.id):\n",
    ),
    SeededBug(
        "a snapshot forgets who owes a fee",
        "snapshot",
        "    resting.liable = saved.liable\n",
        "",
        9,
    ),
    SeededBug(
        "a snapshot forgets holds",
        "snapshot",
        "    if lease.held:\n        state.holds.append",
        "    if lease.held and lease.end >= 0:\n        state.holds.append",
    ),
)
