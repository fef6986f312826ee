// One event as a row: when, what kind, whose, in words, and its number.

import { h } from "./dom.js";
import { kind, words } from "./eventwords.js";
import { whose } from "./eventfilter.js";
import { clock, count, moment } from "./format.js";
import { href } from "./router.js";

/** `isOperator`: with the tenant, and with links to tenants and to the map. */
export function eventRow(told, isOperator) {
  const { event, n } = told;
  return h(
    "li",
    { class: "event" },
    h("time", { datetime: event.at, title: event.at }, timeOf(event.at)),
    h("span", { class: `tag ${kind(event)}` }, event.type),
    isOperator ? h("span", { class: "whose" }, tenantLink(whose(told))) : null,
    h("span", { class: "words" }, isOperator ? linked(words(event), placeOf(event)) : words(event)),
    h(
      "span",
      { class: "n", title: "The event's number: they are 1, 2, 3, ... without a gap" },
      `#${count(n)}`,
    ),
  );
}

function tenantLink(name) {
  return name ? h("a", { href: href("tenants", name) }, name) : null;
}

/** What happened before today is told with its day. */
function timeOf(at) {
  return new Date(at).toDateString() === new Date().toDateString() ? clock(at) : moment(at);
}

function placeOf(event) {
  return event.leaf ?? event.node ?? event.scope ?? event.alternatives?.[0]?.scope ?? null;
}

/** The words with the place in them as a link to the map. */
function linked(text, place) {
  const start = place ? text.indexOf(place) : -1;
  if (start < 0) return text;
  const end = start + place.length;
  return [text.slice(0, start), h("a", { href: href("map", place) }, place), text.slice(end)];
}
