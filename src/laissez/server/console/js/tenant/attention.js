// What needs somebody's attention: leases that one more bid may end.

import { h, keyed, say } from "../dom.js";
import { percent, plural } from "../format.js";
import { toast } from "../messages.js";
import { rate } from "./figures.js";
import { headroom, isNear } from "./holdings.js";
import { raiseAll, raised, setLimit } from "./limits.js";
import { pathName, smallButton } from "./parts.js";

const SHOWN = 4;

/** Gives {element, show(leases)}. */
export function attention(mayTrade) {
  const heading = h("h2", { id: "attention", role: "status" });
  const lines = h("ul");
  const more = h("p", { class: "soft small" });
  const all = smallButton("Raise all", () => raiseAll(near));
  const head = h("header", { class: "row" }, heading, all);
  const element = h(
    "section",
    { class: "attention", hidden: true, "aria-labelledby": "attention" },
    head,
    lines,
    more,
  );
  let near = [];

  return {
    element,
    show(leases) {
      near = leases.filter(isNear).sort((a, b) => headroom(a) - headroom(b));
      element.hidden = !near.length;
      say(
        heading,
        near.length === 1
          ? "One lease is near its limit"
          : `${plural(near.length, "lease")} are near their limits`,
      );
      all.hidden = !mayTrade || near.length < 2;
      keyed(
        lines,
        near.slice(0, SHOWN),
        ({ id }) => id,
        (lease) => line(lease, mayTrade),
        sayLine,
      );
      more.hidden = near.length <= SHOWN;
      say(more, `and ${near.length - SHOWN} more: sort the table by headroom`);
    },
  };
}

/** Rows are kept and only their texts change: a button must not vanish under the pointer. */
function line(lease, mayTrade) {
  const says = h("span", {}, pathName(lease.leaf, lease.id), h("span"));
  const row = h(
    "li",
    { class: "row" },
    says,
    mayTrade ? smallButton("", () => raise(row.lease)) : null,
  );
  return row;
}

function sayLine(row, lease) {
  row.lease = lease;
  const [says, act] = row.children;
  say(
    says.lastChild,
    ` is at ${rate(lease.rate)}, ${percent(Math.max(0, headroom(lease)), 1)} below its limit of ${rate(lease.limit)}`,
  );
  if (act) say(act, `Raise limit to ${rate(raised(lease))}`);
}

async function raise(lease) {
  try {
    await setLimit(lease, raised(lease));
  } catch (problem) {
    toast(problem.message, "bad");
  }
}
