// The panel beside the map: facts, charts, order book and actions of the selected node.

import { all, at, get } from "../api.js";
import { card, factList } from "../components.js";
import { fill, h, keyed, setText } from "../dom.js";
import { count, duration, micros, perHour, percent } from "../format.js";
import { href } from "../router.js";
import { poll } from "../timers.js";
import { actionsFor } from "./actions.js";
import { LeaseCard, RateChart } from "./node-charts.js";
import { OrderBookCard } from "./order-book.js";

const BOOK_MS = 3000;
const OWN_ACTS = ["floor.", "controls.", "resource."]; // the next poll shows changes by others
const OVERVIEW_EVERY_MS = 2000;
const OWNERS = 12;

export class NodePanel {
  constructor(levels, context) {
    this.levels = levels;
    this.context = context;
    this.element = h("aside", { class: "node-panel stack", "aria-label": "The selected node" });
    this.node = null;
    this.stops = [];
  }

  close() {
    for (const stop of this.stops) stop();
    this.stops = [];
    this.actions = null;
  }

  /** Update after levels changed. */
  levelsChanged() {
    this.actions?.levelsChanged();
  }

  show(node) {
    if (node === this.node) return;
    this.close();
    this.node = node;
    if (node.path) this.open(node);
    else this.openAll(node);
  }

  openAll(forest) {
    const all = clusterOverview(forest, this.levels);
    fill(this.element, all.element);
    this.stops = [all.close];
  }

  open(node) {
    const [list, depth, rates] = [nodeFacts(), new OrderBookCard(), new RateChart(node)];
    const lease = node.height === 0 ? new LeaseCard(node, this.levels) : null;
    const actions = this.context.mayOperate
      ? actionsFor(
          node,
          this.levels,
          () => this.book,
          () => book.now(),
        )
      : null;
    this.actions = actions;
    const problem = h("p", { class: "problem", hidden: true });
    this.book = null;
    fill(
      this.element,
      this.head(node, list, actions, problem),
      lease?.element,
      rates.element,
      depth.element,
    );
    let set = [];
    const controls = poll(async () => (set = await all("/v1/controls")), 30_000);
    const book = poll(async () => {
      const found = await this.ask(node, problem);
      if (!found || this.node !== node) return;
      this.book = found;
      list.show(found, controlsInForce(node, found, set));
      depth.show(found);
      rates.floor(found.floor_in_force);
      actions?.show(found);
    }, BOOK_MS);
    const again = () => (controls.now(), book.now(), rates.now());
    this.stops = [
      book.stop,
      controls.stop,
      () => rates.close(),
      () => lease?.close(),
      this.context.feed.onChange(OWN_ACTS, again),
    ];
  }

  async ask(node, problem) {
    try {
      const found = await get(at("/v1/books", node.path));
      problem.hidden = true;
      return found;
    } catch (error) {
      fill(problem, error.message);
      problem.hidden = false;
      throw error;
    }
  }

  head(node, list, actions, problem) {
    const above = node.path.slice(0, node.path.length - node.name.length);
    const title = [h("small", { class: "soft" }, above), node.name];
    const aside = node.level ? h("span", { class: "tag" }, node.level) : null;
    return card({ title, aside }, problem, list.element, actions?.element);
  }
}

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
    note: (book) => (book.quote === null ? "no price wins a GPU now" : "wins a GPU now"),
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
    note: (book) => (book.leaves === 1 ? "this lease" : "all leases together"),
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

/** The facts about a node. Returns {element, show(book, controls)}. */
function nodeFacts() {
  const values = FACTS.map(() => h("dd", {}, h("span", {}, "–"), h("small", {}, "\u00a0")));
  const controls = h("ul", { class: "controls-list" });
  function show(book, inForce) {
    FACTS.forEach(({ value, note }, i) => {
      const [main, more] = values[i].children;
      setText(main, value(book));
      setText(more, note(book));
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
  const list = factList(FACTS.map(({ name }, i) => [name, values[i]]));
  return {
    element: h("div", {}, list, h("h3", { class: "small-head" }, "Controls in force"), controls),
    show,
  };
}

function bandText({ fraction, seconds }) {
  return (
    `at most ${percent(Number(fraction), 2).replace(/\.?0+ %/, " %")} in ` +
    `${duration(seconds * 1000)}`
  );
}

const KINDS = [
  ["rise", "Bids rise", bandText],
  ["fall", "The floor falls", bandText],
  ["hold_s", "New leases are held for", (seconds) => duration(seconds * 1000)],
  ["flash_s", "Withdrawn bids are charged for", (seconds) => duration(seconds * 1000)],
];

/**
 * The controls in force at a node, each with the nearest node that sets it. `set` lists all
 * controls of the cluster.
 */
function controlsInForce(node, book, set) {
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

/** The panel of the whole cluster: types and largest tenants. Returns {element, close()}. */
function clusterOverview(forest, levels) {
  const [kinds, owners] = [h("ul", { class: "holdings" }), h("ul", { class: "holdings" })];

  function show() {
    keyed(
      kinds,
      forest.children,
      ({ path }) => path,
      typeRow,
      (row, node) => {
        const { leased, idle, middle } = levels.figures(node);
        updateShareRow(
          row,
          middle === null ? "offline" : `median ${perHour(middle)}`,
          leased,
          leased + idle,
        );
      },
    );
    const held = holders(forest, levels);
    keyed(
      owners,
      held.slice(0, OWNERS),
      ({ name }) => name,
      ownerRow,
      (row, { size }) => updateShareRow(row, "", size, forest.last),
    );
  }

  show();
  const timer = setInterval(show, OVERVIEW_EVERY_MS);
  const hint = h(
    "p",
    { class: "soft small" },
    "Choose a node on the map to see its prices, its order book and its controls.",
  );
  return {
    element: [
      card({ title: "Everything" }, kinds, hint),
      card({ title: "Largest tenants", aside: h("span", { class: "small soft" }, "GPUs") }, owners),
    ],
    close: () => clearInterval(timer),
  };
}

function typeRow(node) {
  return shareRow(h("a", { href: href("map", node.path) }, node.name));
}

function ownerRow({ name }) {
  return shareRow(h("a", { href: href("tenants", name) }, name));
}

function shareRow(name) {
  return h(
    "li",
    {},
    name,
    h("span", { class: "soft small" }),
    h("span", { class: "num" }),
    h("div", { class: "bar" }, h("span", {})),
  );
}

function updateShareRow(row, note, part, whole) {
  const [, about, number, bar] = row.children;
  setText(about, note);
  setText(number, `${count(part)} (${percent(whole ? part / whole : 0)})`);
  bar.firstChild.style.width = `${whole ? (100 * part) / whole : 0}%`;
}

function holders(forest, levels) {
  const sizes = new Int32Array(levels.owners.length);
  for (let i = forest.first; i < forest.last; i++)
    if (levels.owner[i] >= 0) sizes[levels.owner[i]]++;
  return levels.owners
    .map((name, i) => ({ name, size: sizes[i] }))
    .filter(({ size }) => size)
    .sort((a, b) => b.size - a.size);
}
