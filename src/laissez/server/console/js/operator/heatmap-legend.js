// The legend of the heatmap. Pointing at an entry highlights its GPUs.

import { h, keyed, setText } from "../dom.js";
import { count, dollars, percent } from "../format.js";
import { IDLE, OFFLINE } from "./levels.js";

const NEAR = 0.06; // share of the scale, on both sides of the pointer
const TICKS = [0, 0.25, 0.5, 0.75, 1];

export class HeatmapLegend {
  constructor(heat, levels) {
    this.heat = heat;
    this.levels = levels;
    this.bar = h("div", {
      class: "scale-bar",
      onpointermove: (event) => this.point(event),
      onpointerleave: () => heat.light(null),
    });
    this.ticks = TICKS.map(() => h("span", {}));
    this.scale = h(
      "div",
      { class: "scale" },
      this.bar,
      h("div", { class: "scale-ticks" }, this.ticks),
    );
    this.title = h("span", { class: "soft" });
    this.owners = h("div", { class: "owners" });
    const state = (kind, name, owner) =>
      this.entry(h("span", { class: `cell-key ${kind}` }), name, (i) => levels.owner[i] === owner);
    const states = [state("idle", "Idle", IDLE), state("offline", "Offline", OFFLINE)];
    this.element = h(
      "div",
      { class: "heat-legend" },
      this.title,
      this.scale,
      this.owners,
      h("div", { class: "states" }, states),
    );
  }

  /** An entry of the legend: a button, so that the keyboard can reach it. */
  entry(key, name, lit) {
    const on = () => this.heat.light(lit);
    const off = () => this.heat.light(null);
    const acts = { onpointerenter: on, onpointerleave: off, onfocus: on, onblur: off };
    return h(
      "button",
      { type: "button", class: "entry", title: "Show on the map", ...acts },
      key,
      h("span", {}, name),
    );
  }

  show() {
    const { mode } = this.heat.scales;
    this.scale.hidden = mode === "owner";
    this.owners.hidden = mode !== "owner";
    setText(
      this.title,
      { rate: "$ per hour", headroom: "headroom below the limit", owner: "" }[mode],
    );
    this.title.hidden = mode === "owner";
    if (mode === "owner") this.showOwners();
    else this.showScale(mode);
  }

  showScale(mode) {
    const { range, scales } = this.heat;
    const gradient =
      "linear-gradient(90deg, " +
      `${scales.colours.shown.filter((_, i) => i % 7 === 0).join(", ")})`;
    if (this.gradient !== gradient) this.bar.style.background = this.gradient = gradient;
    TICKS.forEach((share, i) => {
      const beyond = mode === "rate" && share === 1 ? "+" : "";
      setText(
        this.ticks[i],
        mode === "rate"
          ? dollars(Math.round(range.low + share * (range.high - range.low)), 2) + beyond
          : percent(share),
      );
    });
  }

  showOwners() {
    const { held, scales } = this.heat;
    const shown = scales.slots.filter((owner) => held[owner] > 0).sort((a, b) => held[b] - held[a]);
    const others =
      held.reduce((sum, size) => sum + size, 0) -
      shown.reduce((sum, owner) => sum + held[owner], 0);
    const items = shown.map((owner) => ({
      owner,
      name: this.levels.owners[owner],
      size: held[owner],
      colour: scales.colourOf(owner),
    }));
    if (others)
      items.push({ owner: null, name: "Others", size: others, colour: scales.colourOf(-1) });
    keyed(
      this.owners,
      items,
      ({ name, owner }) => `${owner} ${name}`,
      (item) => this.ownerEntry(item),
      (entry, { name, size, colour }) => {
        entry.firstChild.style.background = colour;
        setText(entry.lastChild, `${name} ${count(size)}`);
      },
    );
  }

  ownerEntry({ owner, name }) {
    const { scales } = this.heat;
    const lit =
      owner === null
        ? (i) => this.levels.owner[i] >= 0 && scales.slotOf[this.levels.owner[i]] < 0
        : (i) => this.levels.owner[i] === owner;
    return this.entry(h("span", { class: "cell-key" }), name, lit);
  }

  point(event) {
    const share = event.offsetX / this.bar.clientWidth;
    const { scales, range } = this.heat;
    const at =
      scales.mode === "rate"
        ? (i) => range.share(this.levels.rate[i])
        : (i) => this.levels.headroom(i);
    this.heat.light((i) => this.levels.owner[i] >= 0 && Math.abs(at(i) - share) <= NEAR);
  }
}
