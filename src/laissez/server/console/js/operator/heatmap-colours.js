// The colours of the heatmap. The colour range follows the market slowly and in round numbers, so
// that a colour keeps its meaning for a while; a few outliers do not stretch it. Colours are mixed
// in OKLab: equal steps look equal, and lightness alone tells them apart.

import { colour } from "../theme.js";

const STEPS = 64;
const OWNERS = 10; // with a colour of their own
const DIM = 0.82; // the share of background in dimmed colours
const OUTLIERS = 0.02; // share of the GPUs, at each end
const EASE = 0.35; // share of the remaining way, per step
const ROUND = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];
const LEAST = 0.4; // the least width of the range, as a share of its upper end
const SLACK = 0.4; // unused share of the range before it shrinks

/**
 * The colour of each GPU: by its rate, its owner or the headroom of its lease. Each list of colours
 * comes with dimmed colours and legible text colours.
 */
export class ColourScales {
  constructor(levels, range) {
    this.levels = levels;
    this.range = range;
    this.mode = "rate";
    this.slots = []; // colour -> owner
    this.slotOf = new Int8Array(64).fill(-1); // owner -> colour, -1 without one
    this.read();
  }

  /** Read the colours of the theme. */
  read() {
    const numbered = (name, count) =>
      Array.from({ length: count }, (_, i) => colour(`${name}-${i + 1}`));
    this.card = colour("card");
    this.lists = {
      rate: this.list(ramp(numbered("rate", 5), STEPS)),
      headroom: this.list(ramp(numbered("room", 3), STEPS)),
      owner: this.list([...numbered("owner", OWNERS), colour("owner-other")]),
    };
  }

  list(colours) {
    return {
      shown: colours,
      dimmed: colours.map((one) => mix(one, this.card, DIM)),
      inks: colours.map(inkOn),
    };
  }

  get colours() {
    return this.lists[this.mode];
  }

  /** The index of the colour of a leased GPU. */
  step(i) {
    if (this.mode === "owner") {
      const slot = this.slotOf[this.levels.owner[i]] ?? -1;
      return slot < 0 ? OWNERS : slot;
    }
    const share =
      this.mode === "rate" ? this.range.share(this.levels.rate[i]) : this.levels.headroom(i);
    return Math.min(STEPS - 1, Math.floor(share * STEPS));
  }

  /**
   * Assign colours to the biggest owners. An owner keeps its colour until a bigger one needs it.
   * `sizes` has the GPUs per owner. Returns whether a colour changed.
   */
  rank(sizes) {
    if (this.slotOf.length < sizes.length) this.slotOf = grown(this.slotOf, sizes.length);
    const biggest = Array.from(sizes.keys())
      .filter((owner) => sizes[owner] > 0)
      .sort((a, b) => sizes[b] - sizes[a] || a - b)
      .slice(0, OWNERS);
    const without = biggest.filter((owner) => this.slotOf[owner] < 0);
    for (const owner of without) {
      const slot =
        this.slots.length < OWNERS
          ? this.slots.length
          : this.slots.findIndex((other) => !biggest.includes(other));
      if (this.slots[slot] !== undefined) this.slotOf[this.slots[slot]] = -1;
      this.slots[slot] = owner;
      this.slotOf[owner] = slot;
    }
    return without.length > 0;
  }

  colourOf(owner) {
    const slot = this.slotOf[owner] ?? -1;
    return this.lists.owner.shown[slot < 0 ? OWNERS : slot];
  }
}

function grown(numbers, length) {
  const larger = new Int8Array(Math.max(length, numbers.length * 2)).fill(-1);
  larger.set(numbers);
  return larger;
}

export class ColourRange {
  constructor() {
    this.low = 0;
    this.high = 1e6;
    this.goal = null;
    this.rates = new Float64Array(0);
  }

  share(rate) {
    const share = (rate - this.low) / (this.high - this.low);
    return share > 0 ? Math.min(share, 1) : 0;
  }

  /**
   * Aim at the rates of the leased GPUs from `first` to `last`, or of all online ones if none is
   * leased. Returns whether the range must move.
   */
  aim(levels, first, last) {
    if (this.rates.length < last - first) this.rates = new Float64Array(last - first);
    const leased = this.gather(levels, first, last, 0) || this.gather(levels, first, last, -2);
    if (!leased) return this.isMoving;
    const sorted = this.rates.subarray(0, leased).sort();
    const ends = [
      sorted[Math.floor((leased - 1) * OUTLIERS)],
      sorted[Math.ceil((leased - 1) * (1 - OUTLIERS))],
    ];
    if (!this.goal) [this.low, this.high] = this.goal = rounded(...ends);
    else if (!this.fits(...ends)) this.goal = rounded(...ends);
    return this.isMoving;
  }

  gather(levels, first, last, least) {
    let count = 0;
    for (let i = first; i < last; i++)
      if (levels.owner[i] >= least) this.rates[count++] = levels.rate[i];
    return count;
  }

  fits(low, high) {
    const [from, until] = this.goal;
    if (low < from || high > until) return false;
    const [tightFrom, tightUntil] = rounded(low, high);
    return tightUntil - tightFrom >= (1 - SLACK) * (until - from);
  }

  get isMoving() {
    return this.goal !== null && (this.low !== this.goal[0] || this.high !== this.goal[1]);
  }

  /** Move one step towards the goal. */
  ease() {
    const near = (this.goal[1] - this.goal[0]) / 200;
    this.low = closer(this.low, this.goal[0], near);
    this.high = closer(this.high, this.goal[1], near);
  }

  /** Forget the goal, so that the next one applies at once. */
  reset() {
    this.goal = null;
  }
}

function closer(from, to, near) {
  return Math.abs(to - from) <= near ? to : from + (to - from) * EASE;
}

/** Round numbers just outside `low` and `high`. */
function rounded(low, high) {
  const span = Math.max(high - low, high * LEAST, 100_000);
  const power = 10 ** Math.floor(Math.log10(span / 4));
  const step = power * ROUND.find((size) => size * power * 4 >= span);
  const from = Math.max(0, Math.floor((2 * low) / step) * (step / 2));
  return [from, from + 4 * step >= high ? from + 4 * step : from + 5 * step];
}

/** Convert `#rrggbb` to OKLab, [lightness, a, b]. */
function lab(hex) {
  const [r, g, b] = [1, 3, 5].map((at) => linear(parseInt(hex.slice(at, at + 2), 16) / 255));
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

/** Convert OKLab to `#rrggbb`. */
function hex([lightness, a, b]) {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const parts = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return `#${parts
    .map((part) =>
      Math.round(255 * shown(part))
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}

function linear(part) {
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
}

function shown(part) {
  const within = Math.min(1, Math.max(0, part));
  return within <= 0.0031308 ? 12.92 * within : 1.055 * within ** (1 / 2.4) - 0.055;
}

function mix(one, other, share) {
  const [from, to] = [lab(one), lab(other)];
  return hex(from.map((part, i) => part + (to[i] - part) * share));
}

/** `steps` colours, evenly spaced along the stops. */
function ramp(stops, steps) {
  return Array.from({ length: steps }, (_, i) => {
    const place = (i / (steps - 1)) * (stops.length - 1);
    const before = Math.min(Math.floor(place), stops.length - 2);
    return mix(stops[before], stops[before + 1], place - before);
  });
}

/** Black or white, whichever is legible on a colour. */
function inkOn(colour) {
  return lab(colour)[0] > 0.57 ? "#101315" : "#ffffff";
}
