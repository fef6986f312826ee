// The floors that the maps made, each with the sum that it came from.

import { h } from "../dom.js";
import { dollars, micros, perHour, plural } from "../format.js";
import { href } from "../router.js";
import { Table } from "../table.js";
import { card } from "./parts.js";

const OFF = 0.005; // of the price: less is rounding

export class FloorsTable {
  constructor(runner) {
    const caption = `Floors set by ${runner}`;
    const rule = h(
      "p",
      { class: "small soft" },
      "floor = base × (1 + sum of weight × pressure), within the base's bounds",
    );
    this.table = new Table({
      columns: COLUMNS,
      key: ({ node }) => node,
      caption,
      empty: "It sets no floors.",
      sort: "Node",
    });
    this.element = card(h("h3", {}, "What they pressed"), rule, this.table.element);
  }

  show(floors) {
    this.table.show(floors);
  }
}

const pressing = ({ terms }) => terms.filter(({ weight, pressure }) => weight * pressure > 0);

/** The sum that the bounds had no say in, in micro-dollars. */
function unbounded(floor) {
  return (
    micros(floor.base) *
    (1 + pressing(floor).reduce((sum, { weight, pressure }) => sum + weight * pressure, 0))
  );
}

function number(value) {
  return String(Number(value.toPrecision(3)));
}

function written({ map, weight, pressure }) {
  return h(
    "span",
    { class: "term" },
    h("span", { class: "name" }, map),
    ` ${number(weight)} × ${number(pressure)}`,
  );
}

/** Written anew only when it differs: somebody may be selecting it. */
function sayFormula(cell, floor) {
  const said = JSON.stringify([floor.base, floor.terms, floor.wanted]);
  if (cell.said === said) return;
  cell.said = said;
  const terms = pressing(floor);
  const quiet = floor.terms.length - terms.length;
  const sum = terms.map((term) => [" + ", written(term)]);
  const formula = terms.length
    ? h("span", { class: "formula" }, `${dollars(micros(floor.base))} × (1`, sum, ") ")
    : null;
  const rest = quiet
    ? h(
        "span",
        { class: "small faint" },
        `${plural(quiet, "map")}${terms.length ? "" : ", all"} at rest`,
      )
    : null;
  cell.replaceChildren(...[formula, rest, bound(floor)].filter(Boolean));
}

function bound(floor) {
  const free = unbounded(floor);
  const isBound = Math.abs(free - micros(floor.wanted)) > OFF * free;
  return isBound
    ? h("span", { class: "small warn" }, ` = ${dollars(Math.round(free))}/h, held by its bounds`)
    : null;
}

/** What was asked for in the last turn, or why the two differ. */
function asked({ asked: price, wanted, in_force }) {
  if (price !== null) return perHour(price);
  return Math.abs(micros(wanted) - micros(in_force)) > OFF * micros(wanted) ? "waits" : "as wanted";
}

const price = (name, field) => ({
  name,
  num: true,
  sort: (floor) => micros(floor[field]),
  value: (floor) => perHour(floor[field]),
});

const COLUMNS = [
  {
    name: "Node",
    sort: ({ node }) => node,
    make: ({ node }) => h("a", { href: href("map", node) }, node),
  },
  price("Base", "base"),
  { name: "How it comes about", wide: true, update: sayFormula },
  price("Wanted", "wanted"),
  price("In force", "in_force"),
  { name: "Asked for", num: true, value: asked },
];
