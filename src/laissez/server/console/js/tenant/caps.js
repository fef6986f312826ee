// Caps: what may be spent per hour at most, by the operator and by oneself, and how much of that is taken.

import { change, get } from "../api.js";
import { h, say } from "../dom.js";
import { decimal, dollars, micros, perHour } from "../format.js";
import { ask, field, toast } from "../messages.js";
import { poll } from "../poll.js";
import { readMoney } from "./figures.js";
import { paced } from "./parts.js";

const EVERY_MS = 15_000;
const SOONEST_MS = 2000;
const CAP_MAX = 1_000_000_000 * 1_000_000;

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
    say(value, worst !== null ? hourly(worst) : rate !== null ? hourly(rate) : "No cap");
    say(note, texts(caps).join("; ") || `your limits come to ${hourly(caps.worst_rate_now)}`);
  }, EVERY_MS);
  const soon = paced(asking.now, SOONEST_MS);
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
