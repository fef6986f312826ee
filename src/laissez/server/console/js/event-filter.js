// The filter of the events page. The URL holds it, one part per filter, so that a link shows the
// same events.

import { tenantOf } from "./event-text.js";

const PAGE = "events";
const NAMES = ["kind", "reason", "tenant", "text"];
const NAMED = ["order", "lease", "leaf", "node", "scope", "key", "name", "holder"];

/**
 * The kinds to choose from: value in the URL, label, event types. Only the operator sees `operator`
 * kinds.
 */
const KINDS = [
  { value: "", name: "All kinds", types: [""] },
  { value: "main", name: "All except limits", types: [""], not: "lease.limit_set" },
  { value: "lease", name: "Leases", types: ["lease."] },
  { value: "turnover", name: "Started or ended", types: ["lease.started", "lease.ended"] },
  { value: "started", name: "Started", types: ["lease.started"] },
  { value: "ended", name: "Ended", types: ["lease.ended"] },
  { value: "limit", name: "Limits", types: ["lease.limit_set"] },
  { value: "order", name: "Orders", types: ["order."] },
  { value: "money", name: "Fees, budgets and caps", types: ["fee.", "budget.", "caps."] },
  { value: "floor", name: "Floors", types: ["floor."], operator: true },
  { value: "controls", name: "Controls", types: ["controls."], operator: true },
  { value: "resource", name: "Resources", types: ["resource."], operator: true },
  { value: "account", name: "Tenants and keys", types: ["tenant.", "key."], operator: true },
  { value: "books", name: "Books closed", types: ["books."], operator: true },
];

export const REASONS = ["outbid", "floor_raised", "taken_offline", "relinquished", "budget_spent"];
export const NO_FILTER = { kind: "", reason: "", tenant: "", text: "" };

export function kindsFor(isOperator) {
  return KINDS.filter(({ operator }) => isOperator || !operator);
}

/** Parse the filter from the parts of a URL; ignore unknown parts. */
export function readFilter(parts) {
  const filter = { ...NO_FILTER };
  for (const part of parts) {
    const cut = part.indexOf("=");
    if (NAMES.includes(part.slice(0, cut))) filter[part.slice(0, cut)] = part.slice(cut + 1);
  }
  if (!KINDS.some(({ value }) => value === filter.kind)) filter.kind = "";
  if (!REASONS.includes(filter.reason)) filter.reason = "";
  return filter;
}

/** The URL of the events page with a filter: eventsHref({tenant: "ann", kind: "ended"}). */
export function eventsHref(filter) {
  const parts = NAMES.filter((name) => filter[name]).map(
    (name) => `${name}=${encodeURIComponent(filter[name])}`,
  );
  return `#/${[PAGE, ...parts].join("/")}`;
}

/** A predicate for feed entries, {n, event, tenant}. */
export function matcher({ kind, reason, tenant, text }) {
  const { types, not } = KINDS.find(({ value }) => value === kind);
  const wanted = text.trim().toLowerCase();
  return (entry) =>
    entry.event.type !== not &&
    types.some((type) => entry.event.type.startsWith(type)) &&
    (!reason || entry.event.reason === reason) &&
    (!tenant || tenantOf(entry) === tenant) &&
    (!wanted || names(entry.event).some((name) => name.toLowerCase().includes(wanted)));
}

function names(event) {
  const scopes = event.alternatives?.map(({ scope }) => scope) ?? [];
  return [
    ...NAMED.map((name) => event[name]).filter((name) => typeof name === "string"),
    ...scopes,
  ];
}
