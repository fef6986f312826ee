// What holds at a node now, in figures.

import { fill, h, say } from "../dom.js";
import { count, duration, micros, perHour, percent } from "../format.js";

const FACTS = [
  {
    name: "Standing rate",
    value: (book) => perHour(book.standing_rate),
    note: (book) =>
      book.best_bid === null ? "no bid at this node" : `best bid here ${perHour(book.best_bid)}`,
  },
  {
    name: "Quote",
    value: (book) => (book.quote === null ? "none" : perHour(book.quote)),
    note: (book) => (book.quote === null ? "no price wins a leaf now" : "wins a leaf now"),
  },
  {
    name: "Floor in force",
    value: (book) => perHour(book.floor_in_force),
    note: (book) =>
      book.floor_own === null ? "none set here" : `${perHour(book.floor_own)} set here`,
  },
  {
    name: "Charged here",
    value: (book) => perHour(Math.round(micros(book.rate_now) / 10_000) * 10_000),
    note: (book) => (book.leaves === 1 ? "its lease" : "all leases together"),
  },
  {
    name: "Leased",
    value: (book) => `${count(book.leased)} of ${count(book.online)}`,
    note: (book) =>
      book.online === book.leaves ? "all online" : `${count(book.leaves - book.online)} offline`,
  },
  {
    name: "Orders",
    value: (book) => count(book.orders_here),
    note: (book) => `above ${count(book.orders_above)}, below ${count(book.orders_below)}`,
  },
];

/** Gives {element, show(book, controls)}. */
export function facts() {
  const rows = FACTS.map(({ name }) => {
    const [value, note] = [h("span", {}, "–"), h("small", {}, "\u00a0")];
    return { element: h("div", {}, h("dt", {}, name), h("dd", {}, value, note)), value, note };
  });
  const controls = h("ul", { class: "controls-list" });
  function show(book, inForce) {
    FACTS.forEach(({ value, note }, i) => {
      say(rows[i].value, value(book));
      say(rows[i].note, note(book));
    });
    const lines = inForce.map(({ text, from }) => `${text}${from ? `, set at ${from}` : ""}`);
    if (controls.dataset.said === lines.join()) return;
    controls.dataset.said = lines.join();
    fill(
      controls,
      lines.length
        ? lines.map((line) => h("li", {}, line))
        : h("li", { class: "soft" }, "No bands, holds or fees."),
    );
  }
  const list = h(
    "dl",
    { class: "facts" },
    rows.map(({ element }) => element),
  );
  return {
    element: h("div", {}, list, h("h3", { class: "small-head" }, "Controls in force"), controls),
    show,
  };
}

function bandText({ fraction, seconds }) {
  return `at most ${percent(Number(fraction), 2).replace(/\.?0+ %/, " %")} in ${duration(seconds * 1000)}`;
}

const KINDS = [
  ["rise", "Bids rise", bandText],
  ["fall", "The floor falls", bandText],
  ["hold_s", "A new lease is held for", (seconds) => duration(seconds * 1000)],
  ["flash_s", "A withdrawn bid pays for", (seconds) => duration(seconds * 1000)],
];

/** The controls that work at a node, each with the nearest node that sets it; `set` is all that are set anywhere. */
export function sources(node, book, set) {
  const here = new Map(set.map((one) => [one.node, one]));
  if (book.controls) here.set(node.path, book.controls);
  return KINDS.filter(([kind]) => book.controls_in_force[kind] !== null).map(
    ([kind, name, write]) => {
      let from = node;
      while (from.path && (here.get(from.path)?.[kind] ?? null) === null) from = from.parent;
      return { kind, text: `${name} ${write(book.controls_in_force[kind])}`, from: from.path };
    },
  );
}
