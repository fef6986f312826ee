// The market's figures of the last two hours: what the server kept, and what was seen here since its last sample.

import { micros } from "../format.js";

const KEPT_MS = 2 * 3_600_000;
const MINUTE_MS = 60_000;
const GAP_SAMPLES = 3; // so many samples left out are a gap: nobody measured then

export class History {
  constructor() {
    this.samples = []; // from the server, oldest first, at even distances
    this.seen = []; // since the last of them
    this.begins = []; // when the server began to measure, as far as that was within its memory
    this.everyMs = 10_000;
  }

  /** What the server kept. A server that was started again begins anew; what was told before stays here. */
  take({ every_s, samples }) {
    this.everyMs = every_s * 1000;
    const told = samples.map(inNumbers);
    const first = told.length ? told[0].at : Infinity;
    const until = told.length ? told.at(-1).at : -Infinity;
    const isNew = !this.samples.length || first > this.samples.at(-1).at; // nothing of what was told before
    if (told.length && isNew && until - first < KEPT_MS - this.everyMs * GAP_SAMPLES)
      this.begins.push(first);
    this.samples = [...this.samples.filter(({ at }) => at < first), ...told].filter(
      ({ at }) => at > until - KEPT_MS,
    );
    this.seen = this.seen.filter(({ at }) => at > until);
  }

  /** What holds now. */
  see(summary) {
    this.seen.push(inNumbers(summary));
  }

  get last() {
    return this.seen.at(-1) ?? this.samples.at(-1) ?? null;
  }

  get first() {
    return this.samples[0] ?? this.seen[0] ?? null;
  }

  /** Points [ms, value] of a level, with a gap where nobody measured. */
  points(value) {
    return withGaps([...this.samples, ...this.seen], this.everyMs * GAP_SAMPLES, value);
  }

  /** Points of something counted, per minute: each is the sum of the minute before it. */
  perMinute(name) {
    const wanted = Math.max(1, Math.round(MINUTE_MS / this.everyMs));
    const minute = (i) => this.samples.slice(Math.max(0, i + 1 - wanted), i + 1);
    const sums = this.samples.map(({ at }, i) => ({
      at,
      sum: sumOf(minute(i), name, wanted, this.everyMs),
    }));
    return withGaps(sums, this.everyMs * GAP_SAMPLES, ({ sum }) => sum);
  }

  /** When the measuring began, or began again: marks for a chart. */
  marks() {
    return this.begins.map((at) => ({ at, text: "The service was started" }));
  }
}

/** A minute that was not measured as a whole has no sum. */
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
