// The order book of a node, as a chart and as tables.

import { legend } from "../chart.js";
import { card } from "../components.js";
import { fill, h, s } from "../dom.js";
import { count, dollars, micros, perHour, plural } from "../format.js";
import { Table } from "../table.js";

const KEYS = [
  { name: "Orders that would pay the price", class: "s1" },
  { name: "GPUs available at the price", class: "s2" },
];
const [WIDTH, HEIGHT] = [400, 150];
const MARGIN = { left: 38, right: 8, top: 8, bottom: 20 };
const [LEFT, RIGHT, BOTTOM] = [MARGIN.left, WIDTH - MARGIN.right, HEIGHT - MARGIN.bottom];
const BEYOND = 1.6; // how far the axis extends beyond the current price; limits may be far higher
const PRICE_LEAST = 100_000;

export class OrderBookCard {
  constructor() {
    this.chart = new DepthChart();
    this.bids = table(
      "Bids",
      "Limit",
      [
        ["Orders", "orders"],
        ["At this node", "here"],
      ],
      "No order bids for GPUs here.",
    );
    this.asks = table("Asks", "Price", [["GPUs", "leaves"]], "No GPU is available.");
    this.note = h("p", { class: "small soft" });
    const head = (name) => h("h3", { class: "small-head" }, name);
    const tables = [head("Bids"), this.bids.element, head("Asks"), this.asks.element];
    const details = h("details", { class: "as-table" }, h("summary", {}, "As tables"), tables);
    const title = "Order book";
    this.element = card({ title }, this.chart.element, legend(KEYS), this.note, details);
  }

  show(book) {
    const bids = book.bids.map((bid) => ({ ...bid, at: micros(bid.price) }));
    const asks = book.asks
      .filter(({ price }) => price !== null)
      .map((ask) => ({ ...ask, at: micros(ask.price) }));
    this.bids.show(bids);
    this.asks.show(asks);
    fill(this.note, notes(book).join(" "));
    this.chart.draw(bids, asks, book);
  }
}

/** Notes on orders and GPUs that chart and tables omit. */
function notes({ asks, bids_more: bids, asks_more: more }) {
  const shut = asks.find(({ price }) => price === null)?.leaves ?? 0;
  return [
    shut && `${plural(shut, "GPU is", "GPUs are")} not available now at any price.`,
    bids && `${plural(bids, "lower limit")} not shown.`,
    more && `${plural(more, "higher price")} not shown.`,
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

class DepthChart {
  constructor() {
    this.svg = s("svg", {
      role: "img",
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      "aria-label": "Depth of the order book",
    });
    this.reading = h("div", { class: "reading", hidden: true });
    this.element = h("div", { class: "chart depth" }, this.svg, this.reading);
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => this.leave());
  }

  /**
   * Draw the book. `bids` come with the highest limit first, `asks` with the lowest price first;
   * `at` is in micro-dollars.
   */
  draw(bids, asks, book) {
    this.paying = cumulated(bids, "orders");
    this.offered = cumulated(asks, "leaves");
    const known = Math.max(0, ...bids.map(({ at }) => at), ...asks.map(({ at }) => at)) * 1.05;
    const now = Math.max(
      micros(book.standing_rate),
      micros(book.quote) ?? asks[0]?.at ?? 0,
      bids[0]?.at ?? 0,
    );
    this.price = Math.max(PRICE_LEAST, Math.min(known, BEYOND * now || Infinity));
    const inside = this.offered.filter(([at]) => at <= this.price);
    this.most = Math.max(1, this.paying.at(-1)?.[1] ?? 0, inside.at(-1)?.[1] ?? 0);
    this.cursor = s("line", { class: "cursor", y1: MARGIN.top, y2: BOTTOM, visibility: "hidden" });
    fill(
      this.svg,
      this.levels(),
      this.prices(),
      this.area(inside, RIGHT, "s2"),
      this.area(this.paying, LEFT, "s1"),
      this.cursor,
    );
    const [orders, leaves] = [this.paying.at(-1)?.[1] ?? 0, this.offered.at(-1)?.[1] ?? 0];
    this.svg.setAttribute(
      "aria-label",
      `Depth of the order book: ${plural(orders, "order")}, ${plural(leaves, "GPU")} available`,
    );
  }

  x(price) {
    return LEFT + Math.min(1, price / this.price) * (RIGHT - LEFT);
  }

  y(number) {
    return BOTTOM - (number / this.most) * (BOTTOM - MARGIN.top);
  }

  levels() {
    return [...new Set([0, Math.ceil(this.most / 2), this.most])].map((level) => [
      s("line", { class: "grid", x1: LEFT, x2: RIGHT, y1: this.y(level), y2: this.y(level) }),
      s(
        "text",
        { class: "axis-text", x: LEFT - 5, y: this.y(level) + 4, "text-anchor": "end" },
        count(level),
      ),
    ]);
  }

  prices() {
    return [0, 0.25, 0.5, 0.75, 1].map((share, i) => {
      const anchor = i === 0 ? "start" : i === 4 ? "end" : "middle";
      const price = share * this.price;
      return s(
        "text",
        { class: "axis-text", x: this.x(price), y: HEIGHT - 5, "text-anchor": anchor },
        dollars(cents(price), 2),
      );
    });
  }

  /** An area in steps, from the first price to the last and on to `end`. */
  area(sums, end, kind) {
    if (!sums.length) return null;
    let path = `M${this.x(sums[0][0])},${this.y(0)}`;
    for (const [price, sum] of sums) path += `H${this.x(price)}V${this.y(sum)}`;
    path += `H${end}V${this.y(0)}`;
    return [
      s("path", { class: `area ${kind}`, d: `${path}Z` }),
      s("path", { class: `line ${kind}`, d: path }),
    ];
  }

  leave() {
    this.reading.hidden = true;
    this.cursor?.setAttribute("visibility", "hidden");
  }

  point({ clientX }) {
    if (!this.cursor) return;
    const box = this.svg.getBoundingClientRect();
    const place = Math.min(RIGHT, Math.max(LEFT, ((clientX - box.left) / box.width) * WIDTH));
    const price = ((place - LEFT) / (RIGHT - LEFT)) * this.price;
    const total = (sums, counts) => sums.reduce((most, [at, sum]) => (counts(at) ? sum : most), 0);
    const orders = plural(
      total(this.paying, (at) => at >= price),
      "order",
    );
    const leaves = plural(
      total(this.offered, (at) => at <= price),
      "GPU",
    );
    for (const end of ["x1", "x2"]) this.cursor.setAttribute(end, place);
    this.cursor.setAttribute("visibility", "visible");
    this.reading.hidden = false;
    fill(
      this.reading,
      h("b", {}, perHour(cents(price))),
      h("div", {}, `${orders} would pay this`),
      h("div", {}, `${leaves} available`),
    );
    Object.assign(
      this.reading.style,
      place < WIDTH / 2 ? { left: "", right: "0" } : { left: "0", right: "" },
    );
  }
}

function cumulated(groups, size) {
  let sum = 0;
  return groups.map((group) => [group.at, (sum += group[size])]);
}

function cents(price) {
  return Math.round(price / 10_000) * 10_000;
}
