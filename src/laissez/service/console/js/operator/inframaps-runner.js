// One runner of maps: when it reported, what alarms it, its maps as cards, the floors that it made.

import { h, keyed, say } from "../dom.js";
import { clock, count, duration, plural } from "../format.js";
import { FloorsTable } from "./inframaps-floors.js";
import { MapCard } from "./inframaps-card.js";

const CARDS_MOST = 60;
const SEARCH_FROM = 12; // maps: fewer can be looked over

export class Runner {
  constructor(name) {
    this.name = name;
    this.state = h("span", { class: "tag" });
    this.when = h("span", { class: "small soft" });
    this.alarms = h("ul", { class: "alarms", role: "alert" });
    this.cards = h("div", { class: "maps" });
    this.left = h("p", { class: "small soft", hidden: true });
    this.search = h("input", { class: "input find", type: "search", hidden: true, placeholder: "Find a map or a node", "aria-label": "Find a map by its name or node", spellcheck: "false", oninput: () => this.showMaps() });
    this.floors = new FloorsTable(name);
    const head = h("div", { class: "runner-head" }, h("h2", {}, name), this.state, this.when, this.search);
    this.element = h("section", { class: "stack", "aria-label": `Runner ${name}` }, head, this.alarms, this.cards, this.left, this.floors.element);
  }

  show(runner, now, histories) {
    Object.assign(this, { maps: runner.maps, now, histories });
    const silent = now - Date.parse(runner.at);
    say(this.state, runner.late ? "late" : "reporting");
    this.state.className = `tag ${runner.late ? "warn" : "good"}`;
    say(this.when, `last report ${clock(runner.at)}, one every ${duration(runner.pace_s * 1000)}`);
    this.when.title = runner.at;
    this.showAlarms(inWords(runner, silent));
    this.showMaps();
    this.floors.show(runner.floors);
  }

  showAlarms(alarms) {
    keyed(this.alarms, alarms, ({ key }) => key, ({ kind }) => h("li", { class: `alarm ${kind}` }), (item, { text, since }) => {
      say(item, text);
      item.title = since;
    });
    this.alarms.hidden = !alarms.length;
  }

  showMaps() {
    const wanted = this.search.value.trim().toLowerCase();
    const found = this.maps.filter(({ name, nodes }) => [name, ...nodes].some((text) => text.toLowerCase().includes(wanted)));
    const shown = found.length > CARDS_MOST ? hardest(found) : found;
    keyed(this.cards, shown, ({ name }) => name, (map) => this.card(map), (element, map) => element.card.show(map, this.now, this.histories.of(this.name, map.name)));
    this.search.hidden = this.maps.length <= SEARCH_FROM;
    this.left.hidden = shown.length === this.maps.length;
    say(this.left, `${count(shown.length)} of ${plural(this.maps.length, "map")} shown${found.length > CARDS_MOST ? ", those that press hardest" : ""}.`);
  }

  card(map) {
    const card = new MapCard(map);
    card.element.card = card;
    return card.element;
  }
}

function hardest(maps) {
  const pressing = ({ pressures, weight }) => weight * Math.max(0, ...pressures.map(({ pressure }) => pressure));
  return [...maps].sort((a, b) => pressing(b) - pressing(a)).slice(0, CARDS_MOST);
}

/** What somebody should know, the runner's silence first. */
function inWords({ late, at, pace_s, alarms }, silent) {
  const told = alarms.map(({ kind, where, signal, since, reason }) => ({
    key: `${where} ${signal}`,
    kind,
    since,
    text: `${where}${signal && signal !== where ? `, signal ${signal}` : ""}: ${reason} (${kind.replaceAll("_", " ")}, since ${clock(since)})`,
  }));
  const quiet = `Nothing was heard for ${duration(silent)}; a report is due every ${duration(pace_s * 1000)}. Is it still running? What is shown is as old, and floors stay as they are.`;
  return late ? [{ key: "late", kind: "late", since: at, text: quiet }, ...told] : told;
}
