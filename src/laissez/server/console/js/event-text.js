// Events as sentences and as rows of a list.

import { h } from "./dom.js";
import { clock, count, dollars, duration, micros, moment, perHour, reason } from "./format.js";
import { href } from "./router.js";

const price = (text) => (text === null ? "no limit" : perHour(text));
const scopes = (alternatives) =>
  alternatives
    .map(({ scope, bid, limit }) => `${scope} (bid ${perHour(bid)}, up to ${perHour(limit)})`)
    .join(" or ");
const band = (name, one) =>
  one ? `${name} at most ${Number(one.fraction) * 100} % in ${duration(one.seconds * 1000)}` : null;

const controls = ({ rise, fall, hold_s, flash_s }) =>
  [
    band("rise", rise),
    band("fall", fall),
    hold_s && `hold ${duration(hold_s * 1000)}`,
    flash_s && `flash fee ${duration(flash_s * 1000)}`,
  ]
    .filter(Boolean)
    .join(", ") || "no controls";
const cap = (name, value) =>
  `${name} ${value === null ? "not capped" : `at most ${perHour(value)}`}`;
const ACTIONS = {
  warn: "warn only",
  no_new_orders: "no new orders",
  limits_to_floor: "limits are lowered to the floor",
  relinquish: "all leases are relinquished",
};
const then = (action) => (action ? `: ${ACTIONS[action] ?? action}` : "");

/** Event type -> sentence. */
const SENTENCES = {
  "order.placed": (e) =>
    `Order ${e.order} for ${scopes(e.alternatives)}${e.clipped ? ", clipped by a band" : ""}`,
  "order.amended": (e) =>
    `Order ${e.order} changed: ${scopes(e.alternatives)}${e.clipped ? ", clipped by a band" : ""}`,
  "order.cancelled": (e) => `Order ${e.order} cancelled`,
  "lease.started": (e) => `${e.leaf} won at ${perHour(e.rate)}, limit ${price(e.limit)}`,
  "lease.ended": (e) => `${e.leaf} ended, ${reason(e.reason)}: ${explainEnd(e)}`,
  "lease.limit_set": (e) => `${e.leaf}: limit ${price(e.limit)}`,
  "fee.charged": (e) => `Fee of ${perHour(e.rate)} for ${e.scope}`,
  "budget.set": (e) =>
    e.amount === null
      ? "Budget removed"
      : `Budget ${e.kept ? "changed" : "set"} to ${dollars(micros(e.amount))}${then(e.action)}`,
  "budget.warning": (e) =>
    `${e.percent} % of the budget of ${dollars(micros(e.amount))} spent, at ${perHour(e.rate)} now`,
  "budget.spent": (e) => `The budget of ${dollars(micros(e.amount))} is spent${then(e.action)}`,
  "caps.set": (e) => `Own caps: ${cap("rate", e.rate)}, ${cap("worst case", e.worst_rate)}`,
  "webhook.created": (e) => `Webhook ${e.webhook} to ${e.url} created`,
  "webhook.deleted": (e) => `Webhook ${e.webhook} deleted`,
  "webhook.secret_rotated": (e) => `Webhook ${e.webhook}: new secret`,
  "webhook.restarted": (e) => `Webhook ${e.webhook}: all events after ${e.after} are sent again`,
  "floor.set": (e) =>
    `${e.node}: ${micros(e.price) ? `floor ${perHour(e.price)}` : "no floor"}` +
    (e.clipped ? ", limited by the fall band" : ""),
  "controls.set": (e) => `${e.node}: ${controls(e)}`,
  "resource.offline": (e) => `${e.leaf} taken offline`,
  "resource.online": (e) => `${e.leaf} back online`,
  "books.closed": (e) => `Books closed until ${e.before}`,
  "tenant.created": (e) => `Tenant ${e.name} created`,
  "tenant.caps_set": (e) => `Caps of ${e.name} set`,
  "key.issued": (e) => `Key ${e.key} (${e.name}) issued to ${e.holder}`,
  "key.revoked": (e) => `Key ${e.key} of ${e.holder} revoked`,
};

export function describe(event) {
  return SENTENCES[event.type]?.(event) ?? event.type;
}

/** Why a lease ended, with its rate and limit. */
export function explainEnd({ reason: code, rate, limit }) {
  const prices = `rate ${perHour(rate)}, limit ${price(limit)}`;
  if (code === "outbid")
    return `another bid raised the rate to ${perHour(rate)}, above the limit of ${price(limit)}`;
  if (code === "floor_raised")
    return `the floor rose to ${perHour(rate)}, above the limit of ${price(limit)}`;
  return prices;
}

const KINDS = {
  lease: "accent",
  order: "",
  floor: "warn",
  controls: "warn",
  resource: "bad",
  key: "",
  tenant: "",
  books: "",
  fee: "warn",
  budget: "warn",
  webhook: "",
  caps: "",
};

/** The CSS class of the tag of an event. */
function tagClass(event) {
  if (event.type === "lease.ended") return event.reason === "relinquished" ? "" : "bad";
  if (event.type === "lease.limit_set" || event.type === "budget.set") return "";
  if (event.type === "budget.spent") return "bad";
  return KINDS[event.type.split(".")[0]] ?? "";
}

/**
 * A list item for a feed entry. The operator also sees the tenant, and links to it and to the map.
 */
export function eventRow(entry, isOperator) {
  const { event, n } = entry;
  return h(
    "li",
    { class: "event" },
    h("time", { datetime: event.at, title: event.at }, timeOf(event.at)),
    h("span", { class: `tag ${tagClass(event)}` }, event.type),
    isOperator ? h("span", { class: "whose" }, tenantLink(tenantOf(entry))) : null,
    h(
      "span",
      { class: "words" },
      isOperator ? linked(describe(event), nodeOf(event)) : describe(event),
    ),
    h(
      "span",
      { class: "n", title: "The number of the event: 1, 2, 3, ... without gaps" },
      `#${count(n)}`,
    ),
  );
}

function tenantLink(name) {
  return name ? h("a", { href: href("tenants", name) }, name) : null;
}

/** The time of today, or day and time. */
function timeOf(at) {
  return new Date(at).toDateString() === new Date().toDateString() ? clock(at) : moment(at);
}

function nodeOf(event) {
  return event.leaf ?? event.node ?? event.scope ?? event.alternatives?.[0]?.scope ?? null;
}

/** The text, with the node in it as a link to the map. */
function linked(text, node) {
  const start = node ? text.indexOf(node) : -1;
  if (start < 0) return text;
  const end = start + node.length;
  return [text.slice(0, start), h("a", { href: href("map", node) }, node), text.slice(end)];
}

/** The tenant that a feed entry is about, or null. */
export function tenantOf({ event, tenant }) {
  if (tenant) return tenant;
  if (event.type.startsWith("tenant.")) return event.name;
  return event.holder && event.holder !== "operator" ? event.holder : null;
}
