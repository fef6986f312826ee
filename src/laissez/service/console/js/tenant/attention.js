// What needs somebody's attention: leases that one more bid may end.

import { fill, h } from "../dom.js";
import { percent, plural } from "../format.js";
import { toast } from "../messages.js";
import { headroom, isNear } from "./holdings.js";
import { raiseAll, raised, setLimit } from "./limits.js";
import { pathName, rate } from "./parts.js";

const SHOWN = 4;

/** Gives {element, show(leases)}. */
export function attention(mayTrade) {
  const heading = h("h2", { id: "attention", role: "status" });
  const lines = h("ul");
  const all = h("button", { type: "button", class: "button small" }, "Raise all");
  const element = h("section", { class: "attention", hidden: true, "aria-labelledby": "attention" }, h("header", { class: "row" }, heading, all), lines);
  let near = [];
  let shown = "";
  all.addEventListener("click", () => raiseAll(near));

  function line(lease) {
    const left = percent(Math.max(0, headroom(lease)), 1);
    const act = h("button", { type: "button", class: "button small", onclick: () => raise(lease) }, `Raise limit to ${rate(raised(lease))}`);
    const says = h("span", {}, pathName(lease.leaf, lease.id), ` is at ${rate(lease.rate)}, ${left} below its limit of ${rate(lease.limit)}`);
    return h("li", { class: "row" }, says, mayTrade ? act : null);
  }

  return {
    element,
    show(leases) {
      near = leases.filter(isNear).sort((a, b) => headroom(a) - headroom(b));
      const now = near.map(({ id, rate: pressing, limit }) => `${id} ${pressing} ${limit}`).join();
      if (now === shown) return;
      shown = now;
      element.hidden = !near.length;
      const title = near.length === 1 ? "One lease is near its limit" : `${plural(near.length, "lease")} are near their limits`;
      if (heading.textContent !== title) heading.textContent = title;
      all.hidden = !mayTrade || near.length < 2;
      const more = near.length > SHOWN ? h("li", { class: "soft" }, `and ${near.length - SHOWN} more: sort the table by headroom`) : null;
      fill(lines, near.slice(0, SHOWN).map(line), more);
    },
  };
}

async function raise(lease) {
  try {
    await setLimit(lease, raised(lease));
  } catch (problem) {
    toast(problem.message, "bad");
  }
}
