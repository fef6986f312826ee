// The filter of the events page. The address holds it, one part per filter, so that a link shows the same events.

import { tenantOf } from "./event-text.js";

const PAGE = "events";
const NAMES = ["kind", "reason", "tenant", "text"];
const NAMED = ["order", "lease", "leaf", "node", "scope", "key", "name", "holder"];

/** What can be chosen: a value for the address, the words for it, the types it means; `operator` kinds happen to the operator alone. */
const KINDS = [
  { value: "", name: "All kinds", types: [""] },
  { value: "main", name: "All but limits set", types: [""], not: "lease.limit_set" },
  { value: "lease", name: "Leases", types: ["lease."] },
  { value: "turnover", name: "Started or ended", types: ["lease.started", "lease.ended"] },
  { value: "started", name: "Started", types: ["lease.started"] },
  { value: "ended", name: "Ended", types: ["lease.ended"] },
  { value: "limit", name: "Limits set", types: ["lease.limit_set"] },
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

/** The filter that the parts of an address name; what is not understood is left out. */
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

/** The address that shows these events: eventsHref({tenant: "ann", kind: "ended"}). */
export function eventsHref(filter) {
  const parts = NAMES.filter((name) => filter[name]).map(
    (name) => `${name}=${encodeURIComponent(filter[name])}`,
  );
  return `#/${[PAGE, ...parts].join("/")}`;
}

/** A test for events: `told` is {n, event, tenant}. */
export function matcher({ kind, reason, tenant, text }) {
  const { types, not } = KINDS.find(({ value }) => value === kind);
  const wanted = text.trim().toLowerCase();
  return (told) =>
    told.event.type !== not &&
    types.some((type) => told.event.type.startsWith(type)) &&
    (!reason || told.event.reason === reason) &&
    (!tenant || tenantOf(told) === tenant) &&
    (!wanted || names(told.event).some((name) => name.toLowerCase().includes(wanted)));
}

function names(event) {
  const scopes = event.alternatives?.map(({ scope }) => scope) ?? [];
  return [
    ...NAMED.map((name) => event[name]).filter((name) => typeof name === "string"),
    ...scopes,
  ];
}
