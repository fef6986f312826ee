// quotes

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
  /** `changed()` is called after each answer. */
  constructor(changed) {
    this.quotes = new Map(); // scope -> micro-dollars, or null if nothing is to be had
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

  /** Micro-dollars; null: nothing at any price; undefined: not for us to see. */
  quote(scope) {
    return this.quotes.get(scope);
  }

  text(scope) {
    const quote = this.quote(scope);
    return quote === undefined ? "" : quote === null ? "nothing to be had" : rate(quote);
  }

  close() {
    this.poll.stop();
  }
}

/** Gives {element, show(prices, leases)}; `order(scope)` begins an order there. */
export function quoteTable(mayTrade, order) {
  const columns = [
    { name: "Place", make: placeName },
    { name: "Quote now", num: true, update: sayQuote },
    { name: "While you look", update: sayHistory },
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
  table.element.classList.remove("cards"); // narrow enough for a phone as it is
  const about = h(
    "p",
    { class: "soft small" },
    "The least price that wins a leaf now: at the top of each tree, and around what you hold.",
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

function placeName({ scope }) {
  const depth = scope.split("/").length - 1;
  const name = h(
    "span",
    { class: depth ? "place" : "place root", title: scope },
    splitPath(scope)[1],
  );
  name.style.marginInlineStart = `${depth * 1.25}rem`;
  return name;
}

function sayQuote(cell, { price }) {
  setText(cell, price === null ? "none to be had" : rate(price));
  cell.title =
    price === null ? "Nothing is to be had there now at any price" : `$${decimal(price)} per hour`;
  cell.classList.toggle("faint", price === null);
}

function sayHistory(cell, { history }) {
  const drawn = history.join();
  if (cell.drawn === drawn) return;
  cell.drawn = drawn;
  fill(cell, h("span", { class: "mini" }, spark(history)));
}
