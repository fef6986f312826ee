// InfraMaps: what the operator's maps read, how hard they press, and which floors come of it.

import { get, serverNow } from "../api.js";
import { h, keyed } from "../dom.js";
import { poll } from "../poll.js";
import { MapHistories } from "./inframaps-history.js";
import { Runner } from "./inframaps-runner.js";

const EVERY_MS = 3000;
const HOUR_MS = 3_600_000;

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
      "What is known about power, cooling and carbon, as pressure on prices",
    );
    this.elements = [
      h("div", { class: "page-head" }, h("h1", {}, "InfraMaps"), about),
      this.empty,
      this.runners,
    ];
    this.poll = poll(() => this.ask(), EVERY_MS);
  }

  /** The first time a whole hour, then only what is new. */
  async ask() {
    const since = this.histories.newest ?? new Date(serverNow() - HOUR_MS).toISOString();
    const { at, runners } = await get("/v1/inframaps", { since });
    this.histories.take(runners);
    const now = Date.parse(at);
    const update = ({ runner: shown }, told) => shown.show(told, now, this.histories);
    keyed(
      this.runners,
      runners,
      ({ runner }) => runner,
      (told) => this.make(told),
      update,
    );
    this.empty.hidden = runners.length > 0;
  }

  make({ runner }) {
    const shown = new Runner(runner);
    shown.element.runner = shown;
    return shown.element;
  }

  close() {
    this.poll.stop();
  }
}

function emptyState() {
  return h(
    "section",
    { class: "card none", hidden: true },
    h("h2", {}, "No maps report here"),
    h(
      "p",
      {},
      "A map turns something that you know about the cluster, such as the power that a row has left, into pressure on its floor.",
    ),
    h("p", {}, "Write them into a file and run it beside the service:"),
    h("pre", {}, h("code", {}, "laissez operator run maps.toml")),
    h(
      "p",
      { class: "soft" },
      "It reports after every decision, and appears here by itself. Floors can also be set by hand, on the map.",
    ),
  );
}
