// The alternatives of an order, to be filled in: where, what to press with, how far to follow; and what that would do now.

import { h, say } from "../dom.js";
import { decimal, micros } from "../format.js";
import { field } from "../messages.js";
import { rate, readMoney } from "./figures.js";
import { scopeField } from "./scopefield.js";

const MOST = 16;

/** Gives {element, read(), worst(), refresh(), use(scope)}; `prices` is the PriceBook, `changed()` is called for each change. */
export function alternativesEditor(prices, changed, first = []) {
  const rows = [];
  const list = h("ol", { class: "alternatives" });
  const add = h(
    "button",
    { type: "button", class: "button small", onclick: () => (insert({}), changed()) },
    "Add an alternative",
  );
  const element = h("div", { class: "stack tight" }, list, h("div", {}, add));

  function insert({ scope = "", bid = null, limit = "" }) {
    const given = { scope, bid: bid === null || bid === limit ? "" : bid, limit };
    const row = alternativeRow(
      prices,
      given,
      () => (row.refresh(), changed()),
      () => drop(row),
    );
    rows.push(row);
    list.append(row.element);
    count();
    return row;
  }

  function drop(row) {
    rows.splice(rows.indexOf(row), 1);
    row.element.remove();
    count();
    changed();
  }

  function count() {
    rows.forEach((row) => (row.remove.hidden = rows.length === 1));
    add.hidden = rows.length >= MOST;
  }

  (first.length ? first : [{}]).forEach(insert);
  return {
    element,
    read: () => rows.map((row) => row.read()),
    refresh: () => rows.forEach((row) => row.refresh()),
    /** The dearest limit, or null while one cannot be read. */
    worst() {
      const limits = rows.map((row) => row.limit());
      return limits.includes(null) ? null : Math.max(...limits);
    },
    /** Put a place into the last row, or a new one if that is taken. */
    use(scope) {
      const last = rows.at(-1);
      const row = last.scope.value.trim() && rows.length < MOST ? insert({}) : last;
      row.scope.value = scope;
      row.refresh();
      changed();
      row.focus();
    },
  };
}

function alternativeRow(prices, { scope, bid, limit }, changed, drop) {
  const place = scopeField(scope, changed, (path) => prices.text(path));
  const most = field("Limit, $/h", { value: limit, inputmode: "decimal" });
  const press = field("Bid, $/h", {
    value: bid,
    inputmode: "decimal",
    placeholder: "as the limit",
  });
  const would = h("p", { class: "would small", "aria-live": "polite" });
  const remove = h(
    "button",
    {
      type: "button",
      class: "button plain small",
      "aria-label": "Remove this alternative",
      onclick: drop,
    },
    "Remove",
  );
  [most, press].forEach(({ input }) =>
    input.addEventListener("input", () => (input.setAttribute("aria-invalid", "false"), changed())),
  );

  function read() {
    const path = place.input.value.trim();
    place.input.setAttribute("aria-invalid", String(!path));
    if (!path) throw new Error("Expected a place, such as h100 or h100/zone-a.");
    const asked = { scope: path, limit: decimal(typed(most, "Limit")) };
    if (press.input.value.trim()) asked.bid = decimal(typed(press, "Bid"));
    return asked;
  }

  function refresh() {
    const scopeNow = place.input.value.trim();
    const top = quiet(most);
    say(
      would,
      verdict(prices.quote(scopeNow), scopeNow, top, press.input.value.trim() ? quiet(press) : top),
    );
  }

  refresh();
  return {
    element: h(
      "li",
      { class: "alternative" },
      place.element,
      most.element,
      press.element,
      remove,
      would,
    ),
    scope: place.input,
    remove,
    read,
    refresh,
    limit: () => quiet(most),
    focus: () => most.input.focus(),
  };
}

function typed({ input }, name) {
  try {
    const value = readMoney(input.value);
    input.setAttribute("aria-invalid", "false");
    return value;
  } catch (problem) {
    input.setAttribute("aria-invalid", "true");
    throw new Error(`${name}: ${problem.message}`);
  }
}

function quiet({ input }) {
  try {
    return readMoney(input.value);
  } catch {
    return null;
  }
}

/** What an order there would do now. A bid takes a leaf from somebody; for an idle leaf it is enough that the limit reaches its floor. */
function verdict(quote, scope, limit, bid) {
  if (!scope) return "";
  if (quote === undefined) return "No quote: you hold nothing there. It wins if it can, or waits.";
  if (quote === null) return "Nothing to be had there now at any price: it would wait.";
  const price = `Quote ${rate(quote)}`;
  if (limit === null || bid === null) return `${price}: that much wins a leaf now.`;
  if (bid >= quote) return `${price}: would win now.`;
  if (limit >= quote)
    return `${price}: would win now if a leaf is idle; to take one from others, bid ${rate(quote)}.`;
  return `${price}: would wait.`;
}

/** The fields of an open order as the editor takes them. */
export function asGiven(alternatives) {
  return alternatives.map(({ scope, bid, limit }) => ({
    scope,
    bid: decimal(micros(bid)),
    limit: decimal(micros(limit)),
  }));
}
