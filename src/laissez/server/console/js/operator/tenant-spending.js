// The spending of tenants, and the table cell of a budget.

import { all, serverNow } from "../api.js";
import { h, setText } from "../dom.js";
import { cost, duration, micros, moment, percent } from "../format.js";

const NEARLY = 0.8;
const FAR_MS = 365 * 86_400_000; // a later end is not worth showing
const SPENT = {
  no_new_orders: "no new orders",
  limits_to_floor: "limits at the floor",
  relinquish: "all leases relinquished",
};

export function usedShare(budget) {
  return budget ? micros(budget.spent) / micros(budget.amount) : null;
}

export function budgetCell() {
  return h(
    "div",
    { class: "budget" },
    h("span", { class: "bar" }, h("span")),
    h("span", { class: "small" }),
  );
}

/** Update a cell that `budgetCell` made. */
export function updateBudget(cell, budget) {
  const [bar, text] = cell.firstElementChild.children;
  const used = usedShare(budget);
  bar.hidden = !budget;
  text.classList.toggle("faint", !budget);
  bar.className = `bar ${used >= 1 ? "bad" : used >= NEARLY ? "warn" : ""}`;
  bar.firstElementChild.style.width = `${Math.min(1, used ?? 0) * 100}%`;
  setText(
    text,
    budget ? `${percent(used)} of ${cost(budget.amount)}, ${ending(budget)}` : "none set",
  );
  text.title = budget ? `${cost(budget.spent)} spent since ${moment(budget.since)}` : "";
}

function ending({ left, ends_at, action, state }) {
  if (micros(left) === 0 || state === "spent") {
    const effect = SPENT[action] ? `: ${SPENT[action]}` : "";
    return `used up${ends_at ? ` ${moment(ends_at)}` : ""}${effect}`;
  }
  const inMs = ends_at === null ? Infinity : Date.parse(ends_at) - serverNow();
  return inMs > FAR_MS ? "lasts over a year at this rate" : `used up in ${duration(inMs)}`;
}

/**
 * Fetch all tenants with their spending: `rate` and `total` in micro-dollars, `share` of the
 * charges of all tenants now.
 */
export async function tenantsWithSpending() {
  const [tenants, spending] = await Promise.all([all("/v1/tenants"), all("/v1/spending")]);
  const spent = new Map(
    spending.map((one) => [
      one.tenant,
      { total: micros(one.total), rate: micros(one.rate_now), budget: one.budget },
    ]),
  );
  const found = tenants.map((tenant) => ({
    ...tenant,
    ...(spent.get(tenant.name) ?? { total: 0, rate: 0, budget: null }),
  }));
  const together = found.reduce((sum, { rate }) => sum + rate, 0);
  return found.map((tenant) => ({ ...tenant, share: together ? tenant.rate / together : 0 }));
}
