// Placing orders: alternatives, how many, and at once what became of each.

import { change } from "../api.js";
import { fill, h, say } from "../dom.js";
import { dollars, micros } from "../format.js";
import { field } from "../messages.js";
import { alternativesEditor } from "./alternatives.js";
import { sendAll } from "./batch.js";
import { rate } from "./figures.js";
import { card, pathName } from "./parts.js";

const COUNT_MAX = 100;

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
    say(send, number > 1 ? `Place ${number} orders` : "Place order");
    say(
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
