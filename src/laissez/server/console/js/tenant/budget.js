// budget

import { change, get, serverNow } from "../api.js";
import { field } from "../components.js";
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

/** What happens at 100 %: the API's word, what it is called, what it does, and what the tile says before and after. */
const ACTIONS = [
  [
    "warn",
    "Warn only",
    "Events tell at 50, 80 and 100 %. Nothing is stopped.",
    "then only a warning",
    "nothing is stopped",
  ],
  [
    "no_new_orders",
    "No new orders",
    "Orders that wait are cancelled and none are taken. Leases stay.",
    "then no new orders",
    "no new orders",
  ],
  [
    "limits_to_floor",
    "Limits fall to the floor",
    "As before, and every limit falls to the floor: you keep only what nobody else wants, and nothing that is under a minimum hold.",
    "then limits fall",
    "limits are at the floor",
  ],
  [
    "relinquish",
    "Give everything up",
    "As before, and every lease ends at that instant. Spending stops.",
    "then all is given up",
    "all was given up",
  ],
];

/** A tile that shows the budget. Gives {element, tick(), close()}. */
export function budgetTile({ feed, mayTrade }) {
  const value = h("div", { class: "value" }, "–");
  const bar = h(
    "div",
    { class: "bar", role: "progressbar", "aria-label": "Budget used", hidden: true },
    h("span"),
  );
  const note = h("div", { class: "note" });
  const act = h("button", { type: "button", class: "button small plain" });
  const element = h(
    "div",
    { class: "tile mine" },
    h("div", { class: "label row" }, "Budget", mayTrade ? act : null),
    value,
    bar,
    note,
  );
  let budget; // undefined: not known yet; null: none is set
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
  act.addEventListener("click", () => askBudget(budget ?? null, budget ? spentBy(serverNow()) : 0));
  tick();

  function spentBy(now) {
    return Math.floor(micros(budget.spent) + costOf(micros(budget.rate_now), now - asOf));
  }

  function tick() {
    if (budget === undefined) return;
    bar.hidden = budget === null;
    fill(act, budget ? "Change" : "Set a budget");
    if (budget === null) {
      setText(value, "None set");
      setText(note, "What you mean to spend, and how long it lasts");
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
      `${percent(share)} of ${dollars(amount, 2)}, ${projected(budget, share, now)}${consequence(budget)}`,
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
    return end === null ? "nothing is left" : `used up ${moment(end)}`;
  if (end === null || ms(end) - now > 3650 * 86_400_000) return "years at this rate";
  return `until ${moment(end)} at this rate`;
}

function consequence({ action, state }) {
  const [, , , then, since] = ACTIONS.find(([name]) => name === action) ?? [];
  return then ? `; ${state === "spent" ? since : then}` : "";
}

async function found() {
  const { data } = await get("/v1/spending");
  return data[0].budget;
}

/** What a changed budget counts: the word for it here, what it is called, and what it means. */
function countings(spent, since) {
  return [
    [
      "keep",
      `Count on: ${cost(spent)} spent so far`,
      `As until now, since ${moment(since)}. An amount below that is spent at once.`,
    ],
    [
      "anew",
      "Start again from zero",
      "What was spent so far no longer counts: the whole amount may be spent from now on.",
    ],
  ];
}

/** One of several, each with a line about it. Gives {element, value()}. */
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
    ? choice("What counts", "budget-counted", countings(spent, budget.since), "keep")
    : null;
  const chosen = choice("When it is spent", "budget-action", ACTIONS, budget?.action ?? "warn");
  const remove = h("button", { type: "button", class: "button danger" }, "Remove the budget");
  let dialog;
  remove.addEventListener("click", async () => {
    try {
      await change("DELETE", "/v1/budget");
      dialog.close();
      toast("The budget is removed.");
    } catch (problem) {
      typed.error(problem.message);
    }
  });
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
      `The budget is ${dollars(amount, 2)}${keep ? `; ${cost(now.spent)} spent so far.` : " from now on."}`,
    );
  }
  return ask({
    title: budget ? "Change the budget" : "Set a budget",
    body: [typed.element, counted?.element, chosen.element, budget ? h("div", {}, remove) : null],
    confirm: budget ? "Change it" : "Set it",
    act,
    ready: (_, opened) => (dialog = opened),
  });
}

/** A tile that shows them. Gives {element, close()}. */
export function capsTile({ feed, mayTrade }) {
  const value = h("div", { class: "value" }, "–");
  const note = h("div", { class: "note" });
  const act = h(
    "button",
    { type: "button", class: "button small plain", onclick: () => caps && askCaps(caps) },
    "Set caps",
  );
  const element = h(
    "div",
    { class: "tile mine" },
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

/** How much of each is taken. An order counts with its limit in both. */
function texts({ in_force: most, rate_now: rate, worst_rate_now: worst }) {
  return [
    most.worst_rate === null ? null : `${hourly(worst)} by your limits`,
    most.rate === null ? null : `${hourly(rate)} of ${hourly(most.rate)} charged and ordered`,
  ].filter(Boolean);
}

function askCaps({ own, operator }) {
  const most = (cap) => (cap === null ? "" : ` The operator allows ${perHour(cap)} at most.`);
  const fields = {
    rate: field(
      "Charged now, $/h",
      shown(own.rate),
      `What your leases are charged, and the limits of your orders.${most(operator.rate)}`,
    ),
    worst_rate: field(
      "At worst, $/h",
      shown(own.worst_rate),
      `The limits of your leases and orders, whatever anyone bids.${most(operator.worst_rate)}`,
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
    "A cap ends nothing: it refuses what would come to more. Leave a field empty for no cap of your own.",
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
