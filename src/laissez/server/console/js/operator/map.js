// The map page, the operator's first: key figures, the heatmap, and a panel for the selected node.

import { get } from "../api.js";
import { spark } from "../chart.js";
import { segments, tile } from "../components.js";
import { fill, h } from "../dom.js";
import { clock, cost, count, dollars, micros, perHour, percent, plural } from "../format.js";
import { href } from "../router.js";
import { Stream } from "../stream.js";
import { Table } from "../table.js";
import { poll } from "../timers.js";
import { HeatmapLegend } from "./heatmap-legend.js";
import { HeatmapPointer } from "./heatmap-pointer.js";
import { Heatmap } from "./heatmap.js";
import { Levels } from "./levels.js";
import { NodePanel } from "./node.js";

const MODES = [
  ["rate", "Rate"],
  ["owner", "Owner"],
  ["headroom", "Headroom"],
];
const TABLE_EVERY_MS = 2000;
const NOW_MS = 2000;
const HISTORY_MS = 10_000;
const SPARKS_MAX = 180;

export const map = {
  path: "map",
  name: "Map",
  mount: (main, context) => new MapPage(main, context),
};

class MapPage {
  constructor(main, context) {
    this.levels = new Levels({
      built: () => this.built(),
      cell: (i, moved) => this.heat.touch(i, moved),
      updated: () => this.panel.levelsChanged(),
    });
    this.heat = new Heatmap(this.levels, () => this.legend.show());
    this.heat.onLayout = () => this.pointer.placed(this.selected);
    this.legend = new HeatmapLegend(this.heat, this.levels);
    this.pointer = new HeatmapPointer(this.heat, this.levels, go);
    this.tiles = tiles();
    this.table = childrenTable(this.levels);
    this.panel = new NodePanel(this.levels, context);
    this.crumbs = h("nav", { class: "crumbs", "aria-label": "Breadcrumbs" });
    this.problem = h("p", { class: "problem", role: "alert", hidden: true });
    this.outdated = h("p", { class: "notice", role: "status", hidden: true });
    this.path = "";
    this.build(main);
    const on = {
      event: (message) => this.levels.receive(message),
      state: (state, why) => this.showState(state, why),
      refused: (problem) => this.showProblem(problem.message),
    };
    this.stream = new Stream("/v1/levels", on);
  }

  build(main) {
    const modes = segments("Colour by", MODES, "rate", (mode) => this.heat.colourBy(mode));
    const head = h(
      "header",
      {},
      this.crumbs,
      h("div", { class: "row" }, h("span", { class: "small soft" }, "Colour by"), modes),
    );
    const help = h(
      "p",
      { id: "map-help", class: "visually-hidden" },
      "Arrow keys move, Enter opens, Backspace goes up. The same data follows as a table.",
    );
    const card = h(
      "section",
      { class: "card heat-card" },
      head,
      this.problem,
      this.outdated,
      this.legend.element,
      this.heat.element,
      help,
      this.table.element,
    );
    fill(
      main,
      h("h1", { class: "visually-hidden" }, "Map"),
      this.tiles.element,
      h("div", { class: "map-columns" }, card, this.panel.element),
    );
    this.heat.canvas.setAttribute("aria-describedby", "map-help");
  }

  close() {
    for (const part of [this.stream, this.heat, this.pointer, this.tiles, this.table, this.panel])
      part.close();
  }

  built() {
    this.heat.built();
    this.heat.view = null;
    this.go();
  }

  show(rest) {
    this.path = rest.join("/");
    this.go();
    return this.path;
  }

  /** Show the node of the URL. For a GPU, show its parent with the GPU selected. */
  go() {
    if (!this.levels.count) return;
    const node = this.levels.nodes.get(this.path);
    this.showProblem(node ? "" : `There is no ${this.path} in this cluster.`);
    const shown = node ?? this.levels.forest;
    this.selected = shown.height === 0 && shown.parent ? shown : null;
    const view = this.selected ? shown.parent : shown;
    this.heat.show(view);
    this.pointer.placed(this.selected);
    this.legend.show();
    this.table.show(view);
    this.panel.show(shown);
    fill(this.crumbs, crumbs(shown));
  }

  /**
   * Say that the map is out of date. It has a connection of its own, which can be lost separately.
   */
  showState(state, why) {
    this.outdated.hidden = state !== "lost";
    if (state === "lost")
      fill(
        this.outdated,
        `The map has not been updated since ${clock(Date.now())}. ${why || ""} Trying again.`,
      );
  }

  showProblem(text) {
    fill(this.problem, text);
    this.problem.hidden = !text;
  }
}

function go(path) {
  location.hash = href("map", path);
}

function crumbs(node) {
  const way = [];
  for (let step = node; step; step = step.parent) way.unshift(step);
  const link = (step) =>
    step === node
      ? h("b", { "aria-current": "page" }, step.name)
      : h("a", { href: href("map", step.path) }, step.name);
  return h(
    "ol",
    {},
    way.map((step) => h("li", {}, link(step))),
  );
}

const rate = (name, key) => ({
  name,
  num: true,
  value: (row) => (row[key] === null ? "–" : dollars(row[key])),
  sort: (row) => row[key],
});
const number = (name, key) => ({
  name,
  num: true,
  value: (row) => count(row[key]),
  sort: (row) => row[key],
});

const COLUMNS = [
  {
    name: "Node",
    make: ({ node }) => h("a", { href: href("map", node.path) }, node.name),
    update: () => {},
    sort: ({ node }) => node.name,
  },
  number("GPUs", "leaves"),
  number("Leased", "leased"),
  number("Idle", "idle"),
  number("Offline", "offline"),
  rate("Lowest", "low"),
  rate("Median", "middle"),
  rate("Highest", "high"),
];

/**
 * A table of the children of the shown node, as an alternative to the colours. Figures are computed
 * only while the table is open. Returns {element, show(node), close()}.
 */
function childrenTable(levels) {
  const caption = "Child nodes; rates in dollars per hour";
  const table = new Table({
    columns: COLUMNS,
    key: ({ node }) => node.path,
    empty: "This node has no children.",
    caption,
  });
  const element = h(
    "details",
    { class: "as-table", ontoggle: () => update() },
    h("summary", {}, "As a table"),
    table.element,
  );
  let shown = null;

  function update() {
    if (element.open && shown)
      table.show(shown.children.map((node) => ({ node, ...levels.figures(node) })));
  }

  const timer = setInterval(update, TABLE_EVERY_MS);
  return {
    element,
    show(node) {
      shown = node;
      update();
    },
    close: () => clearInterval(timer),
  };
}

// `value` and `note` take the market now and its samples; `sample` gives a point of the sparkline.
const TILES = [
  {
    name: "Utilisation",
    value: (market) => percent(market.online ? market.leased / market.online : 0, 1),
    note: (market) => `${count(market.leased)} of ${count(market.online)} online`,
    sample: ({ online, leased }) => (online ? leased / online : 0),
  },
  {
    name: "Revenue now",
    value: (market) => revenue(market.rate_now),
    title: (market) => `$${market.rate_now}/h`,
    note: (market) => `${cost(market.revenue)} in total`,
    sample: ({ rate_now: rate }) => micros(rate),
  },
  {
    name: "Transfers",
    value: (_, samples) => (samples.length ? `${count(lastMinute(samples).moved)} / min` : "–"),
    note: (_, samples) =>
      samples.length
        ? `${count(lastMinute(samples).started)} started, ${count(lastMinute(samples).ended)} ended`
        : "",
    sample: ({ transfers }) => transfers,
  },
  {
    name: "Open orders",
    value: (market) => count(market.open_orders),
    note: (market) => `${plural(market.tenants, "tenant")} in total`,
    sample: ({ open_orders: orders }) => orders,
  },
  {
    name: "Idle",
    value: (market) => count(market.online - market.leased),
    note: (market) => `${count(market.leaves - market.online)} offline of ${count(market.leaves)}`,
    sample: ({ online, leased }) => online - leased,
  },
];

/** Whole cents; whole dollars for large sums. More digits would only flicker. */
function revenue(text) {
  const value = micros(text);
  return value < 1e10
    ? perHour(Math.round(value / 10_000) * 10_000)
    : `$${count(Math.round(value / 1e6))}/h`;
}

function lastMinute(history) {
  const sum = { moved: 0, started: 0, ended: 0 };
  const until = Date.parse(history.at(-1).at);
  for (const { at, transfers, started, ended } of history) {
    if (until - Date.parse(at) >= 60_000) continue;
    sum.moved += transfers;
    sum.started += started;
    sum.ended += ended;
  }
  return sum;
}

/** The key figures with their sparklines. Returns {element, close()}. */
function tiles() {
  const sparklines = TILES.map(() => h("div", { class: "spark-place" }));
  const made = TILES.map(({ name }, i) => tile(name, sparklines[i]));
  let market = null;
  let history = [];

  function show() {
    if (!market) return;
    TILES.forEach(({ value, note, title }, i) =>
      made[i].update({
        value: value(market, history),
        note: note(market, history),
        title: title?.(market),
      }),
    );
  }

  function draw() {
    TILES.forEach(({ sample }, i) =>
      sparklines[i].replaceChildren(spark(thinned(history).map(sample))),
    );
  }

  const now = poll(async () => {
    market = await get("/v1/market");
    show();
  }, NOW_MS);
  const past = poll(async () => {
    history = (await get("/v1/market/history")).samples;
    draw();
    show();
  }, HISTORY_MS);

  return {
    element: h(
      "section",
      { class: "tiles market-tiles", "aria-label": "The market now" },
      made.map(({ element }) => element),
    ),
    close() {
      now.stop();
      past.stop();
    },
  };
}

function thinned(samples) {
  const every = Math.ceil(samples.length / SPARKS_MAX) || 1;
  return samples.filter((_, i) => (samples.length - 1 - i) % every === 0);
}
