// Formats and parses money, times and names. Money stays a whole number of micro-dollars, so that
// sums are exact.

export const MICROS = 1_000_000;
export const HOUR_MS = 3_600_000;
const PRICE_MAX = 10_000 * MICROS;
const DECIMAL = /^\d{1,9}(\.\d{1,6})?$/;

/** Parse decimal text such as "2.75" as whole micro-dollars; null stays null. */
export function micros(text) {
  if (text === null || text === undefined) return null;
  const [whole, fraction = ""] = text.split(".");
  return Number(whole) * MICROS + Number((fraction + "000000").slice(0, 6));
}

/** Micro-dollars as decimal text for the API. */
export function decimal(value) {
  const text = String(Math.abs(value) % MICROS)
    .padStart(6, "0")
    .replace(/0+$/, "");
  return `${value < 0 ? "-" : ""}${Math.trunc(Math.abs(value) / MICROS)}${text ? "." + text : ""}`;
}

const CLOCK = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const numbers = new Map();

/** A number with `least` to `most` decimals. Formats are cached, because creating one is slow. */
function fixed(number, least, most = least) {
  const name = `${least} ${most}`;
  if (!numbers.has(name))
    numbers.set(
      name,
      new Intl.NumberFormat("en-US", { minimumFractionDigits: least, maximumFractionDigits: most }),
    );
  return numbers.get(name).format(number);
}

/** Dollars with at least two and at most `most` decimals: $2.75, $0.0042. */
export function dollars(value, most = 4) {
  if (value === null) return "–";
  return `${value < 0 ? "−" : ""}$${fixed(Math.abs(value) / MICROS, 2, most)}`;
}

/** A price per hour, from decimal text or micro-dollars. */
export function perHour(price) {
  const value = typeof price === "string" ? micros(price) : price;
  return value === null || value === undefined ? "–" : `${dollars(value)}/h`;
}

/** A cost, rounded. Put the exact cost into a title. */
export function cost(value) {
  const amount = typeof value === "string" ? micros(value) : value;
  return amount === null || amount === undefined
    ? "–"
    : dollars(amount, Math.abs(amount) < 10_000 ? 6 : 2);
}

export function percent(share, digits = 0) {
  return Number.isFinite(share) ? `${(share * 100).toFixed(digits)} %` : "–";
}

export function count(number) {
  return number.toLocaleString("en-US");
}

export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** A duration in at most two units: 3 min 12 s. */
export function duration(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const units = [
    [86_400, "d"],
    [3_600, "h"],
    [60, "min"],
    [1, "s"],
  ];
  const first = units.findIndex(([size]) => seconds >= size);
  if (first < 0) return "0 s";
  const [size, name] = units[first];
  const rest = seconds % size;
  const next = units[first + 1];
  const more = next && rest >= next[0] ? ` ${Math.floor(rest / next[0])} ${next[1]}` : "";
  return `${Math.floor(seconds / size)} ${name}${more}`;
}

/** The time of day, from a timestamp of the API or milliseconds. */
export function clock(moment) {
  return CLOCK.format(new Date(moment));
}

/** Day and time. */
export function moment(when) {
  const date = new Date(when);
  const day = date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  return `${day}, ${date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })}`;
}

/** Split a path before its last part: "a/b/c" is ["a/b/", "c"]. */
export function splitPath(path) {
  const cut = path.lastIndexOf("/");
  return cut < 0 ? ["", path] : [path.slice(0, cut + 1), path.slice(cut + 1)];
}

const REASONS = {
  outbid: "outbid",
  floor_raised: "floor raised",
  taken_offline: "taken offline",
  relinquished: "relinquished",
  budget_spent: "budget spent",
};

export function reason(code) {
  return REASONS[code] ?? code.replaceAll("_", " ");
}

/** A price per hour with four decimals, so that columns align. */
export function rate(value) {
  if (value === null) return "–";
  return `$${fixed(value / MICROS, 4)}/h`;
}

/** A running cost, with four decimals so that columns align. */
export function running(value) {
  return `$${fixed(value / MICROS, 4)}`;
}

/** Dollars with all six decimals, as in the bill. */
export function exact(value) {
  return `$${fixed(value / MICROS, 6)}`;
}

/** Dollars for the axis of a chart, with as many decimals as their size needs. */
export function onAxis(value) {
  const size = value / MICROS;
  const digits = size >= 100 || size === 0 ? 0 : size >= 0.1 ? 2 : 4;
  return `$${fixed(size, digits)}`;
}

/** A time to the second, with the day unless it is today. */
export function when(time) {
  const at = new Date(time);
  if (at.toDateString() === new Date().toDateString()) return clock(at);
  return `${moment(at).split(",")[0]}, ${clock(at)}`;
}

/** A duration; below ten seconds, to the tenth of a second. */
export function lasted(ms) {
  return ms < 10_000 ? `${(Math.max(0, ms) / 1000).toFixed(1)} s` : duration(ms);
}

/**
 * Parse dollars that a user typed as micro-dollars. Throws an Error with a message for the user.
 */
export function readMoney(text, most = PRICE_MAX) {
  const plain = text.trim().replace(/^\$/, "").replace(/\/h$/, "").trim();
  if (!DECIMAL.test(plain))
    throw new Error(
      `Expected dollars such as 2.75, with at most six decimals; found “${text.trim()}”.`,
    );
  const [whole, fraction = ""] = plain.split(".");
  const value = Number(whole) * MICROS + Number(fraction.padEnd(6, "0"));
  if (value > most)
    throw new Error(
      `Expected at most $${(most / MICROS).toLocaleString("en-US")}; found “${text.trim()}”.`,
    );
  return value;
}

/** A timestamp of the API in milliseconds; null stays null. */
export function ms(time) {
  return time === null || time === undefined ? null : Date.parse(time);
}
