// From which rate to which the colours go. It follows the market slowly and in round numbers, so that a colour means the same for a while; a few
// outliers do not stretch it.

const OUTLIERS = 0.02; // of the leaves, at each end
const EASE = 0.35; // of the way that is left, each step
const ROUND = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];
const LEAST = 0.4; // the range, as a share of its upper end: small differences stay small
const SLACK = 0.4; // how much of the range may lie unused before it shrinks

export class Range {
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

  /** Look at the leased leaves from `first` to `last`, at all of them if nothing is leased. Gives whether there is somewhere to go. */
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

  /** One step towards the goal. */
  ease() {
    const near = (this.goal[1] - this.goal[0]) / 200;
    this.low = closer(this.low, this.goal[0], near);
    this.high = closer(this.high, this.goal[1], near);
  }

  /** Another part of the map: begin there at once. */
  reset() {
    this.goal = null;
  }
}

function closer(from, to, near) {
  return Math.abs(to - from) <= near ? to : from + (to - from) * EASE;
}

/** Round numbers just outside. */
function rounded(low, high) {
  const span = Math.max(high - low, high * LEAST, 100_000);
  const power = 10 ** Math.floor(Math.log10(span / 4));
  const step = power * ROUND.find((size) => size * power * 4 >= span);
  const from = Math.max(0, Math.floor((2 * low) / step) * (step / 2));
  return [from, from + 4 * step >= high ? from + 4 * step : from + 5 * step];
}
