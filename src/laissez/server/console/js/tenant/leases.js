// The first page of a tenant: what it holds, what that costs, and what needs attention.

import { get, serverNow } from "../api.js";
import { fill, h } from "../dom.js";
import { count, dollars, micros, plural } from "../format.js";
import { poll } from "../poll.js";
import { attention } from "./attention.js";
import { budgetTile } from "./budget.js";
import { capsTile } from "./caps.js";
import { endedList } from "./ended.js";
import { Meter, rate, running } from "./figures.js";
import { Holdings } from "./holdings.js";
import { leaseDetail } from "./leasedetail.js";
import { LeaseTable } from "./leasetable.js";
import { LINE_MS, everySecond, paced, tile } from "./parts.js";
import { fetchPast } from "./past.js";

const BILL_EVERY_MS = 30_000;
const BILL_SOONEST_MS = 5000;
const ENDED_SOONEST_MS = 1000;

export const leases = { path: "leases", name: "Leases", mount };

function mount(main, context) {
  const { feed, mayTrade } = context;
  const bill = { spent: new Meter(), lines: new Map(), again: 0 };
  const tiles = {
    held: tile("Leases held"),
    charged: tile("Charge per hour now"),
    spent: tile("Cost so far"),
  };
  const budget = budgetTile(context);
  const caps = capsTile(context);
  const near = attention(mayTrade);
  const table = new LeaseTable(context);
  const ended = endedList();
  const list = h("div", { class: "stack" });
  const detail = h("div", { class: "stack", hidden: true });
  let one = null;

  const holdings = new Holdings(feed, (changed) => {
    table.show(holdings.list, changed);
    near.show(holdings.list);
    tick();
  });
  const asking = poll(async () => {
    if (Date.now() < bill.again) return;
    const answer = await get("/v1/bills");
    bill.again = Date.now() + answer.lines.length * LINE_MS;
    bill.spent.set(micros(answer.total), Date.parse(answer.until));
    bill.lines = new Map(answer.lines.map((line) => [line.id, line]));
    tick();
    showEnded();
  }, BILL_EVERY_MS);
  const showEnded = paced(() => ended.show(feed, bill.lines), ENDED_SOONEST_MS);
  const askBill = paced(asking.now, BILL_SOONEST_MS);
  const past = () => fetchPast(feed, showEnded);
  const stops = [
    feed.onChange(["lease.ended", "backfill"], () => (past(), showEnded(), askBill())),
    everySecond(() => (tick(), table.table.refresh(), budget.tick())),
  ];
  past();
  showEnded();

  function tick() {
    if (!holdings.known) return;
    const { charged } = holdings;
    const held = holdings.list;
    tiles.held.say({ value: count(held.length), note: trees(held) });
    tiles.charged.say({ value: rate(charged), note: held.length ? bound(held) : "nothing runs" });
    const spent = bill.spent.read(charged, serverNow());
    if (spent !== null) tiles.spent.say({ value: running(spent), note: "everything until now" });
  }

  const row = h(
    "div",
    { class: "tiles" },
    Object.values(tiles).map(({ element }) => element),
    budget.element,
    caps.element,
  );
  fill(
    list,
    h("div", { class: "page-head" }, h("h1", {}, "Leases")),
    row,
    near.element,
    table.element,
    ended.element,
  );
  fill(main, list, detail);

  function show([id]) {
    one?.close();
    one = id
      ? leaseDetail(
          detail,
          id,
          context,
          () => holdings.byId.get(id) ?? null,
          () => micros(bill.lines.get(id)?.cost),
        )
      : null;
    list.hidden = Boolean(id);
    detail.hidden = !id;
    if (id) window.scrollTo(0, 0);
    return id;
  }

  return {
    show,
    close() {
      one?.close();
      holdings.close();
      asking.stop();
      [showEnded, askBill].forEach((act) => act.stop());
      budget.close();
      caps.close();
      stops.forEach((stop) => stop());
    },
  };
}

/** How many of each type: 12 h100, 4 a100. */
function trees(leases) {
  const counts = new Map();
  for (const { leaf } of leases) {
    const tree = leaf.split("/")[0];
    counts.set(tree, (counts.get(tree) ?? 0) + 1);
  }
  return [...counts]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([tree, number]) => `${number} ${tree}`)
    .join(", ");
}

/** How much it can become before leases end. */
function bound(held) {
  const free = held.filter(({ limit }) => limit === null).length;
  if (free) return `no bound: ${plural(free, "lease")} without a limit`;
  return `at most ${dollars(
    held.reduce((sum, { limit }) => sum + limit, 0),
    2,
  )}/h by your limits`;
}
