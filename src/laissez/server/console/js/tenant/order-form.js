// The form that places orders, and the editor of an order's alternatives.

import { change } from "../api.js";
import { card, field, pathName, smallButton } from "../components.js";
import { fill, h, setText } from "../dom.js";
import { decimal, dollars, micros, rate, readMoney } from "../format.js";
import { sendAll } from "./batch.js";
import { scopeField } from "./scope-field.js";

const COUNT_MAX = 100;
const MOST = 16;

/** The form that places orders. Returns {element, refresh(), use(scope)}. */
export function orderForm(prices) {
  const number = field(
    "How many",
    { value: "1", type: "number", min: "1", max: String(COUNT_MAX), inputmode: "numeric" },
    "one order per GPU",
  );
  const worst = h("p", { class: "worst" });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const results = h("ul", { class: "outcomes placed", "aria-live": "polite", hidden: true });
  const send = h("button", { type: "submit", class: "button primary" }, "Place order");
  const editor = alternativesEditor(prices, changed);
  const about =
    "The first alternative that wins a GPU cancels the others. You pay the highest bid " +
    "of anyone else, never more than your limit.";
  const finish = h("div", { class: "finish" }, number.element, worst, send);
  const parts = [h("p", { class: "soft small" }, about), editor.element, finish, problem, results];
  const element = card(
    { id: "place", title: "Place an order" },
    h("form", { class: "stack tight", novalidate: true, onsubmit: submit }, parts),
  );

  /** The number of orders, or null if invalid. */
  function many() {
    const found = Number(number.input.value);
    return Number.isInteger(found) && found >= 1 && found <= COUNT_MAX ? found : null;
  }

  function wanted() {
    number.input.setAttribute("aria-invalid", String(many() === null));
    if (many() === null)
      throw new Error(`How many: expected 1 to ${COUNT_MAX}; found “${number.input.value}”.`);
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
        : `At most ${dollars(limit * number)}/h, ${dollars(limit * number * 24, 2)} a day.`,
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
    `${id} waits for a GPU${clipped ? "; the operator's rise band lowered your bid" : ""}`,
  );
}

function line(kind, word, ...text) {
  return h("li", {}, h("span", { class: `tag ${kind}` }, word), h("span", {}, text));
}

/**
 * The editor for the alternatives of an order. `prices` is the PriceBook; calls `changed()` on each
 * change. Returns {element, read(), worst(), refresh(), use(scope)}.
 */
export function alternativesEditor(prices, changed, first = []) {
  const rows = [];
  const list = h("ol", { class: "alternatives" });
  const add = smallButton("Add an alternative", () => (insert({}), changed()));
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
    /** The highest limit, or null while one is invalid. */
    worst() {
      const limits = rows.map((row) => row.limit());
      return limits.includes(null) ? null : Math.max(...limits);
    },
    /** Put a node into the last row, or into a new one if that row is in use. */
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
    placeholder: "= limit",
  });
  const verdictText = h("p", { class: "verdict small", "aria-live": "polite" });
  const remove = smallButton("Remove", drop, "plain", {
    "aria-label": "Remove this alternative",
  });
  [most, press].forEach(({ input }) =>
    input.addEventListener("input", () => (input.setAttribute("aria-invalid", "false"), changed())),
  );

  function read() {
    const path = place.input.value.trim();
    place.input.setAttribute("aria-invalid", String(!path));
    if (!path) throw new Error("Expected a node, such as h100 or h100/zone-a.");
    const asked = { scope: path, limit: decimal(typed(most, "Limit")) };
    if (press.input.value.trim()) asked.bid = decimal(typed(press, "Bid"));
    return asked;
  }

  function refresh() {
    const scopeNow = place.input.value.trim();
    const top = quiet(most);
    setText(
      verdictText,
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
      verdictText,
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

/**
 * What an order would do now. To take a GPU from another tenant the bid must win; for an idle GPU a
 * limit above its floor suffices.
 */
function verdict(quote, scope, limit, bid) {
  if (!scope) return "";
  if (quote === undefined)
    return "No quote, because you have no leases there. The order wins if it can, or waits.";
  if (quote === null) return "No GPU is available there now at any price: the order would wait.";
  const price = `Quote ${rate(quote)}`;
  if (limit === null || bid === null) return `${price}: this bid would win a GPU now.`;
  if (bid >= quote) return `${price}: would win now.`;
  if (limit >= quote)
    return (
      `${price}: would win now if a GPU is idle; to take one from another tenant, bid ` +
      `${rate(quote)}.`
    );
  return `${price}: would wait.`;
}

/** The alternatives of an open order as input for the editor. */
export function asGiven(alternatives) {
  return alternatives.map(({ scope, bid, limit }) => ({
    scope,
    bid: decimal(micros(bid)),
    limit: decimal(micros(limit)),
  }));
}
