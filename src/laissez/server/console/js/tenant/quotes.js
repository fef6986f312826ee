// The quotes that this tenant may see, with a short history, and their table.

import { all } from "../api.js";
import { spark } from "../chart.js";
import { card, smallButton } from "../components.js";
import { fill, h, setText } from "../dom.js";
import { decimal, micros, rate, splitPath } from "../format.js";
import { Table } from "../table.js";
import { poll } from "../timers.js";

const EVERY_MS = 5000;
const KEPT = 60;

export class PriceBook {
  /** Calls `changed()` after each answer. */
  constructor(changed) {
    this.quotes = new Map(); // scope -> micro-dollars, or null if no GPU is available at any price
    this.histories = new Map();
    this.known = false;
    this.poll = poll(async () => {
      const found = await all("/v1/prices");
      this.quotes = new Map(found.map(({ scope, price }) => [scope, micros(price)]));
      this.known = true;
      this.remember();
      changed();
    }, EVERY_MS);
  }

  remember() {
    for (const scope of this.histories.keys())
      if (!this.quotes.has(scope)) this.histories.delete(scope);
    for (const [scope, price] of this.quotes) {
      const history = this.histories.get(scope) ?? [];
      if (price !== null) history.push(price);
      if (history.length > KEPT) history.shift();
      this.histories.set(scope, history);
    }
  }

  /** Micro-dollars; null: no GPU at any price; undefined: not visible to this tenant. */
  quote(scope) {
    return this.quotes.get(scope);
  }

  text(scope) {
    const quote = this.quote(scope);
    return quote === undefined ? "" : quote === null ? "none available" : rate(quote);
  }

  close() {
    this.poll.stop();
  }
}

/**
 * The table of quotes, as a tree. Calls `order(scope)` to start an order. Returns {element,
 * show(prices, leases)}.
 */
export function quoteTable(mayTrade, order) {
  const columns = [
    { name: "Node", make: nodeName },
    { name: "Quote now", num: true, update: updateQuote },
    { name: "Trend", update: updateHistory },
    { name: "Yours", num: true, value: ({ mine }) => (mine ? String(mine) : "–") },
  ];
  const begin = ({ scope }) =>
    smallButton("Order", () => order(scope), "plain", { "aria-label": `Order in ${scope}` });
  if (mayTrade) columns.push({ name: "", make: begin });
  const table = new Table({
    caption: "Quotes",
    columns,
    key: ({ scope }) => scope,
    empty: "No quotes yet.",
  });
  table.element.classList.remove("cards"); // already narrow enough for a phone
  const about = h(
    "p",
    { class: "soft small" },
    "The lowest price that wins a GPU now: for each GPU type, and around your leases.",
  );
  const element = card(
    { id: "quotes", title: "Quotes", kind: "quotes", aside: about },
    table.element,
  );
  return {
    element,
    show(prices, leases) {
      const own = new Set(leases.map(({ leaf }) => leaf));
      const below = countBelow(leases);
      const scopes = [...prices.quotes.keys()].filter((scope) => !own.has(scope)).sort(inPathOrder);
      const row = (scope) => ({
        scope,
        price: prices.quotes.get(scope),
        history: prices.histories.get(scope),
        mine: below.get(scope) ?? 0,
      });
      table.show(scopes.map(row));
    },
  };
}

function countBelow(leases) {
  const counts = new Map();
  for (const { leaf } of leases) {
    for (let cut = leaf.indexOf("/"); cut > 0; cut = leaf.indexOf("/", cut + 1)) {
      const node = leaf.slice(0, cut);
      counts.set(node, (counts.get(node) ?? 0) + 1);
    }
  }
  return counts;
}

const names = new Intl.Collator("en", { numeric: true });

function inPathOrder(a, b) {
  return names.compare(a.replaceAll("/", " "), b.replaceAll("/", " "));
}

function nodeName({ scope }) {
  const depth = scope.split("/").length - 1;
  const name = h(
    "span",
    { class: depth ? "place" : "place root", title: scope },
    splitPath(scope)[1],
  );
  name.style.marginInlineStart = `${depth * 1.25}rem`;
  return name;
}

function updateQuote(cell, { price }) {
  setText(cell, price === null ? "none available" : rate(price));
  cell.title =
    price === null ? "No GPU is available there now at any price" : `$${decimal(price)} per hour`;
  cell.classList.toggle("faint", price === null);
}

function updateHistory(cell, { history }) {
  const drawn = history.join();
  if (cell.drawn === drawn) return;
  cell.drawn = drawn;
  fill(cell, h("span", { class: "mini" }, spark(history)));
}
