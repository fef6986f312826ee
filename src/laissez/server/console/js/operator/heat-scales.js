// What colour a leaf has: by its rate, its owner or the headroom of the owner's limit.

import { colour } from "../theme.js";
import { inkOn, mix, ramp } from "./colours.js";

const STEPS = 64;
const OWNERS = 10; // that have a colour of their own
const DIM = 0.82; // how much of the background is in what is not meant

/** Colours of the theme, ready for drawing; every list has a dimmed and a legible partner. */
export class Scales {
  constructor(levels, range) {
    this.levels = levels;
    this.range = range;
    this.mode = "rate";
    this.slots = []; // owners that have a colour, by colour
    this.slotOf = new Int8Array(64).fill(-1); // by owner
    this.read();
  }

  /** Read the theme anew. */
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

  /** The place of a leased leaf in the list of colours. */
  step(i) {
    if (this.mode === "owner") {
      const slot = this.slotOf[this.levels.owner[i]] ?? -1;
      return slot < 0 ? OWNERS : slot;
    }
    const share =
      this.mode === "rate" ? this.range.share(this.levels.rate[i]) : this.levels.headroom(i);
    return Math.min(STEPS - 1, Math.floor(share * STEPS));
  }

  /** Give colours to the biggest owners; whoever has one keeps it until a bigger one needs it. `sizes` is how much each owner holds. */
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
