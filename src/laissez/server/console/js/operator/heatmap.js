// The heatmap of all GPUs on a canvas. Changed cells are drawn in the next frames, as many as fit.
// A full redraw happens only when the view, the size, the theme or the meaning of colours changes.

import { h } from "../dom.js";
import { onTheme } from "../theme.js";
import { ColourRange, ColourScales } from "./heatmap-colours.js";
import { layOut } from "./heatmap-layout.js";
import { FLASHES, HeatmapPainter } from "./heatmap-painter.js";

const FRAME_MS = 6; // drawing time per frame
const LOOK_EVERY = 256; // cells between two checks of the time
const SETTLE_MS = 1000; // interval between updates of the colour range and the biggest owners
const EASE_MS = 90;
const FLASH_MS = 130;
const LEAST_HEIGHT = 320;
const TOP_MOST = 420;
const BELOW = 75;
const LEAST_SHARE = 0.6; // share of the window's height

export class Heatmap {
  /** Calls `onScale()` when the meaning of the colours changes. */
  constructor(levels, onScale) {
    this.levels = levels;
    this.onScale = onScale;
    this.canvas = h("canvas", {
      class: "heat",
      tabindex: "0",
      role: "application",
      "aria-label": "Map of all GPUs",
    });
    this.element = h("div", { class: "heat-frame" }, this.canvas);
    this.range = new ColourRange();
    this.scales = new ColourScales(levels, this.range);
    this.painter = new HeatmapPainter(this.canvas, levels, this.scales);
    this.view = null;
    this.map = null;
    this.frames = 0;
    this.painted = 0;
    this.isCalm = matchMedia("(prefers-reduced-motion: reduce)");
    this.turn = () => this.frame();
    this.timers = [
      setInterval(() => this.settle(), SETTLE_MS),
      setInterval(() => this.ease(), EASE_MS),
      setInterval(() => this.fade(), FLASH_MS),
    ];
    this.sizes = new ResizeObserver(() => this.resized());
    this.sizes.observe(this.element);
    this.stopTheme = onTheme(() => this.retheme());
  }

  close() {
    this.timers.forEach(clearInterval);
    this.sizes.disconnect();
    this.stopTheme();
    cancelAnimationFrame(this.waiting);
    this.view = null;
  }

  /** Allocate the queue of cells to draw, for a new tree. */
  built() {
    const { count } = this.levels;
    this.queue = new Int32Array(count); // a ring buffer that has each GPU at most once
    this.head = 0;
    this.queued = 0;
    this.isQueued = new Uint8Array(count);
    this.flash = new Uint8Array(count);
    this.flashing = 0;
  }

  show(view) {
    if (this.view === view) return;
    this.view = view;
    this.canvas.setAttribute("aria-label", `Map of ${view.path || "everything"}`);
    this.range.reset();
    this.look();
    this.relayout();
  }

  colourBy(mode) {
    this.scales.mode = mode;
    this.redraw();
    this.onScale();
  }

  /** Highlight the GPUs for which `lit(i)` is true; null for none. */
  light(lit) {
    this.painter.lit = lit;
    this.touchAll();
  }

  /** Redraw a GPU that changed. */
  touch(i, moved) {
    if (moved && !this.isCalm.matches) {
      if (!this.flash[i]) this.flashing++;
      this.flash[i] = FLASHES;
    }
    this.hasChanged = true;
    this.mark(i);
  }

  mark(i) {
    const { map } = this;
    if (!map || i < map.first || i >= map.last || this.isQueued[i]) return;
    this.isQueued[i] = 1;
    this.queue[(this.head + this.queued++) % this.queue.length] = i;
    this.waiting ??= requestAnimationFrame(this.turn);
  }

  touchAll() {
    if (this.map) for (let i = this.map.first; i < this.map.last; i++) this.mark(i);
  }

  frame() {
    this.waiting = null;
    const until = performance.now() + FRAME_MS;
    let drawn = 0;
    while (this.queued && (drawn % LOOK_EVERY || performance.now() < until)) {
      const i = this.queue[this.head];
      this.head = (this.head + 1) % this.queue.length;
      this.queued--;
      this.isQueued[i] = 0;
      if (i >= this.map.first && i < this.map.last) this.painter.cell(i, this.flash[i]);
      drawn++;
    }
    this.painted += drawn;
    this.frames++;
    if (this.queued) this.waiting = requestAnimationFrame(this.turn);
  }

  fade() {
    if (!this.flashing) return;
    for (let i = 0; i < this.flash.length; i++) {
      if (!this.flash[i]) continue;
      if (--this.flash[i] === 0) this.flashing--;
      this.mark(i);
    }
  }

  /** Once a second: adapt the colours to the market, and publish how much was drawn. */
  settle() {
    Object.assign(this.canvas.dataset, { frames: this.frames, painted: this.painted });
    if (!this.view || !this.hasChanged) return;
    this.hasChanged = false;
    if (this.look() && this.scales.mode === "owner") this.touchAll();
    if (this.scales.mode === "owner") this.onScale();
  }

  /** Aim the colour range and rank the owners. Returns whether owners changed colours. */
  look() {
    this.range.aim(this.levels, this.view.first, this.view.last);
    const sizes = new Int32Array(this.levels.owners.length);
    for (let i = this.view.first; i < this.view.last; i++)
      if (this.levels.owner[i] >= 0) sizes[this.levels.owner[i]]++;
    this.held = sizes;
    return this.scales.rank(sizes);
  }

  ease() {
    if (!this.view || !this.range.isMoving) return;
    this.range.ease();
    if (this.scales.mode !== "rate") return;
    this.touchAll();
    this.onScale();
  }

  resized() {
    if (this.view && (this.element.clientWidth !== this.width || devicePixelRatio !== this.scale))
      this.relayout();
  }

  retheme() {
    this.scales.read();
    if (!this.view) return;
    this.redraw();
    this.onScale();
  }

  relayout() {
    this.width = this.element.clientWidth;
    this.scale = devicePixelRatio;
    if (!this.width || !this.view) return;
    this.map = layOut(
      this.view,
      Math.floor(this.width * this.scale),
      Math.floor(this.room() * this.scale),
      this.scale,
    );
    this.canvas.width = this.map.width;
    this.canvas.height = Math.max(1, this.map.height);
    this.element.classList.add("drawn");
    this.canvas.style.height = `${this.map.height / this.scale}px`;
    this.redraw();
    this.onLayout?.();
  }

  /** The height at which the window shows the whole map, with the page above it scrolled away. */
  room() {
    const top = Math.min(TOP_MOST, this.element.getBoundingClientRect().top + window.scrollY);
    return Math.max(
      LEAST_HEIGHT,
      window.innerHeight * LEAST_SHARE,
      window.innerHeight - top - BELOW,
    );
  }

  /** Draw everything at once. */
  redraw() {
    if (!this.map) return;
    this.painter.ground(this.map, this.scale);
    for (let i = this.map.first; i < this.map.last; i++) this.painter.cell(i, this.flash[i]);
    this.painted += this.map.last - this.map.first;
    this.frames++;
  }
}
