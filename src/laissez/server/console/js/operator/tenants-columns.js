// The columns of a tenant's leases and orders, as the operator sees them.

import { h, say } from "../dom.js";
import { cost, micros, moment, percent, perHour } from "../format.js";
import { href } from "../router.js";

const NEAR = 0.1; // of the limit: the rate is nearly there

/** What is left until the limit, as a share of it; null if there is no limit. */
function headroom({ rate, limit }) {
  return limit === null ? null : micros(limit) ? (micros(limit) - micros(rate)) / micros(limit) : 0;
}

function sayRate(cell, { rate, charged }) {
  say(cell, charged === rate ? perHour(rate) : `${perHour(charged)} (held; rate ${perHour(rate)})`);
}

function sayHeadroom(cell, lease) {
  const left = headroom(lease);
  cell.classList.toggle("warn", left !== null && left < NEAR);
  say(cell, left === null ? "–" : percent(left));
}

function when(at) {
  return h("span", { title: at }, moment(at));
}

export function leaseColumns() {
  return [
    {
      name: "Leaf",
      sort: ({ leaf }) => leaf,
      make: ({ leaf, id }) => h("a", { href: href("map", leaf), title: id }, leaf),
    },
    { name: "Rate", num: true, sort: ({ rate }) => micros(rate), update: sayRate },
    {
      name: "Limit",
      num: true,
      sort: ({ limit }) => micros(limit) ?? Infinity,
      value: ({ limit }) => (limit === null ? "none" : perHour(limit)),
    },
    { name: "Headroom", num: true, sort: headroom, update: sayHeadroom },
    {
      name: "Cost so far",
      num: true,
      sort: ({ cost: text }) => micros(text),
      value: ({ cost: text }) => cost(text),
    },
    {
      name: "Since",
      num: true,
      sort: ({ started_at }) => started_at,
      make: ({ started_at }) => when(started_at),
    },
  ];
}

export function orderColumns() {
  return [
    { name: "Order", sort: ({ id }) => id, make: ({ id }) => h("code", {}, id) },
    {
      name: "Wants one of",
      wide: true,
      make: () => h("ul", { class: "wants" }),
      update: sayPlaces,
    },
    {
      name: "Placed",
      num: true,
      sort: ({ placed_at }) => placed_at,
      make: ({ placed_at }) => when(placed_at),
    },
  ];
}

/** An order may be amended: its places are written anew only then. */
function sayPlaces(cell, { alternatives }) {
  const said = JSON.stringify(alternatives);
  if (cell.said === said) return;
  cell.said = said;
  const prices = ({ bid, limit }) =>
    bid === limit ? ` bid ${perHour(bid)}` : ` bid ${perHour(bid)}, up to ${perHour(limit)}`;
  const one = (wanted) =>
    h("li", {}, h("a", { href: href("map", wanted.scope) }, wanted.scope), prices(wanted));
  cell.firstElementChild.replaceChildren(...alternatives.map(one));
}
