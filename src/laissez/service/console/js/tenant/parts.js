// Small things that the tenant's pages share.

import { h, say } from "../dom.js";
import { MICROS, clock, duration, moment, splitPath } from "../format.js";
import { href } from "../router.js";

const HOUR_MS = 3_600_000;
const PRICE_MAX = 10_000 * MICROS;
const DECIMAL = /^\d{1,9}(\.\d{1,6})?$/;

/** A path with its last part strong; with `link`, the id of a lease, a link to it. */
export function pathName(path, link = null) {
  const [before, last] = splitPath(path);
  const parts = [h("span", { class: "soft" }, before), h("b", {}, last)];
  return link ? h("a", { class: "path", href: href("leases", link) }, parts) : h("span", { class: "path" }, parts);
}

/** A price per hour with four decimals, so that columns line up. */
export function rate(value) {
  if (value === null) return "–";
  return `$${(value / MICROS).toLocaleString("en-US", { minimumFractionDigits: 4, maximumFractionDigits: 4 })}/h`;
}

/** A cost with four decimals: it ticks, and columns line up. */
export function running(value) {
  return `$${(value / MICROS).toLocaleString("en-US", { minimumFractionDigits: 4, maximumFractionDigits: 4 })}`;
}

/** Dollars with all six decimals, as the bill has them. */
export function exact(value) {
  return `$${(value / MICROS).toLocaleString("en-US", { minimumFractionDigits: 6, maximumFractionDigits: 6 })}`;
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

/** Micro-dollars of what somebody typed; throws what was wrong with it. */
export function readMoney(text, most = PRICE_MAX) {
  const plain = text.trim().replace(/^\$/, "").replace(/\/h$/, "").trim();
  if (!DECIMAL.test(plain)) throw new Error(`Expected dollars such as 2.75, with at most six decimals, found “${text.trim()}”.`);
  const [whole, fraction = ""] = plain.split(".");
  const value = Number(whole) * MICROS + Number(fraction.padEnd(6, "0"));
  if (value > most) throw new Error(`Expected at most $${(most / MICROS).toLocaleString("en-US")}, found “${text.trim()}”.`);
  return value;
}

/** A tile; `say({value, note})` sets its texts. */
export function tile(label, more = null) {
  const value = h("div", { class: "value" }, "–");
  const note = h("div", { class: "note" });
  const element = h("div", { class: "tile" }, h("div", { class: "label" }, label), value, note, more);
  return {
    element,
    say(texts) {
      say(value, texts.value);
      say(note, texts.note ?? "");
      if (texts.title) value.title = texts.title;
    },
  };
}

/** Call `act` every second while somebody looks. Gives what to call to stop. */
export function everySecond(act) {
  const timer = setInterval(() => !document.hidden && act(), 1000);
  return () => clearInterval(timer);
}

/** `act`, but at most once in `ms`; the last call is never lost. Its `stop()` forgets what waits. */
export function paced(act, ms) {
  let waiting = null;
  let last = 0;
  function turn() {
    if (waiting !== null) return;
    waiting = setTimeout(() => {
      waiting = null;
      last = Date.now();
      act();
    }, Math.max(0, last + ms - Date.now()));
  }
  turn.stop = () => clearTimeout(waiting);
  return turn;
}

/** The moment of a text of the API, in milliseconds; null stays null. */
export function ms(time) {
  return time === null || time === undefined ? null : Date.parse(time);
}
