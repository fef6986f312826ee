// Pointer and keyboard on the heatmap, and its tooltip.

import { fill, h } from "../dom.js";
import { count, dollars, perHour, percent, plural } from "../format.js";
import { hitTest, rectangleOf } from "./heatmap-layout.js";
import { limitText, ownerName } from "./levels.js";

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const AGAIN_MS = 500;

export class HeatmapPointer {
  /** Calls `go(path)` to show another node. */
  constructor(heat, levels, go) {
    this.heat = heat;
    this.levels = levels;
    this.go = go;
    this.tip = h("div", { class: "heat-tip", hidden: true });
    this.hovered = h("div", { class: "heat-mark", hidden: true });
    this.chosen = h("div", { class: "heat-mark chosen", hidden: true });
    this.cursor = h("div", { class: "heat-mark cursor", hidden: true });
    this.live = h("div", { class: "visually-hidden", "aria-live": "polite" });
    heat.element.append(this.hovered, this.chosen, this.cursor, this.tip, this.live);
    const on = (name, act) => heat.canvas.addEventListener(name, (event) => heat.map && act(event));
    on("pointermove", (event) => event.pointerType === "mouse" && this.hover(event));
    on("pointerleave", () => this.leave());
    on("click", (event) => this.click(event));
    on("dblclick", () => this.clicked && this.go(this.levels.leaves[this.clicked.leaf]));
    on("keydown", (event) => this.key(event));
    on("blur", () => (this.cursor.hidden = true));
    this.timer = setInterval(() => this.under && this.showTip(), AGAIN_MS);
  }

  close() {
    clearInterval(this.timer);
  }

  /** Place the marks again after the view changed. */
  placed(selected) {
    this.leave();
    this.selected = selected;
    this.mark(this.chosen, selected);
    const at = this.heat.view.children.includes(this.at) ? this.at : selected;
    this.at = at;
    if (document.activeElement === this.heat.canvas) this.mark(this.cursor, at);
  }

  mark(mark, node) {
    mark.hidden = !node;
    if (!node) return;
    const { x, y, w, h: tall } = rectangleOf(this.heat.map, node);
    const { scale } = this.heat;
    Object.assign(mark.style, {
      left: `${x / scale}px`,
      top: `${y / scale}px`,
      width: `${w / scale}px`,
      height: `${tall / scale}px`,
    });
  }

  found(event) {
    const { map, scale, view } = this.heat;
    const found = hitTest(map, event.offsetX * scale, event.offsetY * scale);
    if (!found || (found.leaf < 0 && found.node === view)) return null;
    return found;
  }

  hover(event) {
    const found = this.found(event);
    if (!found) return this.leave();
    const node =
      found.leaf < 0 ? found.node : this.levels.nodes.get(this.levels.leaves[found.leaf]);
    const isNew = node !== this.under;
    this.under = node;
    this.heat.canvas.style.cursor = "pointer";
    if (isNew) {
      this.mark(this.hovered, node);
      this.showTip();
    }
    this.beside(event);
  }

  showTip() {
    fill(this.tip, tip(this.levels, this.under, this.heat.view));
    this.tip.hidden = false;
  }

  /** Place the tooltip beside the pointer, on the side that has room. */
  beside({ offsetX, offsetY }) {
    const { clientWidth } = this.heat.element;
    const left =
      offsetX + 16 + this.tip.offsetWidth > clientWidth
        ? Math.max(0, offsetX - 12 - this.tip.offsetWidth)
        : offsetX + 16;
    Object.assign(this.tip.style, { left: `${left}px`, top: `${offsetY + 14}px` });
  }

  leave() {
    this.under = null;
    this.hovered.hidden = true;
    this.tip.hidden = true;
    this.heat.canvas.style.cursor = "";
  }

  /**
   * Go one level down, towards the clicked cell. The first click of a double click decides which
   * GPU it means: the second lands on the new view.
   */
  click(event) {
    if (event.detail > 1) return;
    const found = this.found(event);
    this.clicked = found?.leaf >= 0 ? found : null;
    if (!found) return;
    this.go(
      this.towards(
        found.leaf < 0 ? found.node : this.levels.nodes.get(this.levels.leaves[found.leaf]),
      ).path,
    );
  }

  towards(node) {
    let step = node;
    while (step.parent !== this.heat.view) step = step.parent;
    return step;
  }

  key(event) {
    const { view } = this.heat;
    const above = this.selected ? view : view.parent;
    if (ARROWS[event.key]) this.move(ARROWS[event.key]);
    else if (event.key === "Enter" && this.at) this.go(this.at.path);
    else if ((event.key === "Backspace" || event.key === "Escape") && above) this.go(above.path);
    else return;
    event.preventDefault();
  }

  /** Move to the nearest child in a direction. */
  move([dx, dy]) {
    const { map, view } = this.heat;
    const from = this.at ? middle(rectangleOf(map, this.at)) : null;
    const next = from ? nearest(map, view.children, this.at, from, dx, dy) : view.children[0];
    if (!next) return;
    this.at = next;
    this.mark(this.cursor, next);
    this.live.textContent = spoken(this.levels, next);
  }
}

function middle({ x, y, w, h: tall }) {
  return [x + w / 2, y + tall / 2];
}

function nearest(map, nodes, at, [x, y], dx, dy) {
  let best = null;
  let least = Infinity;
  for (const node of nodes) {
    if (node === at) continue;
    const [mx, my] = middle(rectangleOf(map, node));
    const ahead = (mx - x) * dx + (my - y) * dy;
    const aside = Math.abs((mx - x) * dy) + Math.abs((my - y) * dx);
    if (ahead <= 0.5 || aside > 2 * ahead) continue;
    const far = ahead + 2 * aside;
    if (far < least) [best, least] = [node, far];
  }
  return best;
}

/** The facts about a GPU: [[name, value]]. */
function leafFacts(levels, i) {
  if (levels.owner[i] < 0)
    return [
      ["", ownerName(levels, i)],
      ["Rate", perHour(levels.rate[i])],
      ["Floor", perHour(levels.floor[i])],
    ];
  return [
    ["Owner", ownerName(levels, i)],
    ["Rate", perHour(levels.rate[i])],
    ["Limit", limitText(levels, i)],
    ["Headroom", Number.isNaN(levels.limit[i]) ? "no limit" : percent(levels.headroom(i))],
  ];
}

function groupFacts(levels, node) {
  const { leaves, leased, idle, offline, low, middle, high } = levels.figures(node);
  return [
    ["Leased", `${count(leased)} of ${count(leaves)}`],
    ["Idle", count(idle)],
    ["Offline", count(offline)],
    ...(low === null
      ? []
      : [
          ["Rates", `${dollars(low)} – ${dollars(high)}`],
          ["Median", perHour(middle)],
        ]),
  ];
}

function factsOf(levels, node) {
  return node.height === 0 ? leafFacts(levels, node.first) : groupFacts(levels, node);
}

/** A node as one sentence, for screen readers. */
function spoken(levels, node) {
  const what = node.height === 0 ? "" : `, ${plural(node.last - node.first, "GPU")}`;
  return `${node.name}${what}: ${factsOf(levels, node)
    .map(([name, value]) => `${name} ${value}`.trim())
    .join(", ")}`;
}

/** The content of the tooltip. */
function tip(levels, node, view) {
  const path = node.path.slice(view.path ? view.path.length + 1 : 0) || node.name;
  const rows = factsOf(levels, node).map(([name, value]) => [
    h("dt", {}, name),
    h("dd", {}, value),
  ]);
  return [
    h("b", {}, path),
    node.level ? h("span", { class: "soft" }, ` ${node.level}`) : null,
    h("dl", {}, rows),
  ];
}
