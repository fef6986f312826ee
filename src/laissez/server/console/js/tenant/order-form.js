// form

import { change } from "../api.js";
import { card, field, pathName } from "../components.js";
import { fill, h, setText } from "../dom.js";
import { decimal, dollars, micros, rate, readMoney } from "../format.js";
import { sendAll } from "./batch.js";
import { scopeField } from "./scope-field.js";

const COUNT_MAX = 100;
const MOST = 16;

/** Gives {element, refresh(), use(scope)}. */
export function orderForm(prices) {
  const number = field(
    "How many",
    { value: "1", type: "number", min: "1", max: String(COUNT_MAX), inputmode: "numeric" },
    "one order each",
  );
  const worst = h("p", { class: "worst" });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const results = h("ul", { class: "outcomes placed", "aria-live": "polite", hidden: true });
  const send = h("button", { type: "submit", class: "button primary" }, "Place order");
  const editor = alternativesEditor(prices, changed);
  const about =
    "The first alternative that can be had wins and cancels the others. You pay the highest losing bid, never more than your limit.";
  const finish = h("div", { class: "finish" }, number.element, worst, send);
  const parts = [h("p", { class: "soft small" }, about), editor.element, finish, problem, results];
  const element = card(
    { id: "place", title: "Place an order" },
    h("form", { class: "stack tight", novalidate: true, onsubmit: submit }, parts),
  );

  /** How many are wanted, or null. */
  function many() {
    const found = Number(number.input.value);
    return Number.isInteger(found) && found >= 1 && found <= COUNT_MAX ? found : null;
  }

  function wanted() {
    number.input.setAttribute("aria-invalid", String(many() === null));
    if (many() === null)
      throw new Error(`How many: expected 1 to ${COUNT_MAX}, found “${number.input.value}”.`);
    return many();
  }

  function changed() {
    problem.hidden = true;
    const [limit, number] = [editor.worst(), many()];
    setText(send, number > 1 ? `Place ${number} orders` : "Place order");
    setText(
      worst,
      limit === null || number === null
        ? ""
        : `At worst ${dollars(limit * number)}/h, ${dollars(limit * number * 24, 2)} a day.`,
    );
  }

  async function submit(event) {
    event.preventDefault();
    problem.hidden = true;
    send.disabled = true;
    try {
      const alternatives = editor.read();
      const count = wanted();
      const lines =
        count === 1
          ? [placed(await change("POST", "/v1/orders", { alternatives }))]
          : await placeMany(alternatives, count);
      fill(results, lines);
      results.hidden = false;
      prices.poll.now();
    } catch (error) {
      fill(problem, error.message);
      problem.hidden = false;
    }
    send.disabled = false;
  }

  number.input.addEventListener("input", changed);
  return { element, refresh: editor.refresh, use: editor.use };
}

async function placeMany(alternatives, many) {
  const items = Array.from({ length: many }, (_, i) => ({
    name: `order ${i + 1} of ${many}`,
    command: { type: "place_order", alternatives },
  }));
  const outcomes = await sendAll(items);
  return outcomes.map(({ name, ok, text, events }) =>
    ok ? fromEvents(events) : line("bad", "refused", `${name}: ${text}`),
  );
}

function fromEvents(numbered) {
  const events = numbered.map(({ event }) => event);
  const order = events.find(({ type }) => type === "order.placed");
  const won = events.find(({ type, order: id }) => type === "lease.started" && id === order.order);
  return placed({
    id: order.order,
    state: won ? "filled" : "open",
    leaf: won?.leaf,
    lease: won?.lease,
    rate: won?.rate,
    clipped: order.clipped,
  });
}

function placed({ id, state, leaf, lease, rate: price, clipped }) {
  if (state === "filled")
    return line("good", "won", pathName(leaf, lease), ` at ${rate(micros(price))}`);
  return line(
    "accent",
    "open",
    `${id} waits for a leaf${clipped ? "; the rise band let less than your bid through" : ""}`,
  );
}

function line(kind, word, ...text) {
  return h("li", {}, h("span", { class: `tag ${kind}` }, word), h("span", {}, text));
}

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
    setText(
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
