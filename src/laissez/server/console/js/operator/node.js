// Beside the map: what holds at one node, what it was, what rests in its book, and what can be done.

import { all, at, get } from "../api.js";
import { fill, h } from "../dom.js";
import { poll } from "../poll.js";
import { actionsFor } from "./actions.js";
import { Depth } from "./node-depth.js";
import { everything } from "./node-everything.js";
import { facts, sources } from "./node-facts.js";
import { LeaseCard } from "./node-lease.js";
import { RateChart } from "./node-rates.js";

const BOOK_MS = 3000;
const OWN_ACTS = ["floor.", "controls.", "resource."]; // what others do comes with the next turn anyway

export class NodePanel {
  constructor(levels, context) {
    this.levels = levels;
    this.context = context;
    this.element = h("aside", { class: "node-panel stack", "aria-label": "The chosen node" });
    this.node = null;
    this.stops = [];
  }

  close() {
    for (const stop of this.stops) stop();
    this.stops = [];
    this.actions = null;
  }

  /** Levels have changed. */
  told() {
    this.actions?.told();
  }

  show(node) {
    if (node === this.node) return;
    this.close();
    this.node = node;
    if (node.path) this.open(node);
    else this.openAll(node);
  }

  openAll(forest) {
    const all = everything(forest, this.levels);
    fill(this.element, all.element);
    this.stops = [all.close];
  }

  open(node) {
    const [list, depth, rates] = [facts(), new Depth(), new RateChart(node)];
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
      list.show(found, sources(node, found, set));
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
    return h(
      "section",
      { class: "card" },
      h(
        "header",
        {},
        h("h2", {}, h("small", { class: "soft" }, above), node.name),
        node.level ? h("span", { class: "tag" }, node.level) : null,
      ),
      problem,
      list.element,
      actions?.element,
    );
  }
}
