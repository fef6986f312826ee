// The tenants page: a table of all tenants, or the page of one.

import { button, finder, shareCell, updateShare } from "../components.js";
import { h, setText } from "../dom.js";
import { cost, count, percent, plural } from "../format.js";
import { href } from "../router.js";
import { Table } from "../table.js";
import { poll } from "../timers.js";
import { createTenant } from "./tenant-caps.js";
import { budgetCell, tenantsWithSpending, updateBudget, usedShare } from "./tenant-spending.js";
import { TenantPage } from "./tenant.js";

const EVERY_MS = 5000;

export const tenants = {
  path: "tenants",
  name: "Tenants",
  mount(main, context) {
    const place = h("div", { class: "stack" });
    main.append(place);
    let shown = null;
    let name = null;
    return {
      show([wanted = ""]) {
        if (wanted === name) return name;
        name = wanted;
        shown?.close();
        shown = wanted ? new TenantPage(wanted, context) : new TenantList(context);
        place.replaceChildren(...shown.elements);
        return name;
      },
      close() {
        shown?.close();
      },
    };
  },
};

class TenantList {
  constructor({ feed, mayOperate }) {
    this.tenants = [];
    const order = { sort: "Charges now", descending: true };
    this.table = new Table({
      columns: COLUMNS,
      key: ({ name }) => name,
      caption: "Tenants",
      empty: "No tenants.",
      ...order,
    });
    this.about = h("p", { class: "small soft" }, "\u00a0");
    this.search = finder("Find a tenant", "Find a tenant by name", () => this.draw());
    const create = mayOperate ? button("New tenant", createTenant, "primary") : null;
    this.elements = [
      h("div", { class: "page-head" }, h("h1", {}, "Tenants"), this.search, create),
      h(
        "section",
        { class: "card", "aria-label": "Tenants" },
        h("header", {}, this.about),
        this.table.element,
      ),
    ];
    this.poll = poll(() => this.ask(), EVERY_MS);
    this.stop = feed.onChange(["tenant.", "key.", "budget."], this.poll.now);
  }

  async ask() {
    this.tenants = await tenantsWithSpending();
    this.draw();
  }

  draw() {
    const wanted = this.search.value.trim().toLowerCase();
    const shown = this.tenants.filter(({ name }) => name.toLowerCase().includes(wanted));
    const together = this.tenants.reduce((sum, { rate }) => sum + rate, 0);
    setText(
      this.table.nothing,
      wanted
        ? `No tenant's name contains “${wanted}”.`
        : "No tenants yet. Create one, then issue a key to it.",
    );
    this.table.show(shown);
    const found = wanted ? `${count(shown.length)} of ` : "";
    setText(
      this.about,
      `${found}${plural(this.tenants.length, "tenant")}, charged ${cost(together)}/h in total`,
    );
  }

  close() {
    this.poll.stop();
    this.stop();
  }
}

const updatePart = (cell, { share }) => updateShare(cell, share, percent(share));
const number = (name, field) => ({
  name,
  num: true,
  sort: (tenant) => tenant[field],
  value: (tenant) => count(tenant[field]),
});

const COLUMNS = [
  {
    name: "Tenant",
    sort: ({ name }) => name,
    make: ({ name }) => h("a", { href: href("tenants", name) }, name),
  },
  {
    name: "Spent so far",
    num: true,
    sort: ({ total }) => total,
    value: ({ total }) => cost(total),
  },
  {
    name: "Charges now",
    num: true,
    sort: ({ rate }) => rate,
    value: ({ rate }) => `${cost(rate)}/h`,
  },
  {
    name: "Share",
    num: true,
    sort: ({ share }) => share,
    make: () => shareCell(),
    update: updatePart,
  },
  number("Leases", "leases"),
  number("Open orders", "open_orders"),
  number("Keys", "keys"),
  {
    name: "Budget",
    wide: true,
    sort: ({ budget }) => usedShare(budget),
    make: budgetCell,
    update: (cell, { budget }) => updateBudget(cell, budget),
  },
];
