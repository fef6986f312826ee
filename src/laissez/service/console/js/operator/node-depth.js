// How deep the book around a node is: at each price, how many orders would pay it, and how many leaves could be had for it.

import { legend } from "../chart.js";
import { fill, h, s } from "../dom.js";
import { count, dollars, micros, perHour, plural } from "../format.js";
import { Table } from "../table.js";

const [WIDTH, HEIGHT] = [400, 150];
const MARGIN = { left: 38, right: 8, top: 8, bottom: 20 };
const BEYOND = 1.6; // times what a leaf costs now; limits may be far higher, and nobody looks there

export class Depth {
  constructor() {
    this.svg = s("svg", { role: "img", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-label": "Depth of the book" });
    this.reading = h("div", { class: "reading", hidden: true });
    this.picture = h("div", { class: "chart depth" }, this.svg, this.reading);
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => this.point(null));
    this.bids = table("Bids", "Limit", [["Orders", "orders"], ["Rest here", "here"]], "No order would take a leaf here.");
    this.asks = table("Asks", "Price", [["Leaves", "leaves"]], "There is no leaf to be had.");
    this.note = h("p", { class: "small soft" });
    const keys = [{ name: "Orders that would pay it", class: "s1" }, { name: "Leaves to be had for it", class: "s2" }];
    const tables = h("details", { class: "as-table" }, h("summary", {}, "As tables"), h("h3", { class: "small-head" }, "Bids"), this.bids.element, h("h3", { class: "small-head" }, "Asks"), this.asks.element);
    this.element = h("section", { class: "card" }, h("header", {}, h("h2", {}, "Book")), this.picture, legend(keys), this.note, tables);
  }

  show(book) {
    const bids = book.bids.map((bid) => ({ ...bid, at: micros(bid.price) }));
    const asks = book.asks.filter(({ price }) => price !== null).map((ask) => ({ ...ask, at: micros(ask.price) }));
    const shut = book.asks.find(({ price }) => price === null)?.leaves ?? 0;
    this.bids.show(bids);
    this.asks.show(asks);
    const left = [book.bids_more && `${plural(book.bids_more, "lower price")} of bids`, book.asks_more && `${plural(book.asks_more, "higher price")} of asks`].filter(Boolean);
    fill(this.note, shut ? `${plural(shut, "leaf", "leaves")} cannot be had now at any price. ` : "", left.length ? `Left out: ${left.join(" and ")}.` : "");
    this.draw(bids, asks, book);
  }

  draw(bids, asks, book) {
    this.paying = cumulated([...bids], ({ orders }) => orders); // highest price first
    this.offered = cumulated([...asks], ({ leaves }) => leaves); // lowest price first
    const known = [...bids, ...asks].map(({ at }) => at);
    const now = Math.max(micros(book.standing_rate), micros(book.quote) ?? asks[0]?.at ?? 0, bids[0]?.at ?? 0);
    this.price = Math.max(1e5, Math.min(Math.max(0, ...known) * 1.05, BEYOND * now || Infinity));
    this.inside = this.offered.filter(([at]) => at <= this.price);
    this.most = Math.max(1, this.paying.at(-1)?.[1] ?? 0, this.inside.at(-1)?.[1] ?? 0);
    fill(this.svg, this.axes(), this.area(this.asksPath(), "s2"), this.area(this.bidsPath(), "s1"), (this.cursor = s("line", { class: "cursor", y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom, visibility: "hidden" })));
    this.svg.setAttribute("aria-label", `Depth of the book: ${plural(this.paying.at(-1)?.[1] ?? 0, "order")}, ${plural(this.offered.at(-1)?.[1] ?? 0, "leaf", "leaves")} to be had`);
  }

  x(price) {
    return MARGIN.left + Math.min(1, price / this.price) * (WIDTH - MARGIN.left - MARGIN.right);
  }

  y(number) {
    return HEIGHT - MARGIN.bottom - (number / this.most) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  }

  axes() {
    const levels = [...new Set([0, Math.ceil(this.most / 2), this.most])];
    const prices = [0, 0.25, 0.5, 0.75, 1].map((share) => share * this.price);
    return [
      levels.map((level) => [s("line", { class: "grid", x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: this.y(level), y2: this.y(level) }), s("text", { class: "axis-text", x: MARGIN.left - 5, y: this.y(level) + 4, "text-anchor": "end" }, count(level))]),
      prices.map((price, i) => s("text", { class: "axis-text", x: this.x(price), y: HEIGHT - 5, "text-anchor": ["start", "middle", "middle", "middle", "end"][i] }, dollars(Math.round(price / 1e4) * 1e4, 2))),
    ];
  }

  /** From the highest limit down to nothing: ever more orders. */
  bidsPath() {
    return steps(this.paying, (p) => this.x(p), (n) => this.y(n), this.x(0));
  }

  asksPath() {
    return steps(this.inside, (p) => this.x(p), (n) => this.y(n), this.x(this.price));
  }

  area(path, kind) {
    return path && [s("path", { class: `area ${kind}`, d: `${path}Z` }), s("path", { class: `line ${kind}`, d: path })];
  }

  point(event) {
    this.reading.hidden = !event;
    this.cursor?.setAttribute("visibility", event ? "visible" : "hidden");
    if (!event) return;
    const box = this.svg.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * WIDTH;
    const price = Math.max(0, Math.min(1, (place - MARGIN.left) / (WIDTH - MARGIN.left - MARGIN.right))) * this.price;
    const sum = (list, within) => list.reduce((most, [at, total]) => (within(at) ? total : most), 0);
    this.cursor.setAttribute("x1", this.x(price));
    this.cursor.setAttribute("x2", this.x(price));
    fill(this.reading, h("b", {}, perHour(Math.round(price / 1e4) * 1e4)), h("div", {}, `${plural(sum(this.paying, (at) => at >= price), "order")} would pay it`), h("div", {}, `${plural(sum(this.offered, (at) => at <= price), "leaf", "leaves")} to be had`));
    Object.assign(this.reading.style, place < WIDTH / 2 ? { left: "", right: "0" } : { left: "0", right: "" });
  }
}

function cumulated(groups, size) {
  let sum = 0;
  return groups.map((group) => [group.at, (sum += size(group))]);
}

function steps(sums, x, y, end) {
  if (!sums.length) return "";
  let path = `M${x(sums[0][0])},${y(0)}`;
  for (const [i, [price, sum]] of sums.entries()) path += `${i ? `H${x(price)}` : ""}V${y(sum)}`;
  return `${path}H${end}V${y(0)}`;
}

function table(caption, price, columns, empty) {
  const numbers = columns.map(([name, key]) => ({ name, num: true, value: (row) => count(row[key]) }));
  return new Table({ columns: [{ name: price, num: true, value: (row) => perHour(row.price) }, ...numbers], key: (row) => row.price, empty, caption });
}
