// One runner of maps: when it reported, what alarms it, its maps as cards, the floors that it made.

import { h, keyed, say } from "../dom.js";
import { clock, count, duration, moment, plural } from "../format.js";
import { FloorsTable } from "./inframaps-floors.js";
import { MapCard } from "./inframaps-card.js";
import { finder } from "./parts.js";

const CARDS = 12; // at first: so many can be looked over
const CARDS_MORE = 24;

export class Runner {
  constructor(name) {
    this.name = name;
    this.state = h("span", { class: "tag" });
    this.when = h("span", { class: "small soft" });
    this.alarms = h("ul", { class: "alarms" });
    this.alert = h("div", { role: "alert" }, this.alarms);
    this.cards = h("div", { class: "maps" });
    this.most = CARDS;
    this.left = h("span", { class: "small soft" });
    this.more = h(
      "button",
      { class: "button", type: "button", onclick: () => this.showMore() },
      "Show more",
    );
    this.rest = h("div", { class: "row", hidden: true }, this.more, this.left);
    this.search = finder("Find a map or a node", "Find a map by its name or node", () =>
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
    say(this.state, runner.late ? "late" : "reporting");
    this.state.className = `tag ${runner.late ? "warn" : "good"}`;
    say(this.when, `last report ${clock(runner.at)}, one every ${duration(runner.pace_s * 1000)}`);
    this.when.title = runner.at;
    this.showAlarms(inWords(runner));
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
        say(item, text);
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
    say(
      this.left,
      `${count(shown.length)} of ${plural(this.maps.length, "map")}${this.more.hidden ? "" : ", those that press hardest"}`,
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

/** What somebody should know, the runner's silence first. */
function inWords({ late, at, pace_s, alarms }) {
  const told = alarms.map(({ kind, where, signal, since, reason }) => ({
    key: `${where} ${signal}`,
    kind,
    since,
    text: `${where}${signal && signal !== where ? `, signal ${signal}` : ""}: ${reason} (${kind.replaceAll("_", " ")}, since ${clock(since)})`,
  }));
  const due = `a report is due every ${duration(pace_s * 1000)}`;
  const quiet = `Nothing was heard since ${moment(at)}; ${due}. Is it still running? What is shown is as old, and floors stay as they are.`;
  return late ? [{ key: "late", kind: "late", since: at, text: quiet }, ...told] : told;
}
