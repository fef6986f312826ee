// Draws the heatmap: groups and their names, then cells one by one. Idle and offline GPUs differ in
// form, not in colour alone.

import { colour } from "../theme.js";
import { IDLE } from "./levels.js";

const NAMED_CELL = 44; // cells of at least this size show name and rate
const OWNED_CELL = 72; // and the owner
export const FLASHES = 3; // steps of a fading flash

export class HeatmapPainter {
  constructor(canvas, levels, scales) {
    this.context = canvas.getContext("2d", { alpha: false });
    this.canvas = canvas;
    this.levels = levels;
    this.scales = scales;
    this.lit = null; // (i) => whether a GPU is highlighted; others are dimmed
    this.idle = document.createElement("canvas");
    this.offline = document.createElement("canvas");
  }

  /** Draw groups and names. Every cell must be drawn afterwards. */
  ground(map, scale) {
    this.map = map;
    this.scale = scale;
    this.theme = Object.fromEntries(
      ["card", "sunken", "ink", "soft", "line", "line-strong", "offline", "faint"].map((name) => [
        name,
        colour(name),
      ]),
    );
    this.isNamed = map.cell >= NAMED_CELL * scale;
    this.stamps();
    this.context.fillStyle = this.theme.card;
    this.context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    this.context.textBaseline = "middle";
    for (const box of map.root.kids ?? []) this.box(box, 0);
  }

  box(box, depth) {
    const { node, x, y, w, h, head, kids } = box;
    if (node.height === 0) return;
    const { context, theme, scale } = this;
    if (node.height > 1 || head) {
      context.fillStyle = theme.line;
      context.fillRect(x, y, w, h);
      context.fillStyle = depth % 2 ? theme.card : theme.sunken;
      const edge = Math.max(1, Math.round(scale));
      context.fillRect(x + edge, y + edge, w - 2 * edge, h - 2 * edge);
    }
    if (head) this.name(box);
    for (const kid of kids ?? []) this.box(kid, depth + 1);
  }

  name({ node, x, y, w, head, pad }) {
    const { context, scale, theme } = this;
    const size = node.height > 2 ? 12 : 11;
    context.font = `${node.height > 2 ? 600 : 400} ${size * scale}px system-ui, sans-serif`;
    context.textAlign = "left";
    context.fillStyle = node.height > 1 ? theme.ink : theme.soft;
    const text = shortened(context, node.name, w - 2 * pad);
    if (text) context.fillText(text, x + pad + scale, y + pad / 2 + head / 2 + scale);
  }

  /** Pre-draw the two kinds of unleased GPUs: idle is an empty frame, offline is hatched. */
  stamps() {
    const { map, scale, theme } = this;
    const edge = Math.max(1, Math.round(scale));
    for (const stamp of [this.idle, this.offline]) stamp.width = stamp.height = map.cell;
    const idle = this.idle.getContext("2d");
    idle.strokeStyle = theme["line-strong"];
    idle.lineWidth = edge;
    idle.fillStyle = theme.card;
    idle.fillRect(0, 0, map.cell, map.cell);
    idle.strokeRect(edge / 2, edge / 2, map.cell - edge, map.cell - edge);
    hatch(this.offline.getContext("2d"), map.cell, scale, theme);
  }

  cell(i, flash) {
    const { map, levels, scales, context } = this;
    const x = map.x[i - map.first];
    const y = map.y[i - map.first];
    const size = map.cell;
    const isDim = this.lit !== null && !this.lit(i);
    if (levels.owner[i] < 0) {
      this.unleased(i, x, y, isDim);
      return;
    }
    const step = scales.step(i);
    const list = scales.colours;
    const edge = flash ? Math.min(size, Math.ceil((size * flash) / (2 * FLASHES))) : 0;
    if (edge) {
      context.fillStyle = this.theme.ink;
      context.fillRect(x, y, size, size);
    }
    if (2 * edge < size) {
      context.fillStyle = (isDim ? list.dimmed : list.shown)[step];
      context.fillRect(x + edge, y + edge, size - 2 * edge, size - 2 * edge);
    }
    if (this.isNamed && !edge) this.caption(i, x, y, isDim ? this.theme.soft : list.inks[step]);
  }

  unleased(i, x, y, isDim) {
    const { context, map, levels } = this;
    context.drawImage(levels.owner[i] === IDLE ? this.idle : this.offline, x, y);
    if (isDim) {
      context.globalAlpha = 0.7;
      context.fillStyle = this.theme.card;
      context.fillRect(x, y, map.cell, map.cell);
      context.globalAlpha = 1;
    }
    if (this.isNamed) this.caption(i, x, y, isDim ? this.theme.soft : this.theme.ink);
  }

  caption(i, x, y, ink) {
    const { context, map, scale, levels } = this;
    const path = levels.leaves[i];
    context.fillStyle = ink;
    context.textAlign = "center";
    context.font = `600 ${11 * scale}px system-ui, sans-serif`;
    const [centre, middle, most] = [x + map.cell / 2, y + map.cell / 2, map.cell - 4 * scale];
    const isOwned = levels.owner[i] >= 0 && map.cell >= OWNED_CELL * scale;
    const line = (isOwned ? 16 : 8) * scale;
    context.fillText(
      shortened(context, path.slice(path.lastIndexOf("/") + 1), most),
      centre,
      middle - line,
    );
    context.font = `${11 * scale}px system-ui, sans-serif`;
    const state =
      levels.owner[i] === IDLE
        ? "idle"
        : levels.owner[i] < 0
          ? "offline"
          : `$${(levels.rate[i] / 1e6).toFixed(2)}`;
    if (isOwned)
      context.fillText(shortened(context, levels.owners[levels.owner[i]], most), centre, middle);
    context.fillText(shortened(context, state, most), centre, middle + line);
  }
}

/** Draw the hatch of an offline GPU. */
function hatch(context, size, scale, theme) {
  context.fillStyle = theme.sunken;
  context.fillRect(0, 0, size, size);
  context.strokeStyle = theme.faint;
  context.lineWidth = Math.max(1, scale);
  const step = Math.max(3 * scale, Math.min(6 * scale, size / 2));
  context.beginPath();
  for (let at = -size; at < size; at += step) {
    context.moveTo(at, size);
    context.lineTo(at + size, 0);
  }
  context.stroke();
  if (size >= 24 * scale) {
    context.fillStyle = theme.sunken;
    context.fillRect(0, size * 0.2, size, size * 0.6); // background of the name
  }
}

function shortened(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  for (let length = text.length - 1; length > 0; length--) {
    const shorter = `${text.slice(0, length)}…`;
    if (context.measureText(shorter).width <= width) return shorter;
  }
  return "";
}
