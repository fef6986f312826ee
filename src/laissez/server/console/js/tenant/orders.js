// The orders page: a form, open orders, and quotes.

import { all, at, change, serverNow } from "../api.js";
import { card, pathName, smallButton } from "../components.js";
import { ask, toast } from "../dialogs.js";
import { fill, h } from "../dom.js";
import { knownEvents } from "../event-log.js";
import { duration, micros, ms, rate } from "../format.js";
import { Table } from "../table.js";
import { everySecond, poll, throttled } from "../timers.js";
import { Holdings } from "./holdings.js";
import { alternativesEditor, asGiven, orderForm } from "./order-form.js";
import { PriceBook, quoteTable } from "./quotes.js";

const EVERY_MS = 15_000;
const SOONEST_MS = 1000;
const SHOWN = 3;
const BACK =
  "An amended order goes to the back of the queue: other orders at the same price come first.";

export const orders = { path: "orders", name: "Orders", mount };

function mount(main, { feed, mayTrade }) {
  const prices = new PriceBook(() => {
    quotes.show(prices, holdings.list);
    form?.refresh();
    waiting.refresh();
  });
  const form = mayTrade ? orderForm(prices) : null;
  const waiting = orderTable(mayTrade, prices);
  const quotes = quoteTable(mayTrade, (scope) => form.use(scope));
  const holdings = new Holdings(
    feed,
    (changed) => changed && prices.known && quotes.show(prices, holdings.list),
  );
  const asking = poll(
    async () => waiting.show(await all("/v1/orders"), clippedOrders(feed)),
    EVERY_MS,
  );
  const soon = throttled(asking.now, SOONEST_MS);
  const stops = [feed.onChange(["order.", "lease.started"], soon), everySecond(waiting.refresh)];
  const columns = h(
    "div",
    { class: "order-columns" },
    h("div", { class: "stack" }, form?.element, waiting.element),
    quotes.element,
  );
  fill(main, h("div", { class: "page-head" }, h("h1", {}, "Orders")), columns);
  return {
    close() {
      prices.close();
      holdings.close();
      asking.stop();
      soon.stop();
      stops.forEach((stop) => stop());
    },
  };
}

/** The IDs of clipped orders. Orders do not have that field, but their events do. */
function clippedOrders(feed) {
  const clipped = new Set();
  for (const { event } of knownEvents(feed)) {
    if (event.clipped) clipped.add(event.order);
    else if (event.clipped === false) clipped.delete(event.order);
  }
  return clipped;
}

/**
 * The table of open orders. Returns {element, show(orders, clipped), refresh()}; `clipped` has the
 * IDs of orders whose bid a band clipped.
 */
function orderTable(mayTrade, prices) {
  const columns = [
    {
      name: "Alternatives",
      wide: true,
      update: (cell, order) => updateAlternatives(cell, order, prices),
    },
    {
      name: "Age",
      num: true,
      sort: ({ placed_at: placed }) => -ms(placed),
      value: ({ placed_at: placed }) => duration(serverNow() - ms(placed)),
    },
    { name: "Order", update: updateOrder },
  ];
  if (mayTrade) {
    columns.push({
      name: "",
      make: ({ id }) => [
        action("Amend", id, (order) => amend(order, prices)),
        action("Cancel", id, cancel),
      ],
      update: (cell, order) => [...cell.children].forEach((one) => (one.order = order)),
    });
  }
  const empty = mayTrade ? "No open orders. Place one above." : "No open orders.";
  const table = new Table({ caption: "Open orders", columns, key: ({ id }) => id, empty });
  const count = h("span", { class: "tag" });
  const element = card({ id: "open", title: "Open orders", aside: count }, table.element);
  return {
    element,
    refresh: () => table.refresh(),
    show(orders, clipped) {
      table.show(orders.map((order) => ({ ...order, clipped: clipped.has(order.id) })));
      count.textContent = String(orders.length);
      count.hidden = !orders.length;
    },
  };
}

function action(text, id, act) {
  const made = smallButton(text, () => act(made.order), "plain", { "aria-label": `${text} ${id}` });
  return made;
}

function updateOrder(cell, { id, clipped }) {
  if (cell.shown === `${id}${clipped}`) return;
  cell.shown = `${id}${clipped}`;
  const tag = h(
    "span",
    { class: "tag warn", title: "The operator's rise band lowered your bid" },
    "clipped",
  );
  fill(cell, h("code", {}, id), clipped ? [" ", tag] : null);
}

/** Show up to three alternatives and fold the rest. An open fold stays open. */
function updateAlternatives(cell, { alternatives }, prices) {
  const shown = JSON.stringify(alternatives);
  if (cell.shown !== shown) {
    cell.shown = shown;
    const rest = alternatives.slice(SHOWN);
    const more = rest.length
      ? h("details", {}, h("summary", {}, `${rest.length} more`), rest.map(alternative))
      : null;
    fill(
      cell,
      h(
        "div",
        { class: "order-alternatives" },
        alternatives.slice(0, SHOWN).map(alternative),
        more,
      ),
    );
  }
  for (const quote of cell.querySelectorAll(".quote")) {
    const price = prices.quote(quote.dataset.scope);
    const text =
      price === undefined ? "" : price === null ? "none available" : `quote ${rate(price)}`;
    if (quote.textContent !== text) quote.textContent = text;
  }
}

function alternative({ scope, bid, limit }) {
  const follows =
    bid === limit
      ? `up to ${rate(micros(limit))}`
      : `bid ${rate(micros(bid))}, up to ${rate(micros(limit))}`;
  const quote = h("span", { class: "quote soft small", "data-scope": scope });
  return h(
    "div",
    { class: "order-alternative" },
    pathName(scope),
    h("span", { class: "num" }, follows),
    quote,
  );
}

async function cancel({ id, alternatives }) {
  const wants = `This order is for ${alternatives.map(({ scope }) => scope).join(" or ")}.`;
  const fee = "If the operator has set a flash fee, cancelling early may cost that fee.";
  await ask({
    title: `Cancel ${id}?`,
    body: h("p", {}, `${wants} ${fee}`),
    confirm: "Cancel the order",
    cancel: "Keep it",
    danger: true,
    act: async () => {
      await change("DELETE", at("/v1/orders", id));
      toast(`${id} cancelled.`);
    },
  });
}

function amend({ id, alternatives }, prices) {
  const editor = alternativesEditor(prices, () => {}, asGiven(alternatives));
  return ask({
    title: `Amend ${id}`,
    body: [h("p", { class: "notice" }, BACK), editor.element],
    confirm: "Amend",
    ready: (_, dialog) => dialog.classList.add("broad"),
    act: async () => {
      const done = await change("PUT", at("/v1/orders", id), { alternatives: editor.read() });
      toast(
        done.state === "filled"
          ? `${id} won ${done.leaf} at ${rate(micros(done.rate))}.`
          : `${id} amended; it is still open.`,
      );
    },
  });
}
