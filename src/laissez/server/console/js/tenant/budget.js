// The tiles and dialogs of a tenant's budget and caps.

import { change, get, serverNow } from "../api.js";
import { button, field, smallButton } from "../components.js";
import { ask, toast } from "../dialogs.js";
import { fill, h, setText } from "../dom.js";
import {
  cost,
  decimal,
  dollars,
  micros,
  moment,
  ms,
  perHour,
  percent,
  readMoney,
} from "../format.js";
import { poll, throttled } from "../timers.js";
import { costOf } from "./holdings.js";

const EVERY_MS = 30_000;
const AMOUNT_MAX = 1_000_000_000 * 1_000_000;
const CAPS_EVERY_MS = 15_000;
const CAPS_SOONEST_MS = 2000;
const CAP_MAX = 1_000_000_000 * 1_000_000;

/**
 * The actions at 100 %: [name in the API, label, explanation, text of the tile before, and after].
 */
const ACTIONS = [
  [
    "warn",
    "Warn only",
    "Events warn at 50, 80 and 100 %. Nothing stops.",
    "then only a warning",
    "nothing stops",
  ],
  [
    "no_new_orders",
    "No new orders",
    "Open orders are cancelled, and new ones are refused. Leases stay.",
    "then no new orders",
    "no new orders",
  ],
  [
    "limits_to_floor",
    "Lower limits to the floor",
    "No new orders, and every limit falls to the floor: you keep only GPUs that nobody " +
      "else bids for, and none that are under a minimum hold.",
    "then limits fall to the floor",
    "limits are at the floor",
  ],
  [
    "relinquish",
    "Relinquish all leases",
    "No new orders, and every lease ends at once. Spending stops.",
    "then all leases are relinquished",
    "all leases were relinquished",
  ],
];

/** The tile of the budget. Returns {element, tick(), close()}. */
export function budgetTile({ feed, mayTrade }) {
  const value = h("div", { class: "value" }, "–");
  const bar = h(
    "div",
    { class: "bar", role: "progressbar", "aria-label": "Budget used", hidden: true },
    h("span"),
  );
  const note = h("div", { class: "note" });
  const act = smallButton(
    "",
    () => askBudget(budget ?? null, budget ? spentBy(serverNow()) : 0),
    "plain",
  );
  const element = h(
    "div",
    { class: "tile with-action" },
    h("div", { class: "label row" }, "Budget", mayTrade ? act : null),
    value,
    bar,
    note,
  );
  let budget; // undefined: not known yet; null: none set
  let asOf = 0;

  const asking = poll(async () => {
    budget = await found();
    asOf = serverNow();
    tick();
  }, EVERY_MS);
  const stop = feed.onChange(["budget."], () => {
    budget = undefined;
    asking.now();
  });
  tick();

  function spentBy(now) {
    return Math.floor(micros(budget.spent) + costOf(micros(budget.rate_now), now - asOf));
  }

  function tick() {
    if (budget === undefined) return;
    bar.hidden = budget === null;
    fill(act, budget ? "Change" : "Set a budget");
    if (budget === null) {
      setText(value, "No budget");
      setText(note, "An amount to spend, and how long it lasts");
      return;
    }
    const now = serverNow();
    const amount = micros(budget.amount);
    const spent = spentBy(now);
    const share = spent / amount;
    setText(value, dollars(spent, 2));
    value.title = `counted since ${budget.since}`;
    bar.className = `bar ${share >= 1 ? "bad" : share > 0.8 ? "warn" : ""}`;
    bar.firstElementChild.style.width = `${Math.min(100, share * 100).toFixed(1)}%`;
    bar.setAttribute("aria-valuenow", String(Math.round(Math.min(1, share) * 100)));
    setText(
      note,
      `${percent(share)} of ${dollars(amount, 2)}, ` +
        `${projected(budget, share, now)}${consequence(budget)}`,
    );
  }

  return {
    element,
    tick,
    close() {
      asking.stop();
      stop();
    },
  };
}

function projected({ ends_at: end, state }, share, now) {
  if (share >= 1 || state === "spent")
    return end === null ? "nothing left" : `used up ${moment(end)}`;
  if (end === null || ms(end) - now > 3650 * 86_400_000) return "lasts years at this rate";
  return `lasts until ${moment(end)} at this rate`;
}

function consequence({ action, state }) {
  const [, , , then, since] = ACTIONS.find(([name]) => name === action) ?? [];
  return then ? `; ${state === "spent" ? since : then}` : "";
}

async function found() {
  const { data } = await get("/v1/spending");
  return data[0].budget;
}

/** What a changed budget counts: [value, label, explanation]. */
function countChoices(spent, since) {
  return [
    [
      "keep",
      `Keep counting: ${cost(spent)} spent so far`,
      `Counted since ${moment(since)}. A smaller amount is spent at once.`,
    ],
    [
      "anew",
      "Start again from zero",
      "Past spending no longer counts: the whole amount is available from now on.",
    ],
  ];
}

/** Radio buttons, each with an explanation. Returns {element, value()}. */
function choice(legend, name, choices, first) {
  const labels = choices.map(([value, label, about]) => {
    const radio = h("input", { type: "radio", name, value, checked: value === first });
    return h(
      "label",
      {},
      radio,
      h("span", {}, h("b", {}, label), h("br"), h("span", { class: "small soft" }, about)),
    );
  });
  const element = h("fieldset", { class: "checks" }, h("legend", {}, legend), labels);
  return { element, value: () => element.querySelector(":checked").value };
}

function askBudget(budget, spent) {
  const before = budget ? decimal(micros(budget.amount)) : "";
  const typed = field(
    "Dollars",
    { value: before, inputmode: "decimal", required: true },
    budget ? "" : "Counted from now on.",
  );
  const counted = budget
    ? choice("What counts", "budget-counted", countChoices(spent, budget.since), "keep")
    : null;
  const chosen = choice(
    "When the budget is spent",
    "budget-action",
    ACTIONS,
    budget?.action ?? "warn",
  );
  const remove = button("Remove the budget", removeBudget, "danger");
  let dialog;

  async function removeBudget() {
    try {
      await change("DELETE", "/v1/budget");
      dialog.close();
      toast("The budget is removed.");
    } catch (problem) {
      typed.error(problem.message);
    }
  }

  async function act() {
    const amount = readMoney(typed.input.value, AMOUNT_MAX);
    if (amount === 0) throw new Error("Expected more than $0.");
    const keep = counted?.value() === "keep";
    const now = await change("PUT", "/v1/budget", {
      amount: decimal(amount),
      action: chosen.value(),
      keep,
    });
    toast(
      keep
        ? `The budget is ${dollars(amount, 2)}; ${cost(now.spent)} spent so far.`
        : `The budget is ${dollars(amount, 2)} from now on.`,
    );
  }
  return ask({
    title: budget ? "Change the budget" : "Set a budget",
    body: [typed.element, counted?.element, chosen.element, budget ? h("div", {}, remove) : null],
    confirm: budget ? "Change budget" : "Set budget",
    act,
    ready: (_, opened) => (dialog = opened),
  });
}

/** The tile of the caps. Returns {element, close()}. */
export function capsTile({ feed, mayTrade }) {
  const value = h("div", { class: "value" }, "–");
  const note = h("div", { class: "note" });
  const act = smallButton("Set caps", () => caps && askCaps(caps), "plain");
  const element = h(
    "div",
    { class: "tile with-action" },
    h("div", { class: "label row" }, "Most per hour", mayTrade ? act : null),
    value,
    note,
  );
  let caps = null;
  const asking = poll(async () => {
    caps = await get("/v1/caps");
    const { rate, worst_rate: worst } = caps.in_force;
    setText(value, worst !== null ? hourly(worst) : rate !== null ? hourly(rate) : "No cap");
    setText(note, texts(caps).join("; ") || `your limits come to ${hourly(caps.worst_rate_now)}`);
  }, CAPS_EVERY_MS);
  const soon = throttled(asking.now, CAPS_SOONEST_MS);
  const stops = [feed.onChange(["caps."], asking.now), feed.onChange(["lease.", "order."], soon)];
  return {
    element,
    close() {
      asking.stop();
      soon.stop();
      stops.forEach((stop) => stop());
    },
  };
}

const hourly = (text) => `${dollars(micros(text), 2)}/h`;

/** How much of each cap is used. An order counts with its limit in both. */
function texts({ in_force: most, rate_now: rate, worst_rate_now: worst }) {
  return [
    most.worst_rate === null ? null : `${hourly(worst)} by your limits`,
    most.rate === null ? null : `${hourly(rate)} of ${hourly(most.rate)} by charges and orders`,
  ].filter(Boolean);
}

function askCaps({ own, operator }) {
  const most = (cap) => (cap === null ? "" : ` The operator allows at most ${perHour(cap)}.`);
  const fields = {
    rate: field(
      "Charged now, $/h",
      shown(own.rate),
      `The charges of your leases and the limits of your orders.${most(operator.rate)}`,
    ),
    worst_rate: field(
      "Worst case, $/h",
      shown(own.worst_rate),
      `The limits of your leases and orders.${most(operator.worst_rate)}`,
    ),
  };
  const read = (text) => (text.trim() ? decimal(readMoney(text, CAP_MAX)) : null);
  const act = async () => {
    await change("PUT", "/v1/caps", {
      rate: read(fields.rate.input.value),
      worst_rate: read(fields.worst_rate.input.value),
    });
    toast("Your caps are set.");
  };
  const about = h(
    "p",
    { class: "small soft" },
    "The market refuses orders and limits that would exceed a cap. A cap ends no lease. " +
      "Leave a field empty for no cap of your own.",
  );
  return ask({
    title: "Most per hour",
    body: [about, fields.rate.element, fields.worst_rate.element],
    confirm: "Set caps",
    act,
  });
}

function shown(cap) {
  return { value: cap ?? "", inputmode: "decimal", placeholder: "none" };
}
