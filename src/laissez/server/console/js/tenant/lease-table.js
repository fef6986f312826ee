// The table of leases, with actions for one or many of them.

import { serverNow } from "../api.js";
import { card, pathName, smallButton } from "../components.js";
import { toast } from "../dialogs.js";
import { fill, h, setText } from "../dom.js";
import { clock, decimal, duration, percent, plural, rate, running } from "../format.js";
import { Table } from "../table.js";
import { NEAR, costAt, headroom, isHeld, isNear } from "./holdings.js";
import { askLimit, limitText, readLimit, relinquish, setLimit } from "./lease-dialogs.js";

export class LeaseTable {
  constructor({ mayTrade }) {
    this.chosen = new Set();
    this.leases = [];
    this.editing = false;
    this.table = new Table({
      caption: "Current leases",
      columns: this.columns(mayTrade),
      key: ({ id }) => id,
      sort: "GPU",
      row: (row, lease) => row.classList.toggle("near", isNear(lease)),
      empty: mayTrade
        ? ["You have no leases. ", h("a", { href: "#/orders" }, "Place an order"), " to win a GPU."]
        : "No leases.",
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
      { id: "held", title: "Current leases", kind: "leases thirds", aside: all },
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
        name: "GPU",
        sort: (lease) => lease.leaf,
        make: (lease) => this.name(lease, mayTrade),
        update: (cell, lease) => this.tick(cell, lease),
      },
      {
        name: "Rate now",
        num: true,
        sort: (lease) => lease.rate,
        make: () => [h("span"), h("small", { class: "soft" })],
        update: updateRate,
      },
      limitColumn(mayTrade, (open) => this.edit(open)),
      {
        name: "Headroom",
        sort: (lease) => headroom(lease) ?? Infinity,
        make: makeHeadroom,
        update: updateHeadroom,
      },
      {
        name: "Cost so far",
        num: true,
        sort: (lease) => costAt(lease, serverNow()),
        update: updateCost,
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
      this.updateChoice();
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
    this.updateChoice();
  }

  chooseAll(on) {
    this.chosen = new Set(on ? this.leases.map(({ id }) => id) : []);
    this.table.refresh();
    this.updateChoice();
  }

  updateChoice() {
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

/** Show the rate, and the charge where a hold keeps it lower. */
function updateRate(cell, lease) {
  setText(cell.children[0], rate(lease.rate));
  cell.title = `$${decimal(lease.rate)} per hour`;
  setText(cell.children[1], lease.charged === lease.rate ? "" : `charged ${rate(lease.charged)}`);
}

function updateCost(cell, lease) {
  const now = costAt(lease, serverNow());
  setText(cell, running(now));
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

function updateHeadroom(cell, lease) {
  const [bar, text] = cell.firstElementChild.children;
  const left = headroom(lease);
  bar.hidden = left === null;
  setText(text, left === null ? "no limit" : percent(Math.max(0, left)));
  const width = `${Math.min(100, Math.max(0, (left ?? 0) * 100)).toFixed(1)}%`;
  if (bar.firstElementChild.style.width !== width) bar.firstElementChild.style.width = width;
  const kind = left < NEAR / 2 ? "bar bad" : left < NEAR ? "bar warn" : "bar";
  if (bar.className !== kind) bar.className = kind;
}

/**
 * The limit column, editable in place: click, type, Enter; Escape cancels. Calls `editing(open)`,
 * so that rows stay in place while the user types.
 */
function limitColumn(mayTrade, editing) {
  const column = { name: "Limit", num: true, sort: (lease) => lease.limit };
  if (!mayTrade) return { ...column, value: (lease) => limitText(lease.limit) };
  return {
    ...column,
    make: () => h("button", { type: "button", class: "editable" }),
    update(cell, lease) {
      cell.lease = lease;
      const button = cell.firstElementChild;
      if (!button.opens) {
        button.opens = true;
        button.addEventListener("click", () => open(cell, button, editing));
      }
      setText(button, limitText(lease.limit));
      const label = `Change the limit of ${lease.leaf}, ${limitText(lease.limit)}`;
      if (button.getAttribute("aria-label") !== label) button.setAttribute("aria-label", label);
    },
  };
}

function open(cell, button, editing) {
  const { limit, leaf } = cell.lease;
  const input = h("input", {
    class: "input inline",
    value: limit === null ? "none" : decimal(limit),
    inputmode: "decimal",
    "aria-label": `Limit of ${leaf}, dollars per hour, or none`,
    title: "Enter saves, Escape cancels. none: keep the GPU at any price",
  });
  let busy = false;

  async function save() {
    if (busy) return;
    busy = true;
    try {
      const typed = readLimit(input.value);
      if (typed === limit || (await setLimit(cell.lease, typed)) !== false) leave();
    } catch (problem) {
      input.setAttribute("aria-invalid", "true");
      toast(problem.message, "bad");
    }
    busy = false;
  }

  function leave() {
    if (!input.isConnected) return;
    input.remove();
    button.hidden = false;
    button.focus();
    editing(false);
  }

  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    // otherwise the same key would press a button of the dialog that follows
    event.preventDefault();
    if (event.key === "Enter") save();
    else leave();
  });
  input.addEventListener("blur", () =>
    setTimeout(() => !busy && input.isConnected && document.activeElement !== input && leave(), 0),
  );
  button.hidden = true;
  cell.append(input);
  input.select();
  editing(true);
}
