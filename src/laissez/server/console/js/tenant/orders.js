// Orders: those that wait, new ones, and the quotes that tell what to ask for.

import { all } from "../api.js";
import { fill, h } from "../dom.js";
import { poll } from "../poll.js";
import { Holdings } from "./holdings.js";
import { orderForm } from "./orderform.js";
import { orderTable } from "./ordertable.js";
import { everySecond, paced } from "./parts.js";
import { pastEvents } from "./past.js";
import { PriceBook } from "./prices.js";
import { quoteTable } from "./quotetable.js";

const EVERY_MS = 15_000;
const SOONEST_MS = 1000;

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
  const soon = paced(asking.now, SOONEST_MS);
  const stops = [feed.onChange(["order.", "lease.started"], soon), everySecond(waiting.refresh)];
  const desk = h(
    "div",
    { class: "desk" },
    h("div", { class: "stack" }, form?.element, waiting.element),
    quotes.element,
  );
  fill(main, h("div", { class: "page-head" }, h("h1", {}, "Orders")), desk);
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

/** An open order does not say whether it was clipped; the last event about it did. */
function clippedOrders(feed) {
  const clipped = new Set();
  for (const { event } of pastEvents(feed)) {
    if (event.clipped) clipped.add(event.order);
    else if (event.clipped === false) clipped.delete(event.order);
  }
  return clipped;
}
