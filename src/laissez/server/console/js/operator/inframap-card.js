// One InfraMap as a card: its nodes, readings and pressure, now and over the last hour.

import { Chart } from "../chart.js";
import { factList } from "../components.js";
import { h, keyed, setText } from "../dom.js";
import { HOUR_MS, moment, percent, plural } from "../format.js";
import { href } from "../router.js";

const SHORTEST_MS = 300_000; // the shortest time axis
const NODES_SHOWN = 4;
const KEPT_MS = 3_600_000;

/** The units of readings by kind of map; custom maps have plain numbers. */
const UNITS = {
  power: { what: "Power used", write: (v) => percent(v, 1), tick: (v) => percent(v) },
  cooling: {
    what: "Inlet temperature",
    write: (v) => `${v.toFixed(1)} °C`,
    tick: (v) => `${v} °C`,
  },
  carbon: { what: "Carbon intensity", write: (v) => `${v.toFixed(0)} g/kWh`, tick: plain },
};
const PLAIN = { what: "Value", write: plain, tick: plain };

function plain(value) {
  return Number(value.toPrecision(4)).toLocaleString("en-US", { maximumSignificantDigits: 4 });
}

export class MapCard {
  constructor(map) {
    const unit = UNITS[map.kind] ?? PLAIN;
    this.write = unit.write;
    this.value = map.signals.length
      ? new Chart({
          label: `${unit.what} of ${map.name}`,
          height: 96,
          value: unit.write,
          tick: unit.tick,
        })
      : null;
    this.pressed = new Chart({
      label: `Pressure of ${map.name}`,
      height: 80,
      value: plain,
      top: 1,
    });
    this.name = map.signals.length ? unit.what : "Pressure";
    this.tag = h("span", { class: "tag" });
    this.nodes = h("p", { class: "small nodes" });
    this.pressure = h("span");
    this.adds = h("small");
    this.window = map.start ? h("dd") : null;
    const source = h("dd", { class: "plain" }, "the market");
    if (this.window) this.signals = factList([["Window", this.window]]);
    else this.signals = factList(this.value ? [] : [["Reads", source]]);
    const numbers = factList([["Pressure now", h("dd", {}, this.pressure, this.adds)]]);
    const head = h(
      "header",
      {},
      h("h3", {}, map.name),
      h("span", { class: "tag" }, map.kind),
      this.tag,
    );
    const read = h("div", { class: "read" }, this.signals, numbers);
    this.element = h(
      "article",
      { class: "card map-card" },
      head,
      this.nodes,
      read,
      this.value?.element ?? null,
      this.pressed.element,
    );
  }

  show(map, now, history) {
    const high = Math.max(0, ...map.pressures.map(({ pressure }) => pressure));
    this.showNodes(map.nodes);
    this.showSignals(map.signals);
    setText(this.pressure, plain(high));
    setText(
      this.adds,
      `× weight ${plain(map.weight)} = ${percent(high * map.weight)} of the base price`,
    );
    if (this.window) setText(this.window, `${moment(map.start)} to ${moment(map.end)}`);
    setText(this.tag, high > 0 ? "active" : this.window ? phase(map, now) : "at rest");
    this.tag.className = `tag ${high > 0 ? "warn" : "good"}`;
    this.draw(history, now);
  }

  showNodes(nodes) {
    const said = nodes.join(" ");
    if (this.said === said) return;
    this.said = said;
    const links = nodes
      .slice(0, NODES_SHOWN)
      .map((node, i) => [i ? ", " : "", h("a", { href: href("map", node) }, node)]);
    this.nodes.replaceChildren(
      "on ",
      ...links.flat(),
      nodes.length > NODES_SHOWN ? ` and ${plural(nodes.length - NODES_SHOWN, "more node")}` : "",
    );
    this.nodes.title = nodes.slice(0, 50).join("\n");
  }

  showSignals(signals) {
    if (!signals.length) return;
    const make = ({ signal }) =>
      h(
        "div",
        {},
        h("dt", {}, signals.length > 1 ? signal : this.name),
        h("dd", {}, h("span"), h("small")),
      );
    keyed(
      this.signals,
      signals,
      ({ signal }) => signal,
      make,
      (item, { signal, value, at, missing }) => {
        const [shown, more] = item.lastElementChild.children;
        setText(shown, value === null ? "none" : this.write(value));
        setText(more, missing ?? (signals.length > 1 ? "" : `signal ${signal}`));
        item.lastElementChild.classList.toggle("bad", missing !== null);
        item.title = at === null ? signal : `${signal}, read ${at}`;
      },
    );
  }

  draw(history, now) {
    const first = history[0]?.[0] ?? now;
    const from = Math.max(now - HOUR_MS, Math.min(first, now - SHORTEST_MS));
    const values = {
      name: this.name,
      class: "s1",
      points: history.map(([at, value]) => [at, value]),
    };
    const pressures = {
      name: "Pressure",
      class: "s2",
      area: true,
      step: true,
      points: history.map(([at, , pressure]) => [at, pressure]),
    };
    this.value?.draw({ series: [values], from, until: now });
    this.pressed.draw({ series: [pressures], from, until: now });
  }
}

function phase({ start, end }, now) {
  if (now < Date.parse(start)) return "planned";
  return now < Date.parse(end) ? "in progress" : "over";
}

export class MapHistories {
  constructor() {
    this.kept = new Map(); // runner and map -> [[ms, value or null, pressure], ...], oldest first
    this.newest = null; // the time of the newest point, as text of the API
  }

  take(runners) {
    for (const { runner, maps } of runners)
      for (const map of maps) this.add(keyOf(runner, map.name), map.history);
  }

  add(key, history) {
    const points = this.kept.get(key) ?? [];
    const last = points.length ? points.at(-1)[0] : -Infinity;
    for (const [at, value, pressure] of history) {
      const ms = Date.parse(at);
      if (ms > last) points.push([ms, value, pressure]);
      if (this.newest === null || at > this.newest) this.newest = at;
    }
    const oldest = (points.at(-1)?.[0] ?? 0) - KEPT_MS;
    this.kept.set(
      key,
      points.filter(([ms]) => ms >= oldest),
    );
  }

  of(runner, map) {
    return this.kept.get(keyOf(runner, map)) ?? [];
  }
}

function keyOf(runner, map) {
  return JSON.stringify([runner, map]);
}
