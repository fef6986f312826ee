// The budget: what somebody means to spend, and how far that got. It only tells.

import { change, get, serverNow } from "../api.js";
import { fill, h, say } from "../dom.js";
import { decimal, dollars, micros, moment, percent } from "../format.js";
import { ask, field, toast } from "../messages.js";
import { poll } from "../poll.js";
import { charge, ms, readMoney } from "./figures.js";

const EVERY_MS = 30_000;
const AMOUNT_MAX = 9_000_000_000 * 1_000_000;

/** A tile that shows the budget. Gives {element, tick(), close()}. */
export function budgetTile({ feed, mayTrade }) {
  const value = h("div", { class: "value" }, "–");
  const bar = h("div", { class: "bar", role: "progressbar", "aria-label": "Budget used", hidden: true }, h("span"));
  const note = h("div", { class: "note" });
  const act = h("button", { type: "button", class: "button small plain" });
  const element = h("div", { class: "tile mine" }, h("div", { class: "label row" }, "Budget", mayTrade ? act : null), value, bar, note);
  let budget; // undefined: not known yet; null: none is set
  let asOf = 0;

  const asking = poll(async () => {
    budget = await found();
    asOf = serverNow();
    tick();
  }, EVERY_MS);
  const stop = feed.onChange(["budget.set"], () => {
    budget = undefined;
    asking.now();
  });
  act.addEventListener("click", () => askBudget(budget ?? null));
  tick();

  function tick() {
    if (budget === undefined) return;
    bar.hidden = budget === null;
    fill(act, budget ? "Change" : "Set a budget");
    if (budget === null) {
      say(value, "None set");
      say(note, "What you mean to spend, and how long it lasts");
      return;
    }
    const now = serverNow();
    const amount = micros(budget.amount);
    const spent = micros(budget.spent) + charge(micros(budget.rate_now), now - asOf);
    const share = spent / amount;
    say(value, dollars(Math.floor(spent), 2));
    value.title = `counted since ${budget.since}`;
    bar.className = `bar ${share >= 1 ? "bad" : share > 0.8 ? "warn" : ""}`;
    bar.firstElementChild.style.width = `${Math.min(100, share * 100).toFixed(1)}%`;
    bar.setAttribute("aria-valuenow", String(Math.round(Math.min(1, share) * 100)));
    say(note, `${percent(share)} of ${dollars(amount, 2)}, ${projected(budget, share, now)}`);
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

function projected({ ends_at: end }, share, now) {
  if (share >= 1) return "nothing is left";
  if (end === null || ms(end) - now > 3650 * 86_400_000) return "years at this rate";
  return `until ${moment(end)} at this rate`;
}

async function found() {
  const { data } = await get("/v1/spending");
  return data[0].budget;
}

function askBudget(budget) {
  const before = budget ? decimal(micros(budget.amount)) : "";
  const typed = field("Dollars", { value: before, inputmode: "decimal", required: true }, "Counted from now on.");
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
    await change("PUT", "/v1/budget", { amount: decimal(amount) });
    toast(`The budget is ${dollars(amount, 2)} from now on.`);
  }
  const only = "A budget only tells how far you got and when it is used up at the rate of the moment. It ends no lease and cancels no order.";
  return ask({
    title: budget ? "Change the budget" : "Set a budget",
    body: [h("p", { class: "soft" }, only), typed.element, budget ? h("div", {}, remove) : null],
    confirm: budget ? "Set anew from now" : "Set it",
    act,
    ready: (_, opened) => (dialog = opened),
  });
}
