// The market's figures of the last two hours: the samples of the server, and newer figures that
// this page has seen.

import { micros } from "../format.js";

const KEPT_MS = 2 * 3_600_000;
const MINUTE_MS = 60_000;
const GAP_SAMPLES = 3; // this many missing samples in a row are a gap

export class History {
  constructor() {
    this.samples = []; // from the server, oldest first, evenly spaced
    this.seen = []; // newer figures
    this.begins = []; // the times at which the service was started, as far as known
    this.everyMs = 10_000;
  }

  /** Merge the server's samples. A restarted server has lost its samples; the known ones stay. */
  take({ every_s, samples }) {
    this.everyMs = every_s * 1000;
    const fresh = samples.map(inNumbers);
    const first = fresh.length ? fresh[0].at : Infinity;
    const until = fresh.length ? fresh.at(-1).at : -Infinity;
    // no overlap with the known samples
    const isNew = !this.samples.length || first > this.samples.at(-1).at;
    if (fresh.length && isNew && until - first < KEPT_MS - this.everyMs * GAP_SAMPLES)
      this.begins.push(first);
    this.samples = [...this.samples.filter(({ at }) => at < first), ...fresh].filter(
      ({ at }) => at > until - KEPT_MS,
    );
    this.seen = this.seen.filter(({ at }) => at > until);
  }

  /** Add the current figures. */
  see(summary) {
    this.seen.push(inNumbers(summary));
  }

  get last() {
    return this.seen.at(-1) ?? this.samples.at(-1) ?? null;
  }

  get first() {
    return this.samples[0] ?? this.seen[0] ?? null;
  }

  /** The points [ms, value] of a level, with gaps where there are no samples. */
  points(value) {
    return withGaps([...this.samples, ...this.seen], this.everyMs * GAP_SAMPLES, value);
  }

  /** The points of a counter, per minute: each is the sum over the minute before it. */
  perMinute(name) {
    const wanted = Math.max(1, Math.round(MINUTE_MS / this.everyMs));
    const minute = (i) => this.samples.slice(Math.max(0, i + 1 - wanted), i + 1);
    const sums = this.samples.map(({ at }, i) => ({
      at,
      sum: sumOf(minute(i), name, wanted, this.everyMs),
    }));
    return withGaps(sums, this.everyMs * GAP_SAMPLES, ({ sum }) => sum);
  }

  /** Chart marks at the starts of the service. */
  marks() {
    return this.begins.map((at) => ({ at, text: "The service was started" }));
  }
}

/** The sum over a minute; null if the minute has missing samples. */
function sumOf(samples, name, wanted, everyMs) {
  const isWhole =
    samples.length === wanted && samples.at(-1).at - samples[0].at < everyMs * (wanted + 1);
  return isWhole ? samples.reduce((sum, sample) => sum + sample[name], 0) : null;
}

function withGaps(samples, longestMs, value) {
  const points = [];
  samples.forEach((sample, i) => {
    if (i > 0 && sample.at - samples[i - 1].at > longestMs)
      points.push([samples[i - 1].at + 1, null]);
    points.push([sample.at, value(sample)]);
  });
  return points;
}

function inNumbers(sample) {
  return {
    ...sample,
    at: Date.parse(sample.at),
    revenue: micros(sample.revenue),
    rate_now: micros(sample.rate_now),
  };
}
