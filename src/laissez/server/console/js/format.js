// Money, times and names as people read them. Money stays a whole number of micro-dollars: sums are exact.

export const MICROS = 1_000_000;

/** Whole micro-dollars of a decimal text such as "2.75"; null stays null. */
export function micros(text) {
  if (text === null || text === undefined) return null;
  const [whole, fraction = ""] = text.split(".");
  return Number(whole) * MICROS + Number((fraction + "000000").slice(0, 6));
}

/** A decimal text of micro-dollars, as the API takes it. */
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

/** A number with this many decimals. The formats are kept: making one takes longer than using it. */
export function fixed(number, least, most = least) {
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

/** A price per hour, from text or micro-dollars. */
export function perHour(price) {
  const value = typeof price === "string" ? micros(price) : price;
  return value === null || value === undefined ? "–" : `${dollars(value)}/h`;
}

/** A cost, rounded for reading; the exact one belongs into a title. */
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

/** How long something lasts, in two units: 3 min 12 s. */
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

/** The time of day of a moment (a text of the API, or milliseconds). */
export function clock(moment) {
  return CLOCK.format(new Date(moment));
}

/** Day and time. */
export function moment(when) {
  const date = new Date(when);
  const day = date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  return `${day}, ${date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })}`;
}

/** The last part of a path, and what is before it. */
export function splitPath(path) {
  const cut = path.lastIndexOf("/");
  return cut < 0 ? ["", path] : [path.slice(0, cut + 1), path.slice(cut + 1)];
}

const REASONS = {
  outbid: "outbid",
  floor_raised: "floor raised",
  taken_offline: "taken offline",
  relinquished: "given up",
  budget_spent: "budget spent",
};

export function reason(code) {
  return REASONS[code] ?? code.replaceAll("_", " ");
}
