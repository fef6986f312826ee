// The operator's first page: the whole cluster at a glance, live, and what can be done to any part of it.

import { fill, h } from "../dom.js";
import { clock } from "../format.js";
import { segments } from "../messages.js";
import { href } from "../router.js";
import { Stream } from "../stream.js";
import { Hand } from "./heat-hand.js";
import { Heat } from "./heat.js";
import { Legend } from "./heat-legend.js";
import { Levels } from "./map-levels.js";
import { childrenTable } from "./map-table.js";
import { tiles } from "./map-tiles.js";
import { NodePanel } from "./node.js";

const MODES = [
  ["rate", "Rate"],
  ["owner", "Owner"],
  ["headroom", "Headroom"],
];

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
      told: () => this.panel.told(),
    });
    this.heat = new Heat(this.levels, () => this.legend.show());
    this.heat.onLayout = () => this.hand.placed(this.selected);
    this.legend = new Legend(this.heat, this.levels);
    this.hand = new Hand(this.heat, this.levels, go);
    this.tiles = tiles();
    this.table = childrenTable(this.levels);
    this.panel = new NodePanel(this.levels, context);
    this.crumbs = h("nav", { class: "crumbs", "aria-label": "Where you are" });
    this.problem = h("p", { class: "problem", role: "alert", hidden: true });
    this.old = h("p", { class: "notice", role: "status", hidden: true });
    this.path = "";
    this.build(main);
    const on = {
      event: (told) => this.levels.hear(told),
      state: (state, why) => this.stale(state, why),
      refused: (problem) => this.refuse(problem.message),
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
      "Arrow keys move, Enter goes in, Backspace goes up. A table is below.",
    );
    const card = h(
      "section",
      { class: "card heat-card" },
      head,
      this.problem,
      this.old,
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
    for (const part of [this.stream, this.heat, this.hand, this.tiles, this.table, this.panel])
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

  /** Show the node of the address; of a leaf, what is around it. */
  go() {
    if (!this.levels.count) return;
    const node = this.levels.nodes.get(this.path);
    this.refuse(node ? "" : `There is no ${this.path} in this cluster.`);
    const shown = node ?? this.levels.forest;
    this.selected = shown.height === 0 && shown.parent ? shown : null;
    const view = this.selected ? shown.parent : shown;
    this.heat.show(view);
    this.hand.placed(this.selected);
    this.legend.show();
    this.table.show(view);
    this.panel.show(shown);
    fill(this.crumbs, crumbs(shown));
  }

  /** The map has a connection of its own, which may be lost while the rest lives. */
  stale(state, why) {
    this.old.hidden = state !== "lost";
    if (state === "lost")
      fill(this.old, `The map stands still since ${clock(Date.now())}. ${why || ""} Trying again.`);
  }

  refuse(text) {
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
