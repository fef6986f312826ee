// The market page: key figures, charts of the last two hours, and a table of nodes.

import { Problem, all, at, get } from "../api.js";
import { Chart, legend, valueAt } from "../chart.js";
import { card, segments, shareCell, tile, updateShare } from "../components.js";
import { h, setText } from "../dom.js";
import {
  MICROS,
  clock,
  cost,
  count,
  dollars,
  micros,
  moment,
  perHour,
  percent,
  plural,
} from "../format.js";
import { href } from "../router.js";
import { Table } from "../table.js";
import { poll } from "../timers.js";
import { History } from "./market-history.js";

const NOW_MS = 3000;
const HISTORY_MS = 20_000;
const MINUTE_MS = 60_000;
const NOT_KEPT =
  "The service keeps samples in memory for two hours, one every ten seconds; a restart clears " +
  "them. For a longer history and for alerts, let Prometheus scrape /metrics.";
const RANGES = [
  [15, "15 min"],
  [60, "1 h"],
  [120, "2 h"],
];
const NODES_EVERY_MS = 10_000;
const NODES_MOST = 60; // one request each

export const market = {
  path: "market",
  name: "Market",
  mount(main) {
    const page = new MarketPage();
    main.append(...page.elements);
    return page;
  },
};

class MarketPage {
  constructor() {
    this.history = new History();
    this.minutes = null; // null until the user or `askFirst` chooses
    this.tiles = tiles();
    this.graphs = graphs(this.history);
    this.nodes = new MarketNodes();
    this.since = h("p", { class: "small soft" }, "\u00a0");
    this.ranges = segments("Time shown", RANGES, null, (minutes) => this.range(minutes));
    this.elements = [
      h("div", { class: "page-head" }, h("h1", {}, "Market"), this.ranges),
      h(
        "div",
        { class: "tiles" },
        this.tiles.map(({ element }) => element),
      ),
      h(
        "div",
        { class: "columns graphs" },
        this.graphs.map(({ element }) => element),
      ),
      this.since,
      this.nodes.element,
    ];
    this.polls = [
      poll(() => (this.minutes === null ? this.askFirst() : this.askHistory()), HISTORY_MS),
      poll(() => this.askNow(), NOW_MS),
    ];
  }

  range(minutes) {
    this.minutes = minutes;
    this.draw();
  }

  /** Choose the shortest range that shows the whole history. */
  async askFirst() {
    await this.askHistory();
    if (this.minutes !== null) return;
    const measured = this.history.last.at - this.history.first.at;
    const fits = RANGES.findIndex(([minutes]) => minutes * MINUTE_MS >= measured);
    this.ranges.children[fits < 0 ? RANGES.length - 1 : fits].click();
  }

  async askHistory() {
    this.history.take(await get("/v1/market/history"));
    this.draw();
  }

  async askNow() {
    this.now = await get("/v1/market");
    this.history.see(this.now);
    this.draw();
  }

  draw() {
    if (!this.history.last || this.minutes === null) return;
    const until = this.history.last.at;
    // Start the axis of a young market at its first sample, but at least two minutes ago.
    const from = Math.max(
      until - this.minutes * MINUTE_MS,
      Math.min(this.history.first.at, until - 2 * MINUTE_MS),
    );
    for (const { draw } of this.graphs) draw(from, until);
    for (const { update } of this.tiles) update(this.history, this.now);
    const begun = this.history.begins.at(-1);
    const begin =
      begun > from ? `The vertical line marks the start of the service, ${moment(begun)}. ` : "";
    setText(this.since, begin + NOT_KEPT);
  }

  close() {
    for (const one of this.polls) one.stop();
    this.nodes.close();
  }
}

function tiles() {
  const figure = (label, texts) => {
    const { element, update } = tile(label);
    const show = ([value, note, title]) => update({ value, note, title });
    return { element, update: (history, now) => now && show(texts(history, now)) };
  };
  return [
    figure("Revenue now", (_, now) => [
      `${cost(now.rate_now)}/h`,
      `${perLease(now)} a lease`,
      perHour(now.rate_now),
    ]),
    figure("Revenue so far", (history, now) => [
      cost(now.revenue),
      earned(history),
      `$${now.revenue}`,
    ]),
    figure("Utilisation", (_, now) => [
      percent(now.leased / now.online, 1),
      `${count(now.leased)} of ${plural(now.online, "GPU")} online`,
    ]),
    figure("Offline", (_, now) => [
      count(now.leaves - now.online),
      `of ${plural(now.leaves, "GPU")}`,
    ]),
    figure("Open orders", (_, now) => [count(now.open_orders), "waiting for a GPU"]),
    figure("Transfers per minute", (history) => [perMinuteNow(history), "from tenant to tenant"]),
    figure("Tenants", (_, now) => [count(now.tenants), ""]),
  ];
}

function perLease({ rate_now, leased }) {
  return leased ? `${dollars(Math.round(micros(rate_now) / leased), 2)}/h` : "–";
}

function earned(history) {
  const points = history.points(({ revenue }) => revenue);
  const ago = valueAt(points, history.last.at - 15 * MINUTE_MS);
  if (ago !== null) return `${cost(history.last.revenue - ago)} in the last 15 min`;
  const [since, first] = points[0];
  return `${cost(history.last.revenue - first)} since ${clock(since).slice(0, 5)}`;
}

function perMinuteNow(history) {
  const now = history.perMinute("transfers").at(-1)?.[1];
  return now === undefined || now === null ? "–" : count(now);
}

/** A chart with heading and legend; `lines()` returns its series. */
function graph(history, title, { value, tick = value }, lines) {
  const chart = new Chart({ label: title, height: 190, value, tick });
  const series = lines();
  const aside = series.length > 1 ? legend(series) : null;
  const element = card({ title, aside }, chart.element);
  const shown = (from) =>
    lines().map((line) => ({ ...line, points: line.points.filter(([at]) => at >= from) }));
  return {
    element,
    draw: (from, until) =>
      chart.draw({
        series: shown(from),
        from,
        until,
        marks: history.marks().filter(({ at }) => at > from && at < until),
      }),
  };
}

const money = (value) => dollars(value, 2);
const whole = (value) => `$${count(Math.round(value / MICROS))}`;
const MONEY = {
  value: money,
  tick: (value) => (value >= 10 * MICROS || value === 0 ? whole(value) : money(value)),
};
const NUMBER = { value: count };

function graphs(history) {
  const level = (name, field, more) => ({
    name,
    points: history.points((sample) => sample[field]),
    ...more,
  });
  const counted = (name, field, more) => ({ name, points: history.perMinute(field), ...more });
  const area = { class: "s1", area: true };
  return [
    graph(history, "Charges per hour", MONEY, () => [level("Charges per hour", "rate_now", area)]),
    graph(history, "Revenue", MONEY, () => [level("Revenue", "revenue", area)]),
    graph(history, "GPUs", NUMBER, () => [
      level("Leased", "leased", area),
      level("Online", "online", { class: "s3" }),
      level("All", "leaves", { class: "floor" }),
    ]),
    graph(history, "Transfers per minute", NUMBER, () => [counted("Transfers", "transfers", area)]),
    graph(history, "Leases per minute", NUMBER, () => [
      counted("Started", "started", { class: "s1" }),
      counted("Ended", "ended", { class: "s2" }),
    ]),
    graph(history, "Open orders", NUMBER, () => [level("Open orders", "open_orders", area)]),
  ];
}

class MarketNodes {
  constructor() {
    const caption = "Roots and their children";
    this.table = new Table({
      columns: COLUMNS,
      key: ({ node }) => node,
      caption,
      empty: "There are no nodes yet.",
    });
    this.more = h("p", { class: "small soft" });
    this.element = card({ title: "By node", aside: this.more }, this.table.element);
    this.poll = poll(() => this.ask(), NODES_EVERY_MS);
  }

  async ask() {
    this.wanted ??= await rootsAndChildren();
    const books = [];
    for (const node of this.wanted.slice(0, NODES_MOST)) books.push(await fetchBook(node));
    this.table.show(books.filter(Boolean));
    const left = this.wanted.length - NODES_MOST;
    setText(this.more, left > 0 ? `${plural(left, "more node")}: see the map` : "");
  }

  close() {
    this.poll.stop();
  }
}

/** Every root, each followed by its children. */
async function rootsAndChildren() {
  return (await all("/v1/topology")).flatMap(({ path, children }) => [path, ...children]);
}

/** The book of a node; null if the node no longer exists. */
async function fetchBook(node) {
  try {
    return await get(at("/v1/books", node));
  } catch (problem) {
    if (problem instanceof Problem && problem.status === 404) return null;
    throw problem;
  }
}

const link = ({ node }) =>
  h("a", { class: node.includes("/") ? "below" : "root", href: href("map", node) }, node);
const leasedShare = ({ leased, online }) => (online ? leased / online : 0);
const updateLeased = (cell, book) =>
  updateShare(cell, leasedShare(book), `${percent(leasedShare(book))} of ${count(book.online)}`);
const price = (name, field) => ({
  name,
  num: true,
  sort: (book) => micros(book[field]),
  value: (book) => perHour(book[field]),
});

const COLUMNS = [
  { name: "Node", sort: ({ node }) => node, make: link },
  {
    name: "Leased",
    num: true,
    sort: leasedShare,
    make: () => shareCell("of"),
    update: updateLeased,
  },
  {
    name: "Offline",
    num: true,
    sort: ({ leaves, online }) => leaves - online,
    value: ({ leaves, online }) => count(leaves - online),
  },
  price("Floor in force", "floor_in_force"),
  price("Standing rate", "standing_rate"),
  {
    ...price("Quote", "quote"),
    value: ({ quote }) => (quote === null ? "none" : perHour(quote)),
  },
  { name: "Open orders", num: true, sort: ordersAt, value: (book) => count(ordersAt(book)) },
  {
    name: "Charges now",
    num: true,
    sort: ({ rate_now }) => micros(rate_now),
    value: ({ rate_now }) => `${cost(rate_now)}/h`,
  },
];

/** Orders that rest at this node or below. */
function ordersAt({ orders_here, orders_below }) {
  return orders_here + orders_below;
}
