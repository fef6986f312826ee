// Leases that ended: why, with both prices, and what they had cost.

import { fill, h, say } from "../dom.js";
import { why } from "../eventwords.js";
import { micros, plural, reason } from "../format.js";
import { Table } from "../table.js";
import { exact, lasted, ms, when } from "./figures.js";
import { card, pathName, smallButton } from "./parts.js";
import { pastEvents } from "./past.js";

const SHOWN = 25;
const MORE = 100;

/** Every lease that ended, newest first: {id, leaf, at, reason, rate, limit, started (ms or null)}. */
function endedLeases(feed) {
  const started = new Map();
  const ended = [];
  for (const { event } of pastEvents(feed)) {
    if (event.type === "lease.started") started.set(event.lease, ms(event.at));
    if (event.type === "lease.ended")
      ended.push({ ...event, id: event.lease, started: started.get(event.lease) ?? null });
  }
  return ended.reverse();
}

/** Gives {element, show(feed, lines)}; `lines` are the lines of the bill by id. */
export function endedList() {
  let most = SHOWN;
  let again = () => {};
  const table = new Table({
    caption: "Leases that ended recently",
    columns: columns(),
    key: ({ id }) => id,
    empty: "No lease has ended lately.",
  });
  const count = h("span", { class: "soft small" });
  const more = smallButton("Show more", () => ((most += MORE), again()));
  const element = card(
    { id: "ended", title: "Ended recently", kind: "thirds", aside: [count, more] },
    table.element,
  );
  return {
    element,
    show(feed, lines) {
      again = () => this.show(feed, lines);
      const ended = endedLeases(feed);
      table.show(ended.slice(0, most).map((one) => ({ ...one, line: lines.get(one.id) ?? null })));
      say(count, ended.length > most ? `${most} of ${plural(ended.length, "lease")}` : "");
      more.hidden = ended.length <= most;
    },
  };
}

function columns() {
  return [
    { name: "Leaf", update: sayLeaf },
    { name: "Ended", update: sayWhen },
    { name: "Held for", num: true, value: held },
    { name: "Why", wide: true, update: sayWhy },
    { name: "Cost", num: true, value: ({ line }) => (line ? exact(micros(line.cost)) : "–") },
  ];
}

/** A link to its prices, while the books know it: then it has a line in the bill. */
function sayLeaf(cell, one) {
  const known = String(Boolean(one.line));
  if (cell.dataset.known === known) return;
  cell.dataset.known = known;
  fill(cell, pathName(one.leaf, one.line ? one.id : null));
}

function sayWhen(cell, { at }) {
  say(cell, when(at));
  cell.title = at;
}

function held({ at, started, line }) {
  const start = started ?? (line ? ms(line.start) : null);
  return start === null ? "–" : lasted(ms(at) - start);
}

function sayWhy(cell, one) {
  if (cell.firstChild) return;
  const lost = one.reason !== "relinquished";
  fill(
    cell,
    h("span", { class: `tag ${lost ? "bad" : ""}` }, reason(one.reason)),
    " ",
    h("span", { class: "small" }, why(one)),
  );
}
