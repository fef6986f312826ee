// The InfraMaps page: each runner with its alarms, its maps and the floors that they set.

import { get, serverNow } from "../api.js";
import { button, card, finder } from "../components.js";
import { h, keyed, setText } from "../dom.js";
import {
  HOUR_MS,
  clock,
  count,
  dollars,
  duration,
  micros,
  moment,
  perHour,
  plural,
} from "../format.js";
import { href } from "../router.js";
import { Table } from "../table.js";
import { poll } from "../timers.js";
import { MapCard, MapHistories } from "./inframap-card.js";

const EVERY_MS = 3000;
const CARDS = 12; // at first
const CARDS_MORE = 24;
const OFF = 0.005; // share of the price; smaller differences are rounding

export const inframaps = {
  path: "inframaps",
  name: "InfraMaps",
  mount(main) {
    const page = new InfraMapsPage();
    main.append(...page.elements);
    return page;
  },
};

class InfraMapsPage {
  constructor() {
    this.histories = new MapHistories();
    this.runners = h("div", { class: "stack" });
    this.empty = emptyState();
    const about = h(
      "p",
      { class: "small soft" },
      "Power, cooling and carbon data as pressure on prices",
    );
    this.elements = [
      h("div", { class: "page-head" }, h("h1", {}, "InfraMaps"), about),
      this.empty,
      this.runners,
    ];
    this.poll = poll(() => this.ask(), EVERY_MS);
  }

  /** Fetch the last hour at first, then only new points. */
  async ask() {
    const since = this.histories.newest ?? new Date(serverNow() - HOUR_MS).toISOString();
    const { at, runners } = await get("/v1/inframaps", { since });
    this.histories.take(runners);
    const now = Date.parse(at);
    const update = ({ card }, runner) => card.show(runner, now, this.histories);
    keyed(
      this.runners,
      runners,
      ({ runner }) => runner,
      (runner) => this.make(runner),
      update,
    );
    this.empty.hidden = runners.length > 0;
  }

  make({ runner }) {
    const card = new Runner(runner);
    card.element.card = card;
    return card.element;
  }

  close() {
    this.poll.stop();
  }
}

function emptyState() {
  return h(
    "section",
    { class: "card none", hidden: true },
    h("h2", {}, "No maps report to this service"),
    h(
      "p",
      {},
      "A map turns data about the cluster, such as the remaining power of a row, into " +
        "pressure on its floor.",
    ),
    h("p", {}, "Define maps in a file and run them beside the service:"),
    h("pre", {}, h("code", {}, "laissez operator run maps.toml")),
    h(
      "p",
      { class: "soft" },
      "The maps then appear here by themselves. You can also set floors by hand, on the map page.",
    ),
  );
}

class Runner {
  constructor(name) {
    this.name = name;
    this.state = h("span", { class: "tag" });
    this.when = h("span", { class: "small soft" });
    this.alarms = h("ul", { class: "alarms" });
    this.alert = h("div", { role: "alert" }, this.alarms);
    this.cards = h("div", { class: "maps" });
    this.most = CARDS;
    this.left = h("span", { class: "small soft" });
    this.more = button("Show more", () => this.showMore());
    this.rest = h("div", { class: "row", hidden: true }, this.more, this.left);
    this.search = finder("Find a map or a node", "Find a map by name or node", () =>
      this.showMaps(),
    );
    this.floors = new FloorsTable(name);
    const head = h(
      "div",
      { class: "runner-head" },
      h("h2", {}, name),
      this.state,
      this.when,
      this.search,
    );
    this.element = h(
      "section",
      { class: "stack", "aria-label": `Runner ${name}` },
      head,
      this.alert,
      this.cards,
      this.rest,
      this.floors.element,
    );
  }

  show(runner, now, histories) {
    Object.assign(this, { maps: runner.maps, now, histories });
    setText(this.state, runner.late ? "late" : "reporting");
    this.state.className = `tag ${runner.late ? "warn" : "good"}`;
    setText(
      this.when,
      `last report ${clock(runner.at)}, one every ${duration(runner.pace_s * 1000)}`,
    );
    this.when.title = runner.at;
    this.showAlarms(alarmsOf(runner));
    this.showMaps();
    this.floors.show(runner.floors);
  }

  showAlarms(alarms) {
    keyed(
      this.alarms,
      alarms,
      ({ key }) => key,
      ({ kind }) => h("li", { class: `alarm ${kind}` }),
      (item, { text, since }) => {
        setText(item, text);
        item.title = since;
      },
    );
    this.alert.hidden = !alarms.length;
  }

  showMaps() {
    const wanted = this.search.value.trim().toLowerCase();
    const found = this.maps.filter(({ name, nodes }) =>
      [name, ...nodes].some((text) => text.toLowerCase().includes(wanted)),
    );
    const shown = found.length > this.most ? hardest(found).slice(0, this.most) : found;
    const update = ({ card }, map) =>
      card.show(map, this.now, this.histories.of(this.name, map.name));
    keyed(
      this.cards,
      shown,
      ({ name }) => name,
      (map) => this.card(map),
      update,
    );
    this.search.hidden = this.maps.length <= CARDS;
    this.rest.hidden = shown.length === this.maps.length;
    this.more.hidden = shown.length === found.length;
    setText(
      this.left,
      `${count(shown.length)} of ${plural(this.maps.length, "map")}` +
        (this.more.hidden ? "" : ", those with the highest pressure"),
    );
  }

  showMore() {
    this.most += CARDS_MORE;
    this.showMaps();
  }

  card(map) {
    const card = new MapCard(map);
    card.element.card = card;
    return card.element;
  }
}

function hardest(maps) {
  const pressing = ({ pressures, weight }) =>
    weight * Math.max(0, ...pressures.map(({ pressure }) => pressure));
  return [...maps].sort((a, b) => pressing(b) - pressing(a));
}

/** The alarms as text; a silent runner comes first. */
function alarmsOf({ late, at, pace_s, alarms }) {
  const known = alarms.map(({ kind, where, signal, since, reason }) => ({
    key: `${where} ${signal}`,
    kind,
    since,
    text:
      `${where}${signal && signal !== where ? `, signal ${signal}` : ""}: ${reason} ` +
      `(${kind.replaceAll("_", " ")}, since ${clock(since)})`,
  }));
  const due = `it should report every ${duration(pace_s * 1000)}`;
  const quiet =
    `No report since ${moment(at)}; ${due}. Is the runner still running? This page shows ` +
    "old data, and floors do not change.";
  return late ? [{ key: "late", kind: "late", since: at, text: quiet }, ...known] : known;
}

class FloorsTable {
  constructor(runner) {
    const caption = `Floors set by ${runner}`;
    const rule = h(
      "p",
      { class: "small soft" },
      "floor = base × (1 + sum of weight × pressure), within the base's bounds",
    );
    this.table = new Table({
      columns: COLUMNS,
      key: ({ node }) => node,
      caption,
      empty: "This runner sets no floors.",
      sort: "Node",
    });
    this.element = card(
      { title: "Floors set by these maps", level: 3, aside: rule },
      this.table.element,
    );
  }

  show(floors) {
    this.table.show(floors);
  }
}

const pressing = ({ terms }) => terms.filter(({ weight, pressure }) => weight * pressure > 0);

/** The floor before its bounds apply, in micro-dollars. */
function unbounded(floor) {
  return (
    micros(floor.base) *
    (1 + pressing(floor).reduce((sum, { weight, pressure }) => sum + weight * pressure, 0))
  );
}

function number(value) {
  return String(Number(value.toPrecision(3)));
}

function written({ map, weight, pressure }) {
  return h(
    "span",
    { class: "term" },
    h("span", { class: "name" }, map),
    ` ${number(weight)} × ${number(pressure)}`,
  );
}

/** Update the formula only if it differs: the user may be selecting it. */
function updateFormula(cell, floor) {
  const said = JSON.stringify([floor.base, floor.terms, floor.wanted]);
  if (cell.said === said) return;
  cell.said = said;
  const terms = pressing(floor);
  const quiet = floor.terms.length - terms.length;
  const sum = terms.map((term) => [" + ", written(term)]);
  const formula = terms.length
    ? h("span", { class: "formula" }, `${dollars(micros(floor.base))} × (1`, sum, ") ")
    : null;
  const rest = quiet
    ? h(
        "span",
        { class: "small faint" },
        `${terms.length ? "" : "all "}${plural(quiet, "map")} at rest`,
      )
    : null;
  cell.replaceChildren(...[formula, rest, bound(floor)].filter(Boolean));
}

function bound(floor) {
  const free = unbounded(floor);
  const isBound = Math.abs(free - micros(floor.wanted)) > OFF * free;
  return isBound
    ? h("span", { class: "small warn" }, ` = ${dollars(Math.round(free))}/h, limited by the bounds`)
    : null;
}

/** The floor that the last turn asked for, or why it asked for none. */
function asked({ asked: price, wanted, in_force }) {
  if (price !== null) return perHour(price);
  return Math.abs(micros(wanted) - micros(in_force)) > OFF * micros(wanted) ? "waits" : "as wanted";
}

const price = (name, field) => ({
  name,
  num: true,
  sort: (floor) => micros(floor[field]),
  value: (floor) => perHour(floor[field]),
});

const COLUMNS = [
  {
    name: "Node",
    sort: ({ node }) => node,
    make: ({ node }) => h("a", { href: href("map", node) }, node),
  },
  price("Base", "base"),
  { name: "Calculation", wide: true, update: updateFormula },
  price("Wanted", "wanted"),
  price("In force", "in_force"),
  { name: "Requested", num: true, value: asked },
];
