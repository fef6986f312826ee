// The book around a node, as a picture and as tables.

import { legend } from "../chart.js";
import { fill, h } from "../dom.js";
import { count, micros, perHour, plural } from "../format.js";
import { Table } from "../table.js";
import { DepthPicture } from "./node-depth-picture.js";

const KEYS = [
  { name: "Orders that would pay it", class: "s1" },
  { name: "Leaves to be had for it", class: "s2" },
];

export class Depth {
  constructor() {
    this.picture = new DepthPicture();
    this.bids = table(
      "Bids",
      "Limit",
      [
        ["Orders", "orders"],
        ["Rest here", "here"],
      ],
      "No order would take a leaf here.",
    );
    this.asks = table("Asks", "Price", [["Leaves", "leaves"]], "There is no leaf to be had.");
    this.note = h("p", { class: "small soft" });
    const head = (name) => h("h3", { class: "small-head" }, name);
    const tables = [head("Bids"), this.bids.element, head("Asks"), this.asks.element];
    const details = h("details", { class: "as-table" }, h("summary", {}, "As tables"), tables);
    this.element = h(
      "section",
      { class: "card" },
      h("header", {}, h("h2", {}, "Book")),
      this.picture.element,
      legend(KEYS),
      this.note,
      details,
    );
  }

  show(book) {
    const bids = book.bids.map((bid) => ({ ...bid, at: micros(bid.price) }));
    const asks = book.asks
      .filter(({ price }) => price !== null)
      .map((ask) => ({ ...ask, at: micros(ask.price) }));
    this.bids.show(bids);
    this.asks.show(asks);
    fill(this.note, notes(book).join(" "));
    this.picture.draw(bids, asks, book);
  }
}

/** What neither the picture nor the tables show. */
function notes({ asks, bids_more: bids, asks_more: more }) {
  const shut = asks.find(({ price }) => price === null)?.leaves ?? 0;
  return [
    shut && `${plural(shut, "leaf", "leaves")} cannot be had now at any price.`,
    bids && `${plural(bids, "lower limit")} of orders left out.`,
    more && `${plural(more, "higher price")} of leaves left out.`,
  ].filter(Boolean);
}

function table(caption, price, columns, empty) {
  const numbers = columns.map(([name, key]) => ({
    name,
    num: true,
    value: (row) => count(row[key]),
  }));
  const first = { name: price, num: true, value: (row) => perHour(row.price) };
  return new Table({ columns: [first, ...numbers], key: (row) => row.price, empty, caption });
}
