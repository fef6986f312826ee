// Events as sentences: what happened, to whom, and the prices that explain it.

import { duration, dollars, micros, perHour, reason } from "./format.js";

const price = (text) => (text === null ? "no limit" : perHour(text));
const places = (alternatives) =>
  alternatives
    .map(({ scope, bid, limit }) => `${scope} (bid ${perHour(bid)}, up to ${perHour(limit)})`)
    .join(" or ");
const band = (name, one) =>
  one ? `${name} at most ${Number(one.fraction) * 100} % in ${duration(one.seconds * 1000)}` : null;

const cap = (name, value) =>
  `${name} ${value === null ? "not capped" : `at most ${perHour(value)}`}`;
const ACTIONS = {
  warn: "warn only",
  no_new_orders: "no new orders",
  limits_to_floor: "limits fall to the floor",
  relinquish: "all leases are given up",
};
const then = (action) => (action ? `: ${ACTIONS[action] ?? action}` : "");

const WORDS = {
  "order.placed": (e) =>
    `Order ${e.order} for ${places(e.alternatives)}${e.clipped ? ", clipped by a band" : ""}`,
  "order.amended": (e) =>
    `Order ${e.order} changed: ${places(e.alternatives)}${e.clipped ? ", clipped by a band" : ""}`,
  "order.cancelled": (e) => `Order ${e.order} cancelled`,
  "lease.started": (e) => `${e.leaf} won at ${perHour(e.rate)}, limit ${price(e.limit)}`,
  "lease.ended": (e) => `${e.leaf} ended, ${reason(e.reason)}: ${why(e)}`,
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
  "webhook.restarted": (e) =>
    `Webhook ${e.webhook}: everything after event ${e.after} is sent again`,
  "floor.set": (e) =>
    `${e.node}: ${micros(e.price) ? `floor ${perHour(e.price)}` : "no floor"}${e.clipped ? ", held back by the fall band" : ""}`,
  "controls.set": (e) =>
    `${e.node}: ${[band("rise", e.rise), band("fall", e.fall), e.hold_s && `hold ${duration(e.hold_s * 1000)}`, e.flash_s && `flash fee ${duration(e.flash_s * 1000)}`].filter(Boolean).join(", ") || "no controls"}`,
  "resource.offline": (e) => `${e.leaf} taken offline`,
  "resource.online": (e) => `${e.leaf} back online`,
  "books.closed": (e) => `Books closed until ${e.before}`,
  "tenant.created": (e) => `Tenant ${e.name} created`,
  "tenant.caps_set": (e) => `Caps of ${e.name} set`,
  "key.issued": (e) => `Key ${e.key} (${e.name}) issued to ${e.holder}`,
  "key.revoked": (e) => `Key ${e.key} of ${e.holder} revoked`,
};

export function words(event) {
  return WORDS[event.type]?.(event) ?? event.type;
}

/** Why a lease ended, with both prices. */
export function why({ reason: code, rate, limit }) {
  const prices = `rate ${perHour(rate)}, limit ${price(limit)}`;
  if (code === "outbid")
    return `another bid made it ${perHour(rate)}, more than the limit of ${price(limit)}`;
  if (code === "floor_raised")
    return `the floor rose to ${perHour(rate)}, more than the limit of ${price(limit)}`;
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

/** The kind of mark that an event's type gets. */
export function kind(event) {
  if (event.type === "lease.ended") return event.reason === "relinquished" ? "" : "bad";
  if (event.type === "lease.limit_set" || event.type === "budget.set") return "";
  if (event.type === "budget.spent") return "bad";
  return KINDS[event.type.split(".")[0]] ?? "";
}
