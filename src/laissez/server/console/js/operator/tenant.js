// The page of one tenant: spending, leases, orders, keys, caps and last events.

import { address, all } from "../api.js";
import { card, factList, smallButton } from "../components.js";
import { h, keyed, setText } from "../dom.js";
import { NO_FILTER, eventsHref, matcher } from "../event-filter.js";
import { EventLog } from "../event-log.js";
import { eventRow } from "../event-text.js";
import { cost, count, decimal, micros, moment, perHour, percent, plural } from "../format.js";
import { href } from "../router.js";
import { Table } from "../table.js";
import { poll } from "../timers.js";
import { CAPS, capText, isCapped, setCaps } from "./tenant-caps.js";
import { KeysCard } from "./tenant-keys.js";
import { budgetCell, tenantsWithSpending, updateBudget } from "./tenant-spending.js";

const HELD_MS = 4000;
const SPENT_MS = 5000;
const HELD_MOST = 1000;
const EVENTS_SHOWN = 20;
const NEAR = 0.1; // share of the limit

export class TenantPage {
  constructor(name, context) {
    this.name = name;
    this.context = context;
    this.created = h("span", { class: "soft" });
    this.problem = h("p", { class: "problem", role: "alert", hidden: true });
    this.body = h("div", { class: "stack" });
    this.elements = [this.head(), this.problem, this.body];
    this.running = [];
    this.spent = this.run(poll(() => this.askSpent(), SPENT_MS));
    this.run({ stop: context.feed.onChange(["tenant.", "budget."], this.spent.now) });
  }

  run(one) {
    this.running.push(one);
    return one;
  }

  /** Build the page, once the tenant is known to exist. */
  open() {
    this.leases = held("Leases", "lease", leaseColumns(), "No leases.");
    this.orders = held("Open orders", "order", orderColumns(), "No open orders.");
    this.facts = FACTS.map(() => h("dd", {}, "–"));
    const keys = this.run(new KeysCard(this.name, this.context));
    const below = h("div", { class: "columns" }, keys.element, this.caps());
    this.body.append(
      this.money(),
      this.leases.element,
      this.orders.element,
      below,
      this.happened(),
    );
    this.run(poll(() => this.askHeld(), HELD_MS));
  }

  head() {
    const up = [
      h("a", { class: "up", href: href("tenants") }, "Tenants"),
      h("span", { class: "up", "aria-hidden": "true" }, " / "),
    ];
    return h("div", { class: "page-head" }, h("h1", {}, up, this.name), this.created);
  }

  money() {
    const list = factList(FACTS.map(([label], i) => [label, this.facts[i]]));
    this.budget = h("div", {}, budgetCell());
    const budget = h(
      "div",
      { class: "budget-line" },
      h("span", { class: "small soft" }, "Budget"),
      this.budget,
    );
    const files = [this.file("csv", "Bill as CSV"), this.file("focus", "Bill as FOCUS")];
    return card({ title: "Spending", aside: files }, list, budget);
  }

  file(format, label) {
    const path = address("/v1/bills", { tenant: this.name, format });
    return h(
      "a",
      { class: "button small", href: path, download: `${this.name}-${format}.csv` },
      label,
    );
  }

  caps() {
    this.capValues = CAPS.map(() => h("dd", {}, "–"));
    const act = () => setCaps(this.tenant).then(this.spent.now);
    const change = this.context.mayOperate ? smallButton("Set caps", act) : null;
    const list = factList(CAPS.map(([, label], i) => [label, this.capValues[i]]));
    return card({ title: "Caps", aside: change }, list);
  }

  happened() {
    const list = h("ol", { class: "events" });
    const nothing = h("p", { class: "empty" }, "Loading events …");
    const matches = matcher({ ...NO_FILTER, tenant: this.name });
    const draw = () => {
      const rows = this.log.newest(matches, Infinity, EVENTS_SHOWN);
      keyed(
        list,
        rows,
        ({ n }) => n,
        (entry) => eventRow(entry, true),
      );
      list.hidden = !rows.length;
      nothing.hidden = rows.length > 0;
      if (rows.length < EVENTS_SHOWN && this.log.events.length)
        this.lookBack(matches, nothing, draw);
    };
    this.log = this.run(new EventLog(this.context.feed, draw));
    draw();
    const all = h("a", { href: eventsHref({ tenant: this.name }) }, "All events");
    return card({ title: "Last events", aside: all }, list, nothing);
  }

  /** Fetch older events, once: those of an idle tenant may be far back. */
  async lookBack(matches, nothing, draw) {
    if (this.lookedBack) return;
    this.lookedBack = true;
    await this.log.older(matches).catch(() => {});
    setText(nothing, "No recent events.");
    draw();
  }

  async askHeld() {
    const wanted = { tenant: this.name };
    const [leases, orders] = await Promise.all([
      all("/v1/leases", wanted, HELD_MOST),
      all("/v1/orders", wanted, HELD_MOST),
    ]);
    this.leases.show(leases);
    this.orders.show(orders);
  }

  async askSpent() {
    const found = (await tenantsWithSpending()).find(({ name }) => name === this.name);
    this.problem.hidden = Boolean(found);
    setText(this.problem, found ? "" : `There is no tenant named ${this.name}.`);
    if (!found || this.isClosed) return;
    this.tenant = found;
    if (!this.leases) this.open();
    setText(this.created, `since ${moment(found.created_at)}`);
    FACTS.forEach(([, value], i) => setText(this.facts[i], value(found)));
    CAPS.forEach(([cap], i) => {
      setText(this.capValues[i], capText(found.caps, cap));
      this.capValues[i].classList.toggle("plain", !isCapped(found.caps, cap));
    });
    this.facts[0].title = `$${decimal(found.total)}`;
    updateBudget(this.budget, found.budget);
  }

  close() {
    this.isClosed = true;
    for (const one of this.running) one.close ? one.close() : one.stop();
  }
}

const FACTS = [
  ["Spent so far", ({ total }) => cost(total)],
  ["Charges now", ({ rate }) => `${cost(rate)}/h`],
  ["Share of all charges", ({ share }) => percent(share, 1)],
  ["Leases", ({ leases }) => count(leases)],
  ["Open orders", ({ open_orders }) => count(open_orders)],
];

/** A card with a table of a tenant's leases or orders, up to HELD_MOST. */
function held(title, one, columns, empty) {
  const table = new Table({
    columns,
    key: ({ id }) => id,
    caption: title,
    empty,
    sort: columns[0].name,
  });
  const number = h("span", { class: "small soft" });
  const element = card({ title, aside: number }, h("div", { class: "tall" }, table.element));
  function show(items) {
    table.show(items);
    setText(
      number,
      items.length < HELD_MOST ? plural(items.length, one) : `the first ${count(HELD_MOST)}`,
    );
  }
  return { element, show };
}

/** How far the rate is below the limit, as a share of the limit; null without a limit. */
function headroom({ rate, limit }) {
  return limit === null ? null : micros(limit) ? (micros(limit) - micros(rate)) / micros(limit) : 0;
}

function updateRate(cell, { rate, charged }) {
  setText(
    cell,
    charged === rate ? perHour(rate) : `${perHour(charged)} (held; rate ${perHour(rate)})`,
  );
}

function updateHeadroom(cell, lease) {
  const left = headroom(lease);
  cell.classList.toggle("warn", left !== null && left < NEAR);
  setText(cell, left === null ? "–" : percent(left));
}

function when(at) {
  return h("span", { title: at }, moment(at));
}

function leaseColumns() {
  return [
    {
      name: "GPU",
      sort: ({ leaf }) => leaf,
      make: ({ leaf, id }) => h("a", { href: href("map", leaf), title: id }, leaf),
    },
    { name: "Rate", num: true, sort: ({ rate }) => micros(rate), update: updateRate },
    {
      name: "Limit",
      num: true,
      sort: ({ limit }) => micros(limit) ?? Infinity,
      value: ({ limit }) => (limit === null ? "none" : perHour(limit)),
    },
    { name: "Headroom", num: true, sort: headroom, update: updateHeadroom },
    {
      name: "Cost so far",
      num: true,
      sort: ({ cost: text }) => micros(text),
      value: ({ cost: text }) => cost(text),
    },
    {
      name: "Since",
      num: true,
      sort: ({ started_at }) => started_at,
      make: ({ started_at }) => when(started_at),
    },
  ];
}

function orderColumns() {
  return [
    { name: "Order", sort: ({ id }) => id, make: ({ id }) => h("code", {}, id) },
    {
      name: "Alternatives",
      wide: true,
      make: () => h("ul", { class: "wants" }),
      update: updatePlaces,
    },
    {
      name: "Placed",
      num: true,
      sort: ({ placed_at }) => placed_at,
      make: ({ placed_at }) => when(placed_at),
    },
  ];
}

/** Write the alternatives again only after the order was amended. */
function updatePlaces(cell, { alternatives }) {
  const said = JSON.stringify(alternatives);
  if (cell.said === said) return;
  cell.said = said;
  const prices = ({ bid, limit }) =>
    bid === limit ? ` bid ${perHour(bid)}` : ` bid ${perHour(bid)}, up to ${perHour(limit)}`;
  const one = (wanted) =>
    h("li", {}, h("a", { href: href("map", wanted.scope) }, wanted.scope), prices(wanted));
  cell.firstElementChild.replaceChildren(...alternatives.map(one));
}
