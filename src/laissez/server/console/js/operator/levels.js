// The state of every GPU as columns of numbers, and the tree of nodes above them.

import { perHour } from "../format.js";

export const IDLE = -1;
export const OFFLINE = -2;

/**
 * Calls `on.built()` for a new tree, `on.cell(i, moved)` for each changed GPU (`moved`: its owner
 * changed), and `on.updated()` after each message. Rates, limits and floors are whole
 * micro-dollars; NaN means no limit.
 */
export class Levels {
  constructor(on) {
    this.on = on;
    this.count = 0;
    this.owners = []; // names; `owner` has indexes into this list
    this.places = new Map(); // name -> index
  }

  receive({ type, data }) {
    if (type === "levels") this.whole(data);
    else if (type === "changed") this.changed(data.rows);
    this.on.updated();
  }

  whole({ rows, levels }) {
    const known =
      this.leaves?.length === rows.length && this.leaves.every((path, i) => path === rows[i][0]);
    this.isNew = !known; // a new tree is drawn as a whole
    if (!known) this.build(rows, levels);
    this.changed(rows);
    this.isNew = false;
    if (!known) this.on.built();
  }

  build(rows, levels) {
    this.leaves = rows.map(([path]) => path);
    this.count = rows.length;
    this.rate = new Float64Array(this.count);
    this.limit = new Float64Array(this.count).fill(NaN);
    this.floor = new Float64Array(this.count);
    this.owner = new Int32Array(this.count).fill(IDLE);
    this.nodes = new Map();
    this.forest = grow(this.leaves, levels, this.nodes);
  }

  changed(rows) {
    for (const [path, online, owner, rate, limit, floor] of rows) {
      const held = owner === null ? (online ? IDLE : OFFLINE) : this.placeOf(owner);
      this.put(this.nodes.get(path).first, micros(rate), micros(limit), held, micros(floor));
    }
  }

  placeOf(name) {
    if (!this.places.has(name)) this.places.set(name, this.owners.push(name) - 1);
    return this.places.get(name);
  }

  put(i, rate, limit, owner, floor) {
    const moved = owner !== this.owner[i];
    if (
      !moved &&
      rate === this.rate[i] &&
      Object.is(limit, this.limit[i]) &&
      floor === this.floor[i]
    )
      return;
    this.rate[i] = rate;
    this.limit[i] = limit;
    this.owner[i] = owner;
    this.floor[i] = floor;
    if (!this.isNew) this.on.cell(i, moved);
  }

  /** How far the rate is below the limit, as a share of the limit; 1 without a limit. */
  headroom(i) {
    const limit = this.limit[i];
    if (Number.isNaN(limit)) return 1;
    return limit > 0 ? Math.max(0, (limit - this.rate[i]) / limit) : 0;
  }

  /**
   * Figures of a node. The rates are those of its leased GPUs, or of the idle ones if none is
   * leased.
   */
  figures({ first, last }) {
    const leased = [];
    const idle = [];
    for (let i = first; i < last; i++) {
      if (this.owner[i] >= 0) leased.push(this.rate[i]);
      else if (this.owner[i] === IDLE) idle.push(this.rate[i]);
    }
    const leaves = last - first;
    const rates = Float64Array.from(leased.length ? leased : idle).sort();
    return {
      leaves,
      leased: leased.length,
      idle: idle.length,
      offline: leaves - leased.length - idle.length,
      low: rates[0] ?? null,
      middle: rates[rates.length >> 1] ?? null,
      high: rates.at(-1) ?? null,
    };
  }
}

/**
 * A fast form of `micros` in format.js, for tens of thousands of prices per second. Exact for
 * prices.
 */
function micros(text) {
  return text === null ? NaN : Math.round(Number(text) * 1e6);
}

/**
 * Build the tree above the GPUs. GPUs come in path order, so those of a node are a range, `first`
 * up to `last`. The `height` of a GPU is 0.
 */
function grow(leaves, levels, nodes) {
  const forest = {
    path: "",
    name: "Everything",
    level: null,
    parent: null,
    children: [],
    first: 0,
    last: leaves.length,
    height: 0,
  };
  nodes.set("", forest);
  leaves.forEach((path, i) => {
    let node = forest;
    const names = path.split("/");
    names.forEach((name, depth) => {
      const newest = node.children.at(-1);
      const child =
        newest?.name === name
          ? newest
          : sprout(node, name, i, levels[names[0]]?.[depth] ?? null, nodes);
      child.last = i + 1;
      node = child;
    });
    for (let height = 0; node; node = node.parent, height++)
      node.height = Math.max(node.height, height);
  });
  shape(forest, new Map());
  return forest;
}

/** Number the shapes of subtrees: equal numbers mean equal trees, except for names. */
function shape(node, known) {
  const key = node.children.map((child) => shape(child, known)).join();
  if (!known.has(key)) known.set(key, known.size);
  node.shape = known.get(key);
  return node.shape;
}

function sprout(parent, name, first, level, nodes) {
  const path = parent.path ? `${parent.path}/${name}` : name;
  const node = { path, name, level, parent, children: [], first, last: first, height: 0 };
  parent.children.push(node);
  nodes.set(path, node);
  return node;
}

export function ownerName(levels, i) {
  return levels.owner[i] >= 0
    ? levels.owners[levels.owner[i]]
    : levels.owner[i] === IDLE
      ? "idle"
      : "offline";
}

export function limitText(levels, i) {
  return Number.isNaN(levels.limit[i]) ? "none" : perHour(levels.limit[i]);
}
