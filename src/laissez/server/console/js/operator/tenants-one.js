// One tenant: what it holds, wants and pays, what happened to it, and what it may do.

import { address, all } from "../api.js";
import { h, keyed, say } from "../dom.js";
import { eventsHref, matcher, NOTHING } from "../eventfilter.js";
import { EventLog } from "../eventlog.js";
import { eventRow } from "../eventrows.js";
import { count, cost, decimal, moment, percent, plural } from "../format.js";
import { poll } from "../poll.js";
import { href } from "../router.js";
import { Table } from "../table.js";
import { card } from "./parts.js";
import { budgetCell, sayBudget } from "./tenants-budget.js";
import { CAPS, capText, isCapped, setCaps } from "./tenants-caps.js";
import { TenantsKeys } from "./tenants-keys.js";
import { leaseColumns, orderColumns } from "./tenants-columns.js";
import { tenantsWithSpending } from "./tenants-list.js";

const HELD_MS = 4000;
const SPENT_MS = 5000;
const HELD_MOST = 1000;
const EVENTS_SHOWN = 20;

export class TenantsOne {
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

  /** Only once it is known that there is such a tenant. */
  open() {
    this.leases = held("Leases", "lease", leaseColumns(), "It holds nothing now.");
    this.orders = held(
      "Open orders",
      "order",
      orderColumns(),
      "It wants nothing now: no order is open.",
    );
    this.facts = FACTS.map(() => h("dd", {}, "–"));
    const keys = this.run(new TenantsKeys(this.name, this.context));
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
    const list = h(
      "dl",
      { class: "facts" },
      FACTS.map(([label], i) => h("div", {}, h("dt", {}, label), this.facts[i])),
    );
    this.budget = h("div", {}, budgetCell());
    const budget = h(
      "div",
      { class: "budget-line" },
      h("span", { class: "small soft" }, "Budget"),
      this.budget,
    );
    return card(
      h("h2", {}, "Spending"),
      [this.file("csv", "Bill as CSV"), this.file("focus", "Bill as FOCUS")],
      list,
      budget,
    );
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
    const change = this.context.mayOperate
      ? h("button", { class: "button small", type: "button", onclick: act }, "Set caps")
      : null;
    const list = h(
      "dl",
      { class: "facts" },
      CAPS.map(([, label], i) => h("div", {}, h("dt", {}, label), this.capValues[i])),
    );
    return card(h("h2", {}, "Caps"), change, list);
  }

  happened() {
    const list = h("ol", { class: "events" });
    const nothing = h("p", { class: "empty" }, "Looking for its last events …");
    const matches = matcher({ ...NOTHING, tenant: this.name });
    const draw = () => {
      const rows = this.log.newest(matches, Infinity, EVENTS_SHOWN);
      keyed(
        list,
        rows,
        ({ n }) => n,
        (told) => eventRow(told, true),
      );
      list.hidden = !rows.length;
      nothing.hidden = rows.length > 0;
      if (rows.length < EVENTS_SHOWN && this.log.events.length)
        this.lookBack(matches, nothing, draw);
    };
    this.log = this.run(new EventLog(this.context.feed, draw));
    draw();
    return card(
      h("h2", {}, "Last events"),
      h("a", { href: eventsHref({ tenant: this.name }) }, "All its events"),
      list,
      nothing,
    );
  }

  /** Once: whoever did nothing for long has its last events far back. */
  async lookBack(matches, nothing, draw) {
    if (this.lookedBack) return;
    this.lookedBack = true;
    await this.log.older(matches).catch(() => {});
    say(nothing, "Nothing happened to it of late.");
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
    say(this.problem, found ? "" : `There is no tenant named ${this.name}.`);
    if (!found || this.isClosed) return;
    this.tenant = found;
    if (!this.leases) this.open();
    say(this.created, `since ${moment(found.created_at)}`);
    FACTS.forEach(([, value], i) => say(this.facts[i], value(found)));
    CAPS.forEach(([cap], i) => {
      say(this.capValues[i], capText(found.caps, cap));
      this.capValues[i].classList.toggle("plain", !isCapped(found.caps, cap));
    });
    this.facts[0].title = `$${decimal(found.total)}`;
    sayBudget(this.budget, found.budget);
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

/** A card with a table of what a tenant has; only the first so many are listed. */
function held(title, one, columns, empty) {
  const table = new Table({
    columns,
    key: ({ id }) => id,
    caption: title,
    empty,
    sort: columns[0].name,
  });
  const number = h("span", { class: "small soft" });
  const element = card(h("h2", {}, title), number, h("div", { class: "tall" }, table.element));
  function show(items) {
    table.show(items);
    say(
      number,
      items.length < HELD_MOST ? plural(items.length, one) : `the first ${count(HELD_MOST)}`,
    );
  }
  return { element, show };
}
