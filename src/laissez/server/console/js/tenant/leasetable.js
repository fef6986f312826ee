// The table of leases, with what can be done to one or to many.

import { serverNow } from "../api.js";
import { fill, h, say } from "../dom.js";
import { clock, decimal, duration, percent, plural } from "../format.js";
import { Table } from "../table.js";
import { rate, running } from "./figures.js";
import { NEAR, costAt, headroom, isHeld, isNear } from "./holdings.js";
import { limitColumn } from "./limitcell.js";
import { askLimit, relinquish } from "./limits.js";
import { card, pathName, smallButton } from "./parts.js";

export class LeaseTable {
  constructor({ mayTrade }) {
    this.chosen = new Set();
    this.leases = [];
    this.editing = false;
    this.table = new Table({
      caption: "Leases that you hold",
      columns: this.columns(mayTrade),
      key: ({ id }) => id,
      sort: "Leaf",
      row: (row, lease) => row.classList.toggle("near", isNear(lease)),
      empty: mayTrade
        ? [
            "You hold nothing now. ",
            h("a", { href: "#/orders" }, "Place an order"),
            " to win a leaf.",
          ]
        : "Nothing is held now.",
    });
    this.every = h("input", {
      type: "checkbox",
      "aria-label": "Select all leases",
      onchange: () => this.chooseAll(this.every.checked),
    });
    this.bar = h("div", { class: "row choice" });
    const all = mayTrade ? h("label", { class: "row tick" }, this.every, "Select all") : null;
    this.all = all;
    this.element = card(
      { id: "held", title: "Held now", kind: "leases thirds", aside: all },
      this.bar,
      this.table.element,
    );
  }

  columns(mayTrade) {
    const actions = {
      name: "",
      wide: true,
      make: (lease) => [
        button("Set limit", lease, (now) => askLimit([now])),
        button("Relinquish", lease, (now) => relinquish([now])),
      ],
      update: (cell, lease) => [...cell.children].forEach((one) => (one.lease = lease)),
    };
    return [
      {
        name: "Leaf",
        sort: (lease) => lease.leaf,
        make: (lease) => this.name(lease, mayTrade),
        update: (cell, lease) => this.tick(cell, lease),
      },
      {
        name: "Rate now",
        num: true,
        sort: (lease) => lease.rate,
        make: () => [h("span"), h("small", { class: "soft" })],
        update: sayRate,
      },
      limitColumn(mayTrade, (open) => this.edit(open)),
      {
        name: "Headroom",
        sort: (lease) => headroom(lease) ?? Infinity,
        make: makeHeadroom,
        update: sayHeadroom,
      },
      {
        name: "Cost so far",
        num: true,
        sort: (lease) => costAt(lease, serverNow()),
        update: sayCost,
      },
      {
        name: "Age",
        num: true,
        sort: (lease) => -lease.started,
        value: (lease) => duration(serverNow() - lease.started),
      },
      {
        name: "Hold until",
        num: true,
        sort: (lease) => lease.hold ?? 0,
        value: (lease) => (isHeld(lease, serverNow()) ? clock(lease.hold) : "–"),
      },
      ...(mayTrade ? [actions] : []),
    ];
  }

  name(lease, mayTrade) {
    const choose = (event) => this.choose(lease.id, event.target.checked);
    const tick = h("input", {
      type: "checkbox",
      "aria-label": `Select ${lease.leaf}`,
      onchange: choose,
    });
    return h("span", { class: "row name" }, mayTrade ? tick : null, pathName(lease.leaf, lease.id));
  }

  tick(cell, lease) {
    const box = cell.querySelector("input");
    if (box) box.checked = this.chosen.has(lease.id);
  }

  show(leases, list) {
    this.leases = leases;
    if (list && !this.editing) {
      for (const id of this.chosen)
        if (!leases.some((lease) => lease.id === id)) this.chosen.delete(id);
      this.table.show(leases);
      if (this.all) this.all.hidden = leases.length < 2;
      this.sayChoice();
    } else {
      this.table.refresh();
    }
  }

  edit(open) {
    this.editing = open;
    if (!open) this.show(this.leases, true);
  }

  choose(id, on) {
    if (on) this.chosen.add(id);
    else this.chosen.delete(id);
    this.sayChoice();
  }

  chooseAll(on) {
    this.chosen = new Set(on ? this.leases.map(({ id }) => id) : []);
    this.table.refresh();
    this.sayChoice();
  }

  sayChoice() {
    const leases = this.leases.filter(({ id }) => this.chosen.has(id));
    this.every.checked = leases.length > 0 && leases.length === this.leases.length;
    this.every.indeterminate = leases.length > 0 && leases.length < this.leases.length;
    this.bar.hidden = !leases.length;
    if (!leases.length) return;
    const none = () => this.chooseAll(false);
    fill(
      this.bar,
      h("b", {}, `${plural(leases.length, "lease")} selected`),
      smallButton(leases.length > 1 ? "Set limit for all" : "Set limit", () =>
        askLimit(this.picked(), none),
      ),
      smallButton(
        leases.length > 1 ? "Relinquish all" : "Relinquish",
        () => relinquish(this.picked(), none),
        "danger",
      ),
      smallButton("Clear", none, "plain"),
    );
  }

  picked() {
    return this.leases.filter(({ id }) => this.chosen.has(id));
  }
}

function button(text, lease, act) {
  const made = smallButton(text, () => act(made.lease), "plain", {
    "aria-label": `${text}: ${lease.leaf}`,
  });
  return made;
}

/** What presses; and what is charged, where a hold keeps that lower. */
function sayRate(cell, lease) {
  say(cell.children[0], rate(lease.rate));
  cell.title = `$${decimal(lease.rate)} per hour`;
  say(cell.children[1], lease.charged === lease.rate ? "" : `charged ${rate(lease.charged)}`);
}

function sayCost(cell, lease) {
  const now = costAt(lease, serverNow());
  say(cell, running(now));
  cell.title = `$${decimal(now)}`;
}

function makeHeadroom() {
  return h(
    "span",
    { class: "headroom" },
    h("span", { class: "bar" }, h("span")),
    h("span", { class: "num" }),
  );
}

function sayHeadroom(cell, lease) {
  const [bar, text] = cell.firstElementChild.children;
  const left = headroom(lease);
  bar.hidden = left === null;
  say(text, left === null ? "no limit" : percent(Math.max(0, left)));
  const width = `${Math.min(100, Math.max(0, (left ?? 0) * 100)).toFixed(1)}%`;
  if (bar.firstElementChild.style.width !== width) bar.firstElementChild.style.width = width;
  const kind = left < NEAR / 2 ? "bar bad" : left < NEAR ? "bar warn" : "bar";
  if (bar.className !== kind) bar.className = kind;
}
