// Money and times as these pages write and read them.

import { MICROS, clock, duration, fixed, moment } from "../format.js";

const HOUR_MS = 3_600_000;
const PRICE_MAX = 10_000 * MICROS;
const DECIMAL = /^\d{1,9}(\.\d{1,6})?$/;

/** A price per hour with four decimals, so that columns line up. */
export function rate(value) {
  if (value === null) return "–";
  return `$${fixed(value / MICROS, 4)}/h`;
}

/** A cost with four decimals: it ticks, and columns line up. */
export function running(value) {
  return `$${fixed(value / MICROS, 4)}`;
}

/** Dollars with all six decimals, as the bill has them. */
export function exact(value) {
  return `$${fixed(value / MICROS, 6)}`;
}

/** Dollars for the axis of a chart: as many decimals as their size needs. */
export function onAxis(value) {
  const size = value / MICROS;
  const digits = size >= 100 || size === 0 ? 0 : size >= 0.1 ? 2 : 4;
  return `$${fixed(size, digits)}`;
}

/** A moment to the second: the time of today, with the day before that. */
export function when(time) {
  const at = new Date(time);
  if (at.toDateString() === new Date().toDateString()) return clock(at);
  return `${moment(at).split(",")[0]}, ${clock(at)}`;
}

/** How long something lasted; what is short, to the tenth of a second. */
export function lasted(ms) {
  return ms < 10_000 ? `${(Math.max(0, ms) / 1000).toFixed(1)} s` : duration(ms);
}

/** What a rate costs in a time, in micro-dollars. */
export function charge(ratePerHour, ms) {
  return (ratePerHour * Math.max(0, ms)) / HOUR_MS;
}

/** A total that runs on between two answers, at whatever is charged meanwhile. */
export class Meter {
  constructor() {
    this.total = null;
    this.asOf = 0;
  }

  set(total, at) {
    this.total = total;
    this.asOf = at;
  }

  /** What it has come to, in whole micro-dollars; null: not known yet. Call it often: `rate` counts since the last call. */
  read(rate, now) {
    if (this.total === null) return null;
    this.total += charge(rate, now - this.asOf);
    this.asOf = Math.max(this.asOf, now);
    return Math.floor(this.total);
  }
}

/** Micro-dollars of what somebody typed; throws what was wrong with it. */
export function readMoney(text, most = PRICE_MAX) {
  const plain = text.trim().replace(/^\$/, "").replace(/\/h$/, "").trim();
  if (!DECIMAL.test(plain))
    throw new Error(
      `Expected dollars such as 2.75, with at most six decimals, found “${text.trim()}”.`,
    );
  const [whole, fraction = ""] = plain.split(".");
  const value = Number(whole) * MICROS + Number(fraction.padEnd(6, "0"));
  if (value > most)
    throw new Error(
      `Expected at most $${(most / MICROS).toLocaleString("en-US")}, found “${text.trim()}”.`,
    );
  return value;
}

/** The moment of a text of the API, in milliseconds; null stays null. */
export function ms(time) {
  return time === null || time === undefined ? null : Date.parse(time);
}
